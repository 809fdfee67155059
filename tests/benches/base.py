# SPDX-License-Identifier: Apache-2.0
"""What the benches share: the build, the floors, a portald and a runner of their own, and how a figure is printed."""
import json, os, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "tests", "benches")
LIMIT = 120.0


class Skip(Exception):
    """Not measured here, for the reason given: no fault."""


def wait_until(true, seconds, what):
    """Asks every 20 ms until it is true; that is how long a start takes, nothing that is measured."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise RuntimeError("%s: not after %d s" % (what, seconds))
        time.sleep(0.02)


def run(*argv, timeout=600, **more):
    r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout, **more)
    if r.returncode != 0:
        raise RuntimeError("%s: exit %d: %s" % (" ".join(argv[:3]), r.returncode, (r.stderr or r.stdout).strip()[-500:]))
    return r.stdout


class Process:
    """A child in a session of its own; what it says goes to a file."""

    def __init__(self, argv, log, **more):
        self.log = log
        with open(log, "ab") as f:
            self.p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=f, start_new_session=True, **more)
        self.pid = self.p.pid

    def check(self):
        if self.p.poll() is not None:
            with open(self.log) as f:
                raise RuntimeError("%s ended: %s" % (self.p.args[0], f.read()[-600:]))
        return True

    def stop(self):
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(30)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()


def memory_kb(pid, what="VmRSS"):
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith(what + ":"):
                return int(line.split()[1])
    raise RuntimeError("no %s of %d" % (what, pid))


def tasks(pid):
    """(CPU ns, times it was put on a CPU after a wait) over the process's threads."""
    ns = switches = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, tid)) as f:
            ns += int(f.read().split()[0])
        with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
            switches += sum(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches"))
    return ns, switches


class Portald:
    """portald (and, with runner=True, a portal-runner) on a state of its own below `dir`."""

    def __init__(self, bench, name, runner=False, image=None):
        self.bench, self.runner, self.daemon = bench, None, None
        self.dir = os.path.join(bench.dir, name)
        os.makedirs(os.path.join(self.dir, "plugins"), mode=0o755)
        for d in ("state", "id", "run", "images", "runner.run"):
            os.makedirs(os.path.join(self.dir, d), mode=0o700 if d == "state" else 0o755)
        for f in os.listdir(os.path.join(bench.build, "plugins")):
            if f.endswith(".so"):
                shutil.copy(os.path.join(bench.build, "plugins", f), os.path.join(self.dir, "plugins", f))
        self.socket = os.path.join(self.dir, "run", "portald.sock")
        self.image = image or os.path.join(self.dir, "images", "none")
        with open(self.path("portald.conf"), "w") as f:
            f.write(CONFIG.replace("@DIR@", self.dir).replace("@HOST@", bench.program("portald-plugin-host"))
                    .replace("@IMAGES@", os.path.dirname(self.image)))
        os.chmod(self.path("portald.conf"), 0o644)
        if runner:
            self.runner = Process([bench.program("portal-runner"), "--config", self.path("portald.conf"), "--private-cgroup-mount"],
                                  self.path("runner.log"))
            wait_until(lambda: self.runner.check() and os.path.exists(self.path("runner.run/runner.sock")), 60, "the runner's socket")

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self):
        new = [] if os.path.exists(self.path("id/installation-id")) else ["--new-installation"]
        self.daemon = Process([self.bench.program("portald"), "--config", self.path("portald.conf"), "--foreground", *new], self.path("portald.log"))
        wait_until(lambda: self.daemon.check() and self.answers(), LIMIT, "portald's answer")
        return self

    def answers(self):
        try:
            return self.ask("GET", "/v1/status")[0] == 200
        except OSError:
            return False

    def ask(self, method, path, body=None):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(LIMIT)
        s.connect(self.socket)
        data = json.dumps(body).encode() if body is not None else b""
        s.sendall(("%s %s HTTP/1.1\r\nHost: bench\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                   % (method, path, len(data))).encode() + data)
        text = b""
        while more := s.recv(1 << 16):
            text += more
        head, _, rest = text.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        return status, (json.loads(rest) if b"json" in head.lower() and rest else rest)

    def body(self):
        """A body for http_load: the smallest real job; its image is never looked at, since nothing can be placed."""
        path = self.path("body.json")
        with open(path, "w") as f:
            json.dump({"spec": {"name": "bench-{n}", "image": "oci:" + self.image, "command": ["true"], "checkpoint": "restart"},
                       "settings": {"file": {}, "flag": {}}}, f)
        return path

    def load(self, connections, requests, warmup, first):
        return self.bench.load("--unix", self.socket, "--connections", connections, "--requests", requests, "--warmup", warmup, "--first", first,
                               "--method", "POST", "--path", "/v1/jobs", "--body", self.body())

    def stop(self):
        for p in (self.daemon, self.runner):
            if p:
                p.stop()
        if self.runner:
            remove_groups(self.path("runner"))


def remove_groups(state_dir):
    """The runner's control group, named by its state directory (FNV-1a), outlives it for its jobs' sake; there are none any more."""
    h = 2166136261
    for c in state_dir.encode():
        h = (h ^ c) * 16777619 & 0xffffffff
    for mount in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        for d, _, _ in os.walk(os.path.join(mount, "portal-runner.%08x" % h), topdown=False):
            try:
                os.rmdir(d)
            except OSError as e:
                sys.stderr.write("bench: %s stays: %s\n" % (d, e.strerror))


CONFIG = """daemon: {
        state_dir = "@DIR@/state"; run_dir = "@DIR@/run"; installation_file = "@DIR@/id/installation-id";
        plugin_dir = "@DIR@/plugins"; plugin_host = "@HOST@"; socket_group = "root"; log_level = "warning";
};
runner: { state_dir = "@DIR@/runner"; run_dir = "@DIR@/runner.run"; socket_group = "root"; image_roots = [ "@IMAGES@" ]; };
connections: { here: { provider = "local"; options: { price = "0.10usd/h"; }; }; };
"""


def where():
    """Not below a directory that everyone may write to: plugins there are refused, and rightly."""
    d = os.environ.get("BENCH_DIR") or ("/var/cache/portald-tests" if os.geteuid() == 0 else os.path.join(TOP, "build"))
    os.makedirs(d, mode=0o755, exist_ok=True)
    return d


class Bench:
    def __init__(self, rounds):
        self.rounds, self.failed, self.id = rounds, False, None
        self.build = os.environ.get("BUILD_DIR") or self.make_build()
        self.dir = tempfile.mkdtemp(prefix="portald-bench-", dir=where())
        os.chmod(self.dir, 0o755)
        self.cleanups = []
        self.floors = json.loads(run(self.program("bench_floors"), self.dir))
        print(json.dumps({"floors": self.floors, "cpus": os.cpu_count(), "load_1m": os.getloadavg()[0], "kernel": os.uname().release}), flush=True)

    def make_build(self):
        build = os.path.join(TOP, "build", "release")
        sys.stderr.write("bench: building in %s\n" % build)
        if not os.path.exists(os.path.join(build, "build.ninja")):
            run("cmake", "--preset", "release", cwd=TOP)
        run("ninja", "-C", build, "all", "all_benches", timeout=3600)
        return build

    def program(self, name):
        for where in ("core", "tests/benches"):
            for d, _, files in os.walk(os.path.join(self.build, where)):
                if name in files and os.access(os.path.join(d, name), os.X_OK):
                    return os.path.join(d, name)
        raise RuntimeError("no program %s in %s: ninja -C %s all all_benches" % (name, self.build, self.build))

    def load(self, *argv, prefix=()):
        r = subprocess.run([*prefix, self.program("bench_http_load"), *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
        if r.returncode != 0:
            raise RuntimeError("http_load: %s" % r.stderr.strip()[-500:])
        return json.loads(r.stdout)

    def sub(self, name):
        """A fresh directory that is gone at the end."""
        return tempfile.mkdtemp(prefix=name + "-", dir=self.dir)

    def at_end(self, fn):
        self.cleanups.append(fn)

    def measure(self, figure, fn):
        self.id = figure
        try:
            fn(self)
        except Skip as e:
            self.skip(figure, e)
        except (RuntimeError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as e:
            self.failed = True
            sys.stderr.write("bench: %s failed: %s\n" % (figure, e))
        finally:
            self.clean()

    def clean(self):
        while self.cleanups:
            self.cleanups.pop()()

    def skip(self, figure, reason):
        sys.stderr.write("bench: %s skipped: %s\n" % (figure, reason))

    def figure(self, what, value, unit, better, aim, n, rival=None, rival_value=None, dream=None, **more):
        """value and rival_value are medians of what this run measured; ratio is value / rival_value, whichever way is better."""
        ratio = round(value / rival_value, 4) if rival_value else None
        line = {"id": self.id, "figure": what, "value": value, "unit": unit, "rival": rival, "rival_value": rival_value, "ratio": ratio,
                "better": better, "aim": aim, "dream": dream, "n": n, **more, "floors": self.floors}
        print(json.dumps(line), flush=True)

    def close(self):
        self.clean()
        shutil.rmtree(self.dir, ignore_errors=True)


def median(values):
    return round(statistics.median(values), 3)


def stop_on_signal():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


stop_on_signal()
