# SPDX-License-Identifier: Apache-2.0
"""B-10 and B-11: what portald costs while nothing happens."""
import json, os, shutil, time

from base import Portald, Skip, median, memory_kb, run, tasks
from slurm import Slurm

SIZES, LARGE, RIVAL_JOBS, IDLE_S = (10000, 100000), 1000000, 10000, 30


def loaded(bench, jobs):
    """RSS of a portald that has just loaded so many queued jobs, kB; the rows were written through the store itself."""
    p = Portald(bench, "slope")
    try:
        run(bench.program("bench_store_load"), "store", p.path("state"), "1000", str(jobs))
        p.start()
        there = p.ask("GET", "/v1/status")[1]["jobs"].get("queued", 0)
        if there != jobs:
            raise RuntimeError("%d jobs of %d were loaded" % (there, jobs))
        return memory_kb(p.daemon.pid)
    finally:
        p.stop()
        shutil.rmtree(p.dir, ignore_errors=True)


def rival_slope(bench):
    slurm = Slurm(bench)
    slurm.submit_api(16, 1000, 0)
    before, n = slurm.rss_kb(), slurm.queued()
    slurm.submit_api(16, RIVAL_JOBS, 0)
    return (slurm.rss_kb() - before) * 1024 / (slurm.queued() - n)


def slope(bench):
    sizes = list(SIZES) + ([LARGE] if os.environ.get("BENCH_LARGE") == "1" else [])
    kb = {0: [], **{s: [] for s in sizes}}
    try:
        rival = rival_slope(bench)
    except Skip as e:
        bench.skip("B-10 against Slurm", e)
        rival = None
    for _ in range(bench.rounds):
        for s in kb:
            kb[s].append(loaded(bench, s) if s else loaded_empty(bench))
    least = sizes[0]
    for s in sizes:
        per_job = (median(kb[s]) - median(kb[0])) * 1024 / s
        bench.figure("RSS per live job at %d jobs, over an empty portald" % s, round(per_job, 1), "B", "lower", "<= 1/4 x", {"rounds": bench.rounds, "jobs": s}, dream="256 B",
                     rival="slurmctld 22.05, held jobs, %d more" % RIVAL_JOBS if rival else None, rival_value=round(rival, 1) if rival else None, rss_kb=kb[s], empty_kb=kb[0])
    if len(sizes) > 1:
        s = sizes[-1]
        bench.figure("RSS slope between %d and %d jobs" % (least, s), round((median(kb[s]) - median(kb[least])) * 1024 / (s - least), 1), "B", "lower", "<= 1/4 x",
                     {"rounds": bench.rounds}, dream="256 B", rival="slurmctld 22.05, held jobs, %d more" % RIVAL_JOBS if rival else None,
                     rival_value=round(rival, 1) if rival else None)


def loaded_empty(bench):
    p = Portald(bench, "slope")
    try:
        return memory_kb(p.start().daemon.pid)
    finally:
        p.stop()
        shutil.rmtree(p.dir, ignore_errors=True)


def watch(pids):
    """Over IDLE_S: (us of CPU, wake-ups) a minute, of all of them."""
    before = [tasks(p) for p in pids]
    time.sleep(IDLE_S)
    after = [tasks(p) for p in pids]
    ns = sum(a[0] - b[0] for a, b in zip(after, before))
    return round(ns / 1000 * 60 / IDLE_S), round(sum(a[1] - b[1] for a, b in zip(after, before)) * 60 / IDLE_S, 1)


def idle(bench):
    """portald with its runner connected and no job; slurmctld with its node and no job. Both watched in the same half minute."""
    if os.geteuid() != 0:
        raise Skip("it needs root: the runner starts containers")
    p = Portald(bench, "idle", runner=True)
    bench.at_end(lambda: shutil.rmtree(p.dir, ignore_errors=True))
    bench.at_end(p.stop)
    p.start()
    try:
        slurm = Slurm(bench, rest=False)
    except Skip as e:
        bench.skip("B-11 against Slurm", e)
        slurm = None
    connection = p.ask("GET", "/v1/status")[1]["connections"][0]
    rss, cpu, wakes = memory_kb(p.daemon.pid), [], []
    rival_cpu, rival_wakes = [], []
    for _ in range(max(1, min(bench.rounds, 2))):
        o = watch([p.daemon.pid])
        cpu.append(o[0]), wakes.append(o[1])
        if slurm:
            r = watch([slurm.pid()])
            rival_cpu.append(r[0]), rival_wakes.append(r[1])
    n = {"rounds": len(cpu), "seconds_a_round": IDLE_S, "connection": connection["state"]}
    name = "slurmctld 22.05, one node, no job" if slurm else None
    bench.figure("idle RSS", rss, "kB", "lower", "<= 1/2 x", n, dream="2 MB", rival=name, rival_value=slurm.rss_kb() if slurm else None,
                 private_kb=memory_kb(p.daemon.pid, "RssAnon"))
    bench.figure("idle CPU", median(cpu), "us/min", "lower", "<= 1/2 x", n, rival=name, rival_value=median(rival_cpu) if slurm else None, rounds=cpu)
    bench.figure("idle wake-ups", median(wakes), "1/min", "lower", "0 between timers", n, dream="timer period", rival=name,
                 rival_value=median(rival_wakes) if slurm else None, rounds=wakes)
