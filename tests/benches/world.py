# SPDX-License-Identifier: Apache-2.0
"""B-16: how fast the simulated world is: 30 days of users, jobs, machines and faults a seed, judged after every event (world_load.c)."""
import json

import base

SEEDS = 20


def speed(b):
    rows = [json.loads(base.run(b.program("bench_world"), str(4001 + i * SEEDS), str(SEEDS))) for i in range(b.rounds)]
    n = "%d rounds of %d seeds, each 30 days of faults and a quiet week, 2 processes" % (b.rounds, SEEDS)
    bad = sum(r["bad"] for r in rows)
    events = [r["events"] * 1e6 / r["us"] for r in rows]
    years = [r["job_days"] / 365.0 * 60e6 / r["us"] for r in rows]
    all_of_them = [2000.0 / r["seeds"] * r["us"] / 1e6 for r in rows]
    b.figure("events of the simulated world", base.median(events), "events/s", "higher", "none", n, rounds=events, bad_seeds=bad)
    b.figure("virtual life of jobs in the simulated world", base.median(years), "job-years/min", "higher", "none", n, rounds=years)
    b.figure("2000 seeds, at that speed", base.median(all_of_them), "s", "lower", "<= 300", n, dream="60 s", rounds=all_of_them)
