# SPDX-License-Identifier: Apache-2.0
"""B-15: random ledger events against an independent bill, in memory (tests/world/ledger_random_test.c) and on the real store with kill -9
(tests/world/ledger_store_test.c)."""
import os, re, subprocess, time

EVENTS, STORED = 10_000_000, 10_000


def run(b, program, events):
    env = dict(os.environ, LEDGER_EVENTS=str(events))
    start = time.monotonic()
    r = subprocess.run([b.program(program)], env=env, stdout=subprocess.PIPE, text=True, timeout=600)
    found = [re.search(x, r.stdout) for x in (r"(\d+) random events: (\d+) violations", r"(\d+) nano lost", r"(\d+) within 1 % of a cap")]
    if not all(found):
        raise RuntimeError("%s ended without its figures: exit %d: %s" % (program, r.returncode, r.stdout[-300:]))
    return r.stdout, int(found[0][1]), int(found[0][2]), int(found[1][1]), int(found[2][1]), time.monotonic() - start


def violations(b):
    _, n, bad, lost, near, seconds = run(b, "bench_ledger", EVENTS)
    b.figure("cap violations over random ledger events in memory", bad, "violations", "lower", "0", n, near_a_cap=near)
    b.figure("money lost over them", lost, "nano", "lower", "0", n)
    b.figure("random ledger events, the oracle's work included", round(n / seconds), "events/s", "higher", None, 1)
    text, n, bad, lost, near, seconds = run(b, "bench_ledger_store", STORED)
    kills = int(re.search(r"(\d+) kills", text)[1])
    b.figure("cap violations over random ledger events on the real store, with kill -9", bad, "violations", "lower", "0", n, near_a_cap=near, kills=kills)
    b.figure("money lost over them", lost, "nano", "lower", "0", n, kills=kills)
