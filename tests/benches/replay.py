# SPDX-License-Identifier: Apache-2.0
"""B-14 (tests/bench --sample N | --all B-14): what a job of 48 h with a deadline costs on windows of real spot availability: portald, its rivals, and the optima (replay_load.c)."""
import glob, hashlib, json, os, shutil, statistics, subprocess, sys, tarfile

import base

DELAYS = (0, 600, 28800)
PATIENCE = ("0", "50", "100", "150", "patient")
SPOT = 970000000
POOLS = ("k80_1", "k80_8", "v100_1", "v100_8")


def traces():
    d = os.path.join(os.environ.get("PORTALD_DATA") or os.path.join(os.path.dirname(base.TOP), "shared"), "traces")
    if not os.path.isdir(d):
        raise base.Skip("no traces in %s: set PORTALD_DATA" % os.path.dirname(d))
    return d


def unpack(b, name):
    """The published windows, unpacked once a run."""
    archive = os.path.join(traces(), "cant-be-late-windows", name + ".tar.zst")
    if not os.path.exists(archive):
        raise base.Skip("no %s" % archive)
    to = os.path.join(b.dir, name)
    if not os.path.isdir(to):
        os.makedirs(to)
        with subprocess.Popen(["zstd", "-dcq", archive], stdout=subprocess.PIPE) as z, tarfile.open(fileobj=z.stdout, mode="r|") as t:
            t.extractall(to)
    return to


def evenly(items, b):
    n = min(b.sample, len(items))
    return [items[i * len(items) // n] for i in range(n)]


def aligned(b):
    """100 windows x 9 zones on one clock, with their prices; 60 h long."""
    top = os.path.join(unpack(b, "multi_region_aligned_9zones"), "converted_multi_region_aligned")
    zones = sorted(os.listdir(top))
    return [(0, [os.path.join(top, z, "%d.json" % i) for z in zones]) for i in range(100)]


def zones(b):
    """The whole 45 days of the same nine zones, cut anew at 100 places: long enough for 70 h; prices as published."""
    files = sorted(glob.glob(os.path.join(traces(), "spot-traces", "availability", "1-node", "aws-02-15-2023", "*_v100_1.json")))
    if not files:
        raise base.Skip("no availability of 02-15-2023")
    return [(i * (20158 - 1300) // 100, files) for i in range(100)]


def single(b, zone):
    """The distinct windows of one zone's four pools."""
    top, seen, found = unpack(b, "random_start_8pools"), set(), []
    files = glob.glob(os.path.join(top, "*", "real", zone + "_*", "traces", "random_start", "*.json"))
    for f in sorted(files, key=lambda f: (int(os.path.basename(f)[:-5]), f)):
        with open(f) as g:
            content = json.dumps(json.load(g)["data"])
        pool = f.split("/real/")[1].split("/")[0].replace(".json", "")
        key = hashlib.sha256((pool + content).encode()).digest()
        if key not in seen:
            seen.add(key)
            found.append((0, [f]))
    return found


def play(b, windows, split, overhead, deadline, spot):
    text = "".join("%d %s\n" % (first, " ".join(paths)) for first, paths in windows)
    r = subprocess.run([b.program("bench_replay"), *map(str, (split, overhead, deadline, spot, *DELAYS))], input=text,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=3600)
    if r.returncode != 0:
        raise RuntimeError("bench_replay: %s" % r.stderr.strip()[-300:])
    return [json.loads(line) for line in r.stdout.splitlines()]


def usd(nano):
    return round(nano / 1e9, 3)


def costs(rows, pick):
    values = [pick(r)["nano"] for r in rows]
    return {"mean": usd(statistics.mean(values)), "worst": usd(max(values)), "missed": sum(pick(r).get("missed", 0) for r in rows)}


def at(delay, side):
    return lambda row: row["delays"][str(delay)][side]


def tuned(rows, delay):
    """The patience with the lowest mean."""
    return min(PATIENCE, key=lambda p: costs(rows, at(delay, "portald_" + p))["mean"])


def report(b, name, rows, tuning, overhead, deadline):
    rivals = {s: costs(rows, lambda r, s=s: r[s]) for s in ("on_demand", "greedy", "uniform", "free")}
    for delay in DELAYS:
        best = tuned(tuning, delay)
        bound = costs(rows, at(delay, "bound"))
        settings = {p: costs(rows, at(delay, "portald_" + p)) for p in PATIENCE}
        ours = settings[best]
        loses = [s for s in ("greedy", "uniform", "on_demand") for what in ("mean", "worst") if ours[what] > rivals[s][what]]
        b.figure("%s, deadline %d h, overhead %.2f h, resume delay %d s" % (name, deadline, overhead / 3600, delay), ours["mean"], "USD", "lower",
                 "below both rivals on mean and worst; <= 1.03 x rule-bound", "%d windows" % len(rows), rival="rule-bound optimum",
                 rival_value=bound["mean"], dream="1.05 x free", worst=ours["worst"], missed=ours["missed"], patience=best, sides={**rivals, "bound": bound},
                 of_free=round(ours["mean"] / rivals["free"]["mean"], 4), as_it_comes=settings["0"], settings=settings,
                 loses_to=sorted(set(loses)))


# --- the daemon's own engine, by `portal simulate` ---
ENGINE = 3  # of so many windows of the sample, one is also run by the whole engine


def converted(b, paths):
    """A trace of the provider sim from one window's files; the converter takes zone and type from a file's name."""
    d = b.sub("window")
    files = []
    for path in paths:
        name = path.split("/real/")[1].split("/")[0].replace(".json", "") if "/real/" in path else os.path.basename(os.path.dirname(path))
        files.append(os.path.join(d, name + ".json"))
        with open(path) as f, open(files[-1], "w") as g:
            json.dump({k: v for k, v in json.load(f).items() if k != "prices"}, g)
    out = os.path.join(d, "window.trace")
    # one price for all types, as the windows' authors have it
    base.run(sys.executable, os.path.join(base.TOP, "contrib", "traces", "convert.py"), "availability", "--on-demand", "3.06", "--spot", "0.97", *files, "-o", out)
    return out


def simulated(b, trace, jobs, delay, overhead):
    return json.loads(base.run(b.program("portal-simulate"), "simulate", "--jobs", jobs, "--prices", trace, "--resume-delay", "%ds" % delay,
                               "--boot", "%ds" % overhead, "--json"))["runs"][0]


def engine(b, name, windows, deadline, overhead, split):
    """portald itself (engine, store, provider sim) on a few windows, beside the sides of the model on the same ones."""
    windows = evenly(windows, b)[::ENGINE]
    rows = play(b, windows, split, overhead, deadline, SPOT)
    jobs = os.path.join(b.dir, "jobs-%d.json" % deadline)
    with open(jobs, "w") as f:
        json.dump([{"name": "job", "work": "48h", "deadline": "%dh" % deadline, "settings": {"expect": "48h"}}], f)
    for delay in DELAYS:
        runs = []
        for _, paths in windows:
            trace = converted(b, paths)
            runs.append(simulated(b, trace, jobs, delay, overhead))
            shutil.rmtree(os.path.dirname(trace))
        values = [r["bill_nano"] for r in runs]
        rivals = {s: costs(rows, lambda r, s=s: r[s]) for s in ("on_demand", "greedy", "uniform", "free")}
        b.figure("portal simulate, the whole engine: %s, deadline %d h, overhead %.2f h, resume delay %d s" % (name, deadline, overhead / 3600, delay),
                 usd(statistics.mean(values)), "USD", "lower", None, "%d windows" % len(windows), rival="rule-bound optimum of the model",
                 rival_value=costs(rows, at(delay, "bound"))["mean"], worst=usd(max(values)), missed=sum(r["missed"] for r in runs),
                 sides=rivals, model_as_it_comes=costs(rows, at(delay, "portald_0")), moves=sum(r["moves"] for r in runs),
                 notices=sum(r["notices"] for r in runs), loses_to=[s for s in ("greedy", "uniform", "on_demand") if usd(statistics.mean(values)) > rivals[s]["mean"]])


def cost(b):
    engine(b, "nine aligned zones, one price", aligned(b), 52, 720, 1)
    for deadline in (52, 70):
        engine(b, "single zones (us-west-2b)", single(b, "us-west-2b"), deadline, 720, 5)
    for overhead, split in ((720, 5), (180, 10)):
        for deadline in (52, 70):
            tuning = play(b, evenly(single(b, "us-west-2a"), b), split, overhead, deadline, SPOT)
            rows = play(b, evenly(single(b, "us-west-2b"), b), split, overhead, deadline, SPOT)
            report(b, "single zones (us-west-2b; tuned on us-west-2a)", rows, tuning, overhead, deadline)
            rows = play(b, evenly(zones(b), b), 1, overhead, deadline, SPOT)
            report(b, "nine zones, one price", rows, tuning, overhead, deadline)
            if deadline == 52:  # the published windows are 60 h long
                rows = play(b, evenly(aligned(b), b), 1, overhead, deadline, 0)
                report(b, "nine aligned zones at their prices", rows, tuning, overhead, deadline)
