# SPDX-License-Identifier: Apache-2.0
"""A small client of portal-runner for tests: frames over its socket, waits that are woken by events and have a deadline."""
import json, os, secrets, select, shutil, signal, socket, struct, subprocess, sys, time

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix):
    n = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    return prefix + "".join(LETTERS[(n >> (5 * i)) & 31] for i in range(25, -1, -1))


class Client:
    HEAD = struct.Struct(">4sHHIIQQ")

    def __init__(self, path, timeout=60):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        self.last, self.buf, self.events, self.seen = 0, b"", [], {}

    def close(self):
        self.sock.close()

    def _frame(self, until):
        while True:
            if len(self.buf) >= 32:
                magic, version, kind, length, jlen, gen, request = self.HEAD.unpack(self.buf[:32])
                assert magic == b"PDF1" and version == 1, self.buf[:32]
                if len(self.buf) >= 32 + length:
                    body, self.buf = self.buf[32:32 + length], self.buf[32 + length:]
                    return kind, request, json.loads(body[:jlen]), body[jlen:]
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                return None
            got = self.sock.recv(1 << 18)
            if not got:
                raise EOFError("the runner closed the stream")
            self.buf += got

    def _event(self, body):
        self.events.append(body)
        if body["event"] == "placement":
            p = body["placement"]
            self.seen.setdefault(p["job"], []).append(p)

    def send(self, op, generation=0, **members):
        self.last += 1
        text = json.dumps(dict(members, op=op)).encode()
        self.sock.sendall(self.HEAD.pack(b"PDF1", 1, 1, len(text), len(text), generation, self.last) + text)
        return self.last

    def answer(self, request, timeout=60):
        until = time.monotonic() + timeout
        while True:
            got = self._frame(until)
            if got is None:
                raise TimeoutError("no answer")
            kind, of, body, blob = got
            if kind == 4:
                self._event(body)
            elif kind == 2 and of == request:
                return dict(body, blob=blob) if blob else body

    def ask(self, op, generation=0, **members):
        return self.answer(self.send(op, generation, **members))

    def placement(self, job):
        for p in self.ask("list")["placements"]:
            if p["job"] == job:
                return p
        return None

    def wait(self, job, want, timeout=60):
        """want: phases, or a function of the placement. Returns the first placement that fits, from now on."""
        fits = want if callable(want) else (lambda p: p["phase"] in want)
        until = time.monotonic() + timeout
        mark = len(self.events)
        p = self.placement(job)
        if p and fits(p):
            return p
        while True:
            while mark < len(self.events):
                e = self.events[mark]
                mark += 1
                if e["event"] == "placement" and e["placement"]["job"] == job and fits(e["placement"]):
                    return e["placement"]
            got = self._frame(until)
            if got is None:
                raise TimeoutError("%s: %s" % (job, self.placement(job)))
            if got[0] == 4:
                self._event(got[2])

    def wait_event(self, fits, timeout=30):
        until = time.monotonic() + timeout
        mark = 0
        while True:
            while mark < len(self.events):
                if fits(self.events[mark]):
                    return self.events[mark]
                mark += 1
            got = self._frame(until)
            if got is None:
                raise TimeoutError("no such event")
            if got[0] == 4:
                self._event(got[2])

    def logs(self, job, offset=0, step=1 << 20):
        """The whole log to its end, in pieces of at most step bytes."""
        text = b""
        while True:
            a = self.ask("logs", 0, job=job, offset=offset, max=step, wait_us=20000000)
            assert a["ok"], a
            text += a.get("blob", b"")
            offset = a["next"]
            if a["eof"]:
                return text

    def wait_log(self, job, word, timeout=60):
        """Until word stands in the log; returns the log so far."""
        text, offset, until = b"", 0, time.monotonic() + timeout
        while word not in text:
            a = self.ask("logs", 0, job=job, offset=offset, max=1 << 20, wait_us=2000000)
            assert a["ok"], a
            text += a.get("blob", b"")
            offset = a["next"]
            if time.monotonic() > until or (a["eof"] and word not in text):
                raise TimeoutError("%r not in the log: %r" % (word, text[-500:]))
        return text


class Runner:
    """portal-runner as a child, with a directory of its own that no other user may write (plugins are refused elsewhere)."""

    def __init__(self, build, base, roots, extra=(), settings=""):
        self.build, self.base, self.extra = build, base, list(extra)
        self.socket = os.path.join(base, "runner.sock")
        self.state = os.path.join(base, "state")
        self.plugins = os.path.join(base, "plugins")
        self.log = open(os.path.join(base, "runner.log"), "ab")
        self.child = None
        os.makedirs(self.plugins, mode=0o755, exist_ok=True)
        for name in os.listdir(os.path.join(build, "plugins")):
            if name.endswith(".so"):
                shutil.copy(os.path.join(build, "plugins", name), self.plugins)
        self.host = os.path.join(base, "portald-plugin-host")
        shutil.copy(os.path.join(build, "core/host/portald-plugin-host"), self.host)
        self.config = os.path.join(base, "portald.conf")
        with open(self.config, "w") as f:
            f.write("runner: { image_roots = [ %s ]; %s };\n" % (", ".join('"%s"' % r for r in roots), settings))
        os.chmod(self.config, 0o644)

    def start(self, **env):
        argv = [os.path.join(self.build, "core/runner/portal-runner"), "--config", self.config, "--socket", self.socket, "--state-dir",
                self.state, "--private-cgroup-mount", "--plugin-host", self.host, "--plugin-dir", self.plugins, "--verbose"] + self.extra
        notify_path = os.path.join(self.base, "notify")
        if os.path.exists(notify_path):
            os.unlink(notify_path)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(notify_path)
        notify.settimeout(60)
        self.child = subprocess.Popen(argv, stdout=self.log, stderr=self.log, env=dict(os.environ, NOTIFY_SOCKET=notify_path, **env))
        while True:                                             # until READY=1
            readable = select.select([notify], [], [], 0.2)[0]
            if readable and b"READY=1" in notify.recv(4096):
                break
            if self.child.poll() is not None:
                raise RuntimeError("the runner ended with %d: %s" % (self.child.returncode, self.tail()))
        notify.close()
        return Client(self.socket)

    def kill(self, sig=signal.SIGKILL):
        self.child.send_signal(sig)
        code = self.child.wait(30)
        self.child = None
        return code

    def tail(self):
        with open(os.path.join(self.base, "runner.log"), errors="replace") as f:
            return f.read()[-3000:]


class Tap:
    def __init__(self):
        self.n = self.bad = 0

    def ok(self, good, name, note=None):
        self.n += 1
        self.bad += not good
        print("%sok %d - %s" % ("" if good else "not ", self.n, name), flush=True)
        if not good and note is not None:
            print("# %s" % str(note).replace("\n", "\n# "), flush=True)
        return good

    def eq(self, got, want, name):
        return self.ok(got == want, name, "got %r, want %r" % (got, want))

    def has(self, got, want, name):
        return self.ok(want in str(got), name, "%r is not in %r" % (want, got))

    def skip(self, name, reason):
        self.n += 1
        print("ok %d - %s # SKIP %s" % (self.n, name, reason), flush=True)

    def done(self):
        print("1..%d" % self.n, flush=True)
        return 1 if self.bad else 0
