# SPDX-License-Identifier: Apache-2.0
"""The capture's side of `values` for tests: starts a real program that uses portal.py and talks to it over its real socket, as the plugin does.
Also a little TAP. No wait is without a deadline, and none is a sleep."""
import json, os, select, shutil, socket, subprocess, sys, tempfile, time

SOURCE = os.environ.get("SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULE = os.path.join(SOURCE, "contrib", "python", "portal.py")
LIMIT = 30.0

# ---- TAP

_n = _bad = 0


def ok(good, name, note=None):
    global _n, _bad
    _n += 1
    _bad += not good
    print("%sok %d - %s" % ("" if good else "not ", _n, name))
    if not good and note is not None:
        for line in str(note).splitlines()[-40:]:
            print("# " + line)
    sys.stdout.flush()
    return good


def skip(name, reason):
    global _n
    _n += 1
    print("ok %d - %s # SKIP %s" % (_n, name, reason))


def done():
    print("1..%d" % _n)
    sys.exit(1 if _bad else 0)


# ---- the job

# What every test program begins with. PAUSE waits for nothing, a little; END says what the test wants to see.
PRELUDE = """
import json, os, select, sys
sys.path.insert(0, os.environ["PORTAL_MODULE_DIR"])
import portal

def pause():
    select.select([], [], [], 0.002)

def stand_by():
    while True:
        pause()
        portal.safe_point()
"""


class Job:
    def __init__(self, program, python=sys.executable, raw=False):
        self.dir = tempfile.mkdtemp(prefix="values.")
        self.ckpt = os.path.join(self.dir, "checkpoint")
        os.mkdir(self.ckpt)
        self.sock = os.path.join(self.dir, "job.sock")
        self.file = os.path.join(self.dir, "job.py")
        self.python = python
        with open(self.file, "w", encoding="utf-8") as f:
            f.write(program if raw else PRELUDE + program)
        self.p = None

    def start(self, resumed=False, portal=True, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PORTAL_")}
        env.update(PORTAL_MODULE_DIR=os.path.dirname(MODULE), PYTHONDONTWRITEBYTECODE="1", **more)
        if portal:
            env.update(PORTAL_SOCKET=self.sock, PORTAL_CHECKPOINT_DIR=self.ckpt, PORTAL_RESUMED="1" if resumed else "0")
        self.out = open(os.path.join(self.dir, "out"), "w+b")
        self.p = subprocess.Popen([self.python, self.file], env=env, stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT)
        return self

    def output(self):
        with open(os.path.join(self.dir, "out"), "rb") as f:
            return f.read().decode("utf-8", "replace")

    def connect(self):
        """Waits for the program to listen, for as long as it lives."""
        end = time.monotonic() + LIMIT
        while True:
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(self.sock)
                s.settimeout(LIMIT)
                return s
            except OSError:
                s.close()
                if self.p.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("the program does not listen: " + self.output())
                select.select([], [], [], 0.005)

    def ask(self, op, timeout_ms=10000):
        """(end, values, notes)"""
        with self.connect() as s:
            s.sendall(json.dumps({"op": op, "timeout_ms": timeout_ms}).encode() + b"\n")
            values, notes = [], []
            with s.makefile("rb") as f:
                for line in f:
                    got = json.loads(line)
                    if "value" in got:
                        values.append(got["value"])
                    elif "note" in got:
                        notes.append(got["note"])
                    else:
                        return got, values, notes
        raise RuntimeError("no answer to %s: %s" % (op, self.output()))

    def stat(self):
        """pid and start time: the same process, never replaced."""
        with open("/proc/%d/stat" % self.p.pid) as f:
            return self.p.pid, f.read().rpartition(")")[2].split()[19]

    def wait(self):
        """(exit code, output)"""
        try:
            self.p.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            return None, self.output()
        return self.p.returncode, self.output()

    def kill(self):
        if self.p and self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def save(self):
        """A save, after which the program is gone, as at a suspension. The end of the save's answer."""
        end, values, _ = self.ask("save")
        if not end["ok"]:
            raise RuntimeError("refused: %r %r" % (end, values))
        self.kill()
        return end

    def close(self):
        self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
