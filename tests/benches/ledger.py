# SPDX-License-Identifier: Apache-2.0
"""B-15: random ledger events in memory against an independent bill (tests/world/ledger_random_test.c)."""
import os, re, subprocess, time

EVENTS = 10_000_000


def violations(b):
    env = dict(os.environ, LEDGER_EVENTS=str(EVENTS))
    start = time.monotonic()
    r = subprocess.run([b.program("bench_ledger")], env=env, stdout=subprocess.PIPE, text=True, timeout=600)
    seconds = time.monotonic() - start
    found = re.search(r"(\d+) random events: (\d+) violations", r.stdout)
    lost = re.search(r"(\d+) nano lost", r.stdout)
    near = re.search(r"(\d+) within 1 % of a cap", r.stdout)
    if not (found and lost and near):
        raise RuntimeError("bench_ledger ended without its figures: exit %d: %s" % (r.returncode, r.stdout[-300:]))
    n = int(found[1])
    b.figure("cap violations over random ledger events in memory", int(found[2]), "violations", "lower", "0", n, near_a_cap=int(near[1]))
    b.figure("money lost over them", int(lost[1]), "nano", "lower", "0", n)
    b.figure("random ledger events, the oracle's work included", round(n / seconds), "events/s", "higher", None, 1)
