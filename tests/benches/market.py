# SPDX-License-Identifier: Apache-2.0
"""B-01 and B-02: the index of offers and the sweep over jobs, on the real catalog and on adverse offers (market_load.c)."""
import json, os, sys

import base

OFFERS, CLASSES = 10000, 96


def sources():
    """What to take offers from; the catalog is data beside the checkout."""
    data = os.environ.get("PORTALD_DATA") or os.path.join(os.path.dirname(base.TOP), "shared")
    found = sorted(f for f in os.listdir(os.path.join(data, "catalog")) if f.startswith("gcp_") and f.endswith(".csv")) \
        if os.path.isdir(os.path.join(data, "catalog")) else []
    if found:
        yield "real offers", ("catalog", os.path.join(data, "catalog", found[-1]))
    else:
        sys.stderr.write("bench: no catalog/gcp_*.csv in %s: the rows on real offers are left out\n" % data)
    yield "adverse offers", ("random", "20261130")


def load(b, what, jobs, source):
    out = base.run(b.program("bench_market_load"), what, str(jobs), str(OFFERS), str(CLASSES), str(b.rounds), *source)
    return [json.loads(line) for line in out.splitlines()]


def ns(rows, key):
    return [round(r[key] / 100, 2) for r in rows]


def sweep(b):
    for name, source in sources():
        for jobs in (1000, 100000, 1000000):
            rows = load(b, "sweep", jobs, source)
            naive = ns(rows, "naive")
            n = "%d rounds of %d jobs x %d %s in %d classes; rival 200 jobs" % (b.rounds, jobs, OFFERS, name, CLASSES)
            more = {"rival": "loop over job x offers", "rival_value": base.median(naive), "rival_rounds": naive, "jobs": jobs,
                    "rival_weighed": base.median([r["naive_weighed"] for r in rows]), "full_check_ns": base.median(ns(rows, "full_check"))}
            b.figure("a sweep in which every job looks, %d jobs, %s" % (jobs, name), base.median(ns(rows, "look_all")), "ns/job", "lower",
                     "ratio <= 0.001", n, dream="25 ns, flat", rounds=ns(rows, "look_all"),
                     checked=base.median([r["look_checked"] for r in rows]), **more)
            b.figure("a minute of the steady state, lease renewals in it, %d jobs, %s" % (jobs, name), base.median(ns(rows, "minute")), "ns/job",
                     "lower", "ratio <= 0.001", n, rounds=ns(rows, "minute"), checked=base.median([r["minute_checked"] for r in rows]), **more)


def price(b):
    for name, source in sources():
        rows = load(b, "price", 1, source)
        rebuild = ns(rows, "rebuild")
        n = "%d rounds of 200000 changes, %d %s in %d classes" % (b.rounds, OFFERS, name, CLASSES)
        for key, what in (("change", "one price change"), ("worst", "one price change that makes or unmakes the cheapest of all")):
            b.figure("%s, %s" % (what, name), base.median(ns(rows, key)), "ns", "lower", "ratio <= 0.01", n, dream="1000 ns",
                     rival="full rebuild", rival_value=base.median(rebuild), rounds=ns(rows, key), rival_rounds=rebuild)
