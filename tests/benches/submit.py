# SPDX-License-Identifier: Apache-2.0
"""B-04 and B-05: durable submits through the API against Slurm's, SQLite alone, and the disk."""
import json, os, shutil

from base import Portald, Skip, median, run
from slurm import Slurm

CONNECTIONS, SUBMITS, RIVAL_SUBMITS, CLI_SUBMITS, ONE_CLIENT = 64, 10000, 2000, 200, 500


def sqlite_rate(bench, batch):
    """The same rows straight into SQLite, one commit a batch, no HTTP: submits a second."""
    d = bench.sub("sqlite")
    rate = json.loads(run(bench.program("bench_store_load"), "sqlite", d, str(batch), str(4 * SUBMITS)))["per_s"]
    shutil.rmtree(d)
    return rate


def start(bench):
    p = Portald(bench, "submit")
    bench.at_end(lambda: shutil.rmtree(p.dir, ignore_errors=True))
    bench.at_end(p.stop)
    return p.start()


def throughput(bench):
    ours, sqlite64, sqlite1000, api, cli = [], [], [], [], []
    p = start(bench)
    try:
        slurm = Slurm(bench)
    except Skip as e:
        bench.skip("B-04 against Slurm", e)
        slurm = None
    for i in range(bench.rounds):
        sqlite64.append(sqlite_rate(bench, CONNECTIONS))
        ours.append(p.load(CONNECTIONS, SUBMITS, 200, i * (SUBMITS + 200))["per_s"])
        if slurm:
            api.append(slurm.submit_api(CONNECTIONS, RIVAL_SUBMITS, 100)["per_s"])
            cli.append(slurm.submit_cli(CLI_SUBMITS, 8))
        sqlite1000.append(sqlite_rate(bench, 1000))
    queued = p.ask("GET", "/v1/status")[1]["jobs"].get("queued", 0)
    if queued != bench.rounds * (SUBMITS + 200):
        raise RuntimeError("%d jobs were acknowledged and %d are queued" % (bench.rounds * (SUBMITS + 200), queued))
    n = {"rounds": bench.rounds, "submits_a_round": SUBMITS, "connections": CONNECTIONS}
    what = "durable submits (job, spec, history and decision rows) by POST /v1/jobs"
    if slurm:
        bench.figure(what, median(ours), "1/s", "higher", ">= 20 x", dict(n, rival_submits_a_round=RIVAL_SUBMITS), dream=None,
                     rival="Slurm 22.05, slurmrestd, 64 connections (not durable at the answer)", rival_value=median(api), rounds=ours, rival_rounds=api)
        bench.figure(what, median(ours), "1/s", "higher", ">= 20 x", dict(n, rival_submits_a_round=CLI_SUBMITS), dream=None,
                     rival="Slurm 22.05, sbatch, 8 at a time (not durable at the answer)", rival_value=median(cli), rounds=ours, rival_rounds=[round(c) for c in cli])
    bench.figure(what, median(ours), "1/s", "higher", ">= 0.5 x", n, dream="0.9 x", rival="SQLite FULL, the same rows, commits of 64 submits, no HTTP",
                 rival_value=median(sqlite64), rounds=ours, rival_rounds=sqlite64)
    bench.figure(what, median(ours), "1/s", "higher", "(the machine's limit, for the distance)", n, rival="SQLite FULL, the same rows, commits of 1000 submits, no HTTP",
                 rival_value=median(sqlite1000), rounds=ours, rival_rounds=sqlite1000)


def latency(bench):
    ours, p99, over, append, store = [], [], [], [], []
    p = start(bench)
    for i in range(bench.rounds):
        floor = json.loads(run(bench.program("bench_floors"), bench.dir, "sync"))
        over.append(floor["fdatasync_overwrite_p50_us"])
        append.append(floor["fdatasync_append_p50_us"])
        r = p.load(1, ONE_CLIENT, 300 if i == 0 else 10, i * 1000)
        ours.append(r["p50_us"])
        p99.append(r["p99_us"])
        d = bench.sub("one")
        os.rmdir(d)
        store.append(json.loads(run(bench.program("bench_store_load"), "store", d, "1", "1000"))["p50_us"])
        shutil.rmtree(d)
    n = {"rounds": bench.rounds, "submits_a_round": ONE_CLIENT, "connections": 1}
    what = "durable submit latency, one client, p50 (the store's log is overwritten in place after its first 8 MiB, so overwrite is the like)"
    bench.figure(what, median(ours), "us", "lower", "<= 1.5 x", n, dream="1.1 x", rival="write of 4 KiB + fdatasync, overwriting, p50", rival_value=median(over),
                 rounds=ours, rival_rounds=over, p99_us=median(p99), store_alone_p50_us=median(store))
    bench.figure(what, median(ours), "us", "lower", "<= 1.5 x", n, dream="1.1 x", rival="write of 4 KiB + fdatasync, appending, p50", rival_value=median(append),
                 rounds=ours, rival_rounds=append, p99_us=median(p99), store_alone_p50_us=median(store))
