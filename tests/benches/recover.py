# SPDX-License-Identifier: Apache-2.0
"""B-09: from kill -9 to the first right answer of the daemon's next life."""
import os, shutil, signal, subprocess, time

from base import LIMIT, Portald, Process, Skip, median, run, wait_until
from slurm import Slurm

JOBS, RIVAL_JOBS = 100000, 10000


def gone(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def until_right(ask, want, check):
    """Asks without a pause until the answer is the right one."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        check()
        try:
            if ask() == want:
                return
        except (OSError, RuntimeError, KeyError, subprocess.SubprocessError):
            pass
        time.sleep(0.001)
    raise RuntimeError("no right answer after %d s" % LIMIT)


def ours(bench, jobs):
    """One state of so many jobs, killed and started once a round: ms from the kill to the right count, and to one job of them, by its id."""
    p, counts, shows = Portald(bench, "recover"), [], []
    try:
        run(bench.program("bench_store_load"), "store", p.path("state"), "1000", str(jobs))
        p.start()
        job = p.ask("GET", "/v1/jobs?limit=1")[1]["jobs"][0]
        for _ in range(bench.rounds):
            pid = p.daemon.pid
            began = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            p.daemon.p.wait()
            p.daemon = Process([bench.program("portald"), "--config", p.path("portald.conf"), "--foreground"], p.path("portald.log"))
            until_right(lambda: p.ask("GET", "/v1/jobs/" + job["id"])[1].get("state"), job["state"], p.daemon.check)
            shows.append((time.monotonic() - began) * 1000)
            until_right(lambda: p.ask("GET", "/v1/status")[1]["jobs"].get("queued", 0), jobs, p.daemon.check)
            counts.append((time.monotonic() - began) * 1000)
    finally:
        p.stop()
        shutil.rmtree(p.dir, ignore_errors=True)
    return counts, shows


def rival(bench):
    """slurmctld with held jobs, saved by its own hand before (it writes its state every few seconds, and what is newer is lost)."""
    slurm, ms = Slurm(bench), []
    slurm.submit_api(16, RIVAL_JOBS, 0)
    want = slurm.queued()
    subprocess.run(["scontrol", "reconfigure"], env=slurm.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    time.sleep(10)
    for _ in range(bench.rounds):
        pid = slurm.pid()
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda p=pid: gone(p), 30, "the end of slurmctld")
        subprocess.run(["slurmctld", "-f", slurm.env["SLURM_CONF"]], env=slurm.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        until_right(slurm.queued, want, lambda: True)
        ms.append((time.monotonic() - began) * 1000)
    return ms, want


def recover(bench):
    theirs, held = None, RIVAL_JOBS
    counts, shows = ours(bench, JOBS)
    try:
        theirs, held = rival(bench)
    except Skip as e:
        bench.skip("B-09 against Slurm", e)
    n = {"rounds": bench.rounds, "jobs": JOBS, "rival_jobs": held}
    name = "slurmctld 22.05, %d held jobs" % held if theirs else None
    bench.figure("kill -9 -> first right answer: the count of all jobs", round(median(counts), 1), "ms", "lower", "<= 1/10 x", n, dream="100 ms", rival=name,
                 rival_value=round(median(theirs), 1) if theirs else None, rounds=[round(x) for x in counts],
                 rival_rounds=[round(x) for x in theirs] if theirs else None)
    bench.figure("kill -9 -> first right answer: one job of them", round(median(shows), 1), "ms", "lower", "<= 1/10 x", n, dream="100 ms", rival=name,
                 rival_value=round(median(theirs), 1) if theirs else None, rounds=[round(x) for x in shows])
