# SPDX-License-Identifier: Apache-2.0
"""B-07: from a notice given to portald to the save's first request in the job."""
import os, shutil, time

from base import Portald, Skip, TOP, median, run, wait_until

# A job of the capture `values`. It says when its socket was asked something: the first thing, and to save.
JOB = """import select, sys, time, portal
made = portal._Request.__init__
def asked(self, op, *rest):
    print("first" if op != "save" else "save", time.time_ns(), flush=True)
    made(self, op, *rest)
portal._Request.__init__ = asked
state = portal.state(step=0)
print("up", flush=True)
while True:
    state.step += 1
    select.select([], [], [], 0.01)
    portal.safe_point()
"""


def image_of(bench):
    d = bench.sub("image")
    image = os.path.join(d, "debian")
    run(os.path.join(TOP, "tests", "lib", "make-image"), image, timeout=600)
    os.chmod(d, 0o755)
    return image


def log_of(p, job):
    return p.ask("GET", "/v1/jobs/%s/logs?offset=0&max=65536" % job)[1].decode()


def word(text, key):
    for line in text.splitlines():
        if line.startswith(key + " ") or line == key:
            return line.split()[1:] or [""]
    return None


def one(bench, image, number):
    p = Portald(bench, "notice-%d" % number, runner=True, image=image)
    try:
        p.start()
        status, answer = p.ask("POST", "/v1/jobs", {"spec": {"name": "walk", "image": "oci:" + image, "command": ["python3", "-u", "-c", JOB],
                                                             "checkpoint": "values"}})
        if status != 201:
            raise RuntimeError("the job was refused: %s" % answer)
        job = answer["job"]["id"]
        wait_until(lambda: word(log_of(p, job), "up"), 120, "the job runs")
        machine = p.ask("GET", "/v1/machines")[1]["machines"][0]["id"]
        at = time.time_ns()
        status, answer = p.ask("POST", "/v1/machines/%s/notice" % machine, {"in": "2m"})
        answered = time.time_ns()
        if status != 202:
            raise RuntimeError("the notice was refused: %s" % answer)
        wait_until(lambda: p.ask("GET", "/v1/jobs/" + job)[1]["state"] == "suspended", 60, "the job is suspended")
        done = p.ask("GET", "/v1/jobs/" + job)[1]["since_wall_us"]
        said = log_of(p, job)
        save = word(said, "save")
        if not save:
            raise RuntimeError("the job was suspended and never asked to save")
        first = word(said, "first") or save
        p.ask("POST", "/v1/jobs/%s/stop" % job)
        return (int(save[0]) - at) // 1000, (answered - at) // 1000, done - at // 1000, (int(first[0]) - at) // 1000
    finally:
        p.stop()
        shutil.rmtree(p.dir, ignore_errors=True)


def first_byte(bench):
    if os.geteuid() != 0:
        raise Skip("it needs root: the runner starts containers")
    image = image_of(bench)
    rows = [one(bench, image, i) for i in range(bench.rounds)]
    bench.figure("notice sent to portald -> the request to save at the job's socket (API, engine, frame to the runner, capture)", round(median([r[0] for r in rows]) / 1000, 3),
                 "ms", "lower", "<= 50 ms", {"rounds": bench.rounds}, dream="5 ms", rounds=[r[0] / 1000 for r in rows],
                 first_request_ms=round(median([r[3] for r in rows]) / 1000, 3),
                 notice_answered_ms=round(median([r[1] for r in rows]) / 1000, 3), suspended_ms=round(median([r[2] for r in rows]) / 1000, 3))
