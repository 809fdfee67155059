# SPDX-License-Identifier: Apache-2.0
"""The rival Slurm: Debian's packages on one node, started by rivals/slurm/cluster, tuned in rivals/slurm/slurm.conf.in."""
import json, os, shutil, subprocess, time

from base import HERE, Skip, memory_kb, run

CLUSTER = os.path.join(HERE, "rivals", "slurm", "cluster")
AS_NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
SCRIPT = {"script": "#!/bin/sh\ntrue\n", "job": {"name": "bench-{n}", "partition": "p", "time_limit": 60, "current_working_directory": "/tmp",
                                                "environment": {"PATH": "/bin:/usr/bin"}, "hold": True}}


class Slurm:
    def __init__(self, bench, rest=True):
        need = ["munged", "slurmctld", "sbatch", "scontrol", "setpriv"] + (["slurmrestd"] if rest else [])
        missing = [p for p in need if not shutil.which(p, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")]
        if missing:
            raise Skip("no %s: apt-get install slurmctld slurm-client slurmrestd munge" % ", ".join(missing))
        if os.geteuid() != 0:
            raise Skip("the rival Slurm needs root: slurmctld and munged of their own")
        self.bench, self.dir = bench, bench.sub("slurm")
        self.env = dict(os.environ, SLURM_CONF=os.path.join(self.dir, "slurm.conf"))
        bench.at_end(self.stop)
        os.chmod(self.dir, 0o755)
        # the daemons that it leaves keep its output open: never a pipe
        with open(os.path.join(self.dir, "cluster.log"), "wb") as log:
            r = subprocess.run([CLUSTER, "start", self.dir], stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=120)
        if r.returncode != 0:
            with open(os.path.join(self.dir, "cluster.log")) as log:
                raise Skip("the rival Slurm does not start: %s" % log.read().strip()[-300:])
        self.body = os.path.join(self.dir, "body.json")
        with open(self.body, "w") as f:
            json.dump(SCRIPT, f)

    def submit_api(self, connections, requests, warmup):
        return self.bench.load("--unix", os.path.join(self.dir, "rest", "sock"), "--connections", connections, "--requests", requests, "--warmup", warmup,
                               "--method", "POST", "--path", "/slurm/v0.0.38/job/submit", "--body", self.body, prefix=AS_NOBODY)

    def submit_cli(self, n, parallel):
        """Held jobs by sbatch, so many at a time; a second's worth."""
        began = time.monotonic()
        subprocess.run(["xargs", "-P", str(parallel), "-n", "1", "sbatch", "-H", "-Q", "--wrap", "true", "--comment"], env=self.env, text=True, check=True,
                       input="\n".join(str(i) for i in range(n)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
        return n / (time.monotonic() - began)

    def queued(self):
        return len(run("squeue", "-h", "-o", "%i", env=self.env).splitlines())

    def pid(self):
        with open(os.path.join(self.dir, "slurmctld.pid")) as f:
            return int(f.read())

    def rss_kb(self):
        return memory_kb(self.pid())

    def stop(self):
        subprocess.run([CLUSTER, "stop", self.dir], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
