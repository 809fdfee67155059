#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Inside the booted Debian 13 of criu.test: jobs under criu, suspended, resumed, moved between two runners; and kernel objects that criu does
not carry, each of which refuses a suspension by its name, with a twin that has none. Prints TAP."""
import ctypes, fcntl, hashlib, json, mmap, os, select, socket, subprocess, sys, threading, time

FULL = os.environ.get("TEST_FULL") == "1"
IMAGE = "oci:/srv/portal-images/debian"
VOLUME = "/srv/criu-volume"
libc = ctypes.CDLL(None, use_errno=True)
number = bad = 0


def ok(good, name, *what):
    global number, bad
    number += 1
    bad += not good
    print("%sok %d - %s" % ("" if good else "not ", number, name), flush=True)
    if not good:
        for w in what:
            for line in str(w).splitlines()[-25:]:
                print("# " + line, flush=True)
    return good


def portal(*words):
    p = subprocess.run(("portal",) + words, capture_output=True, text=True, timeout=150)
    return p.returncode, p.stdout + p.stderr


def show(job):
    return json.loads(portal("show", job, "--json")[1])


def until(seconds, fn):
    """Polls, spaced by a wait for nothing: there is no event from a job's log here."""
    end = time.monotonic() + seconds
    while not fn():
        if time.monotonic() > end:
            return False
        select.select([], [], [], 0.05)
    return True


def lines(job):
    return [w.split() for w in portal("logs", job)[1].splitlines()]


def run(job, program, *flags):
    memory = () if "--memory" in flags else ("--memory", "32MiB")
    return portal("run", "-y", "-d", "--name", job, "--image", IMAGE, "--cpus", "0.02", *memory, "--checkpoint", "criu",
                  "--mount", VOLUME + ":/vol", *flags, "--", "python3", "-u", "-c", program)


# --- what is only outside of the containers: handed in by SCM_RIGHTS, held, locked ---
def syscall(nr, *args):
    fd = libc.syscall(nr, *args)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def perf_event():
    attr = ctypes.create_string_buffer(128)
    attr[0:16] = (1).to_bytes(4, "little") + (128).to_bytes(4, "little") + (1).to_bytes(8, "little")  # software, task clock
    return syscall(298, attr, 0, -1, -1, ctypes.c_ulong(8))


def bpf_map():
    attr = ctypes.create_string_buffer(b"".join(v.to_bytes(4, "little") for v in (2, 4, 4, 1)), 128)  # an array of one
    return syscall(321, 0, attr, 128)


def shared_memory():
    fd = os.memfd_create("both")
    os.ftruncate(fd, 4096)
    kept.append(mmap.mmap(fd, 4096))
    return fd


def terminal():
    master, slave = os.openpty()
    kept.append(master)
    return slave


kept = []
gifts = {
    "io_uring": lambda: syscall(425, 4, ctypes.create_string_buffer(120)),
    "userfaultfd": lambda: syscall(323, 1),
    "perf": perf_event,
    "bpf": bpf_map,
    "pidfd": lambda: os.pidfd_open(1),
    "device": lambda: os.open("/dev/kmsg" if os.path.exists("/dev/kmsg") else "/dev/net/tun", os.O_RDONLY),
    "terminal": terminal,
    "outside file": lambda: os.open("/etc/hostname", os.O_RDONLY),
    "namespace": lambda: os.open("/proc/self/ns/mnt", os.O_RDONLY),
    "fanotify": lambda: syscall(300, 0, 0),
    "shared memory": shared_memory,
}


def give(listener):
    while True:
        s, _ = listener.accept()
        kind = s.recv(64).decode()
        if kind == "stay":
            kept.append(s)
            s.sendall(b"x")
            continue
        try:
            fd = gifts[kind]()
            socket.send_fds(s, [b"x"], [fd])
            os.close(fd)
        except OSError as e:
            s.sendall(("no " + str(e)).encode())
        s.close()


WALK = """
import ctypes, fcntl, mmap, os, select, socket, sys
def given(kind):
    s = socket.socket(socket.AF_UNIX); s.connect("/vol/give.sock"); s.sendall(kind.encode())
    text, fds, _, _ = socket.recv_fds(s, 200, 1); s.close()
    if not fds: print("absent", text.decode(), flush=True); sys.exit(0)
    return fds[0]
def make():
    try:
%s
    except OSError as e:
        print("absent", e, flush=True); sys.exit(0)
    return locals()
kept = make()
nonce, n = os.urandom(8).hex(), 0
while True:
    n += 1
    print("at", nonce, n, flush=True)
    select.select([], [], [], 0.05)
"""

# name, what makes it, the type that it is refused with, what its path says; the first ones are tried in each run
KINDS = [
    ("a TCP connection", "l = socket.create_server(('127.0.0.1', 0)); a = socket.create_connection(l.getsockname()); b = l.accept()", "established TCP connection", "tcp 127.0.0.1:"),
    ("a unix socket to outside", "s = socket.socket(socket.AF_UNIX); s.connect('/vol/give.sock'); s.sendall(b'stay'); s.recv(1)", "outside unix socket", "give.sock"),
    ("an inotify watch", "f = ctypes.CDLL(None).inotify_init(); ctypes.CDLL(None).inotify_add_watch(f, b'/tmp', 2)", "inotify watch", "inotify"),
    ("a deleted file of 2 MiB", "f = open('/tmp/gone', 'wb+'); f.write(b'x' * (2 << 20)); f.flush(); os.unlink('/tmp/gone')", "deleted file", "/tmp/gone"),
    ("an unread datagram", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0)); s.sendto(b'unread', s.getsockname())", "unread datagrams", "udp 127.0.0.1:"),
    ("userfaultfd", "f = given('userfaultfd')", "userfaultfd", "userfaultfd"),
    ("io_uring", "f = given('io_uring')", "io_uring", "io_uring"),
    ("a perf event", "f = given('perf')", "perf event", "perf_event"),
    ("an eBPF map", "f = given('bpf')", "eBPF map", "bpf-map"),
    ("a pidfd of init outside", "f = given('pidfd')", "pidfd", "pidfd"),
    ("a pidfd of an ended child", "p = os.spawnlp(os.P_NOWAIT, 'true', 'true'); f = os.pidfd_open(p); os.waitpid(p, 0)", "pidfd", "pidfd"),
    ("a device", "f = given('device')", "device", "/dev/"),
    ("a terminal of outside", "f = given('terminal')", "terminal", "/dev/pts/"),
    ("a file of outside", "f = given('outside file')", "file from outside", "/etc/hostname"),
    ("a namespace", "f = given('namespace')", "kernel object", "mnt:"),
    ("fanotify", "f = given('fanotify')", "kernel object", "fanotify"),
    ("shared memory with outside", "f = given('shared memory'); m = mmap.mmap(f, 4096)", "outside shared memory", "memfd:both"),
    ("a file whose name is gone", "f = open('/tmp/one', 'wb+'); os.link('/tmp/one', '/tmp/two'); os.unlink('/tmp/one')", "deleted file", "/tmp/one"),
    ("a POSIX lock shared with outside", "f = open('/vol/posix.lock', 'r+'); fcntl.lockf(f, fcntl.LOCK_SH)", "file lock", "lock POSIX"),
    ("a flock shared with outside", "f = open('/vol/flock.lock', 'r+'); fcntl.flock(f, fcntl.LOCK_SH)", "file lock", "lock FLOCK"),
    ("an MPTCP socket", "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)", "socket", "MPTCP"),
    ("a vsock socket", "s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)", "socket", "VSOCK"),
    ("an AF_ALG socket", "s = socket.socket(38, socket.SOCK_SEQPACKET)", "socket", "ALG"),
]


def body(make):
    return WALK % "\n".join("        " + part.strip() for part in make.split("; "))


def begins(job):
    until(60, lambda: any(w[0] in ("at", "absent") for w in lines(job)))
    said = lines(job)
    return None if any(w[0] == "absent" for w in said) else next((w[1] for w in said if w[0] == "at"), "")


def reached(job):
    return max([int(w[2]) for w in lines(job) if w[0] == "at"], default=0)


def carried(job, nonce, what):
    """Suspends and resumes; the nonce is only in memory."""
    rc, text = portal("suspend", job)
    ok(rc == 0, "P-21 %s: it suspends" % what, text)
    last = reached(job)
    rc, text = portal("resume", job)
    ok(rc == 0, "P-24 %s: it resumes" % what, text)
    until(60, lambda: show(job)["state"] == "running")
    good = until(30, lambda: reached(job) > last + 2)
    said = [w for w in lines(job) if w[0] == "at"]
    ok(good and all(w[1] == nonce for w in said) and [int(w[2]) for w in said] == list(range(1, len(said) + 1)),
       "law 13 %s: its nonce is kept, each step was made once" % what, said[-3:])


def refused(job, what, kind, path, keep=True):
    before = show(job)
    pid = subprocess.run(["pgrep", "-f", "nonce, n = os.urandom"], capture_output=True, text=True).stdout.split()
    rc, text = portal("precheck", job, "--json")
    values = json.loads(text).get("values", []) if text.startswith("{") else []
    good = [v for v in values if v["type"] == kind and path in v["path"]]
    ok(rc == 2 and good and good[0]["fix"], "P-20 %s: the precheck names it, with a fix" % what, text)
    rc, text = portal("suspend", job)
    ok(rc == 2 and path in text, "P-21 %s: refused by its name" % what, rc, text)
    after = show(job)
    ok(after["state"] == "running" and subprocess.run(["pgrep", "-f", "nonce, n = os.urandom"], capture_output=True, text=True).stdout.split() == pid,
       "law 10 %s: the same process runs on" % what, after["state"], pid)
    n = len(lines(job))
    ok(until(20, lambda: len(lines(job)) > n + 2), "law 10 %s: and makes steps" % what)


def refusals():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(VOLUME + "/give.sock")
    os.chmod(VOLUME + "/give.sock", 0o777)
    listener.listen(64)
    threading.Thread(target=give, args=(listener,), daemon=True).start()
    for name, lock in (("posix.lock", lambda f: fcntl.lockf(f, fcntl.LOCK_SH)), ("flock.lock", lambda f: fcntl.flock(f, fcntl.LOCK_SH))):
        f = open(VOLUME + "/" + name, "w+")
        lock(f)
        kept.append(f)
    seen = 0
    for i, (what, make, kind, path) in enumerate(KINDS if FULL else KINDS[:6]):
        job = "with-%d" % i
        rc, text = run(job, body(make))
        nonce = begins(job)
        if nonce is None:
            ok(True, "P-21 %s # SKIP not to be had here: %s" % (what, " ".join(lines(job)[-1])))
            continue
        seen += 1
        ok(rc == 0 and nonce, "P-21 %s: the job makes steps" % what, text, portal("logs", job)[1])
        refused(job, what, kind, path)
        portal("stop", "--force", job)
        if FULL or i < 1:
            run("twin-%d" % i, body("pass"))
            carried("twin-%d" % i, begins("twin-%d" % i), "the twin without " + what)
            portal("stop", "--force", "twin-%d" % i)
    outside(seen)


def outside(seen):
    """What somebody outside does to a job that has nothing special."""
    run("held", body("pass"))
    nonce = begins("held")
    pid = int(subprocess.run(["pgrep", "-of", "nonce, n = os.urandom"], capture_output=True, text=True).stdout.split()[0])
    libc.ptrace(0x4206, pid, None, None)  # seize
    refused("held", "a tracer", "traced process", "traced by pid %d" % os.getpid())
    libc.ptrace(0x4207, pid, None, None)  # interrupt: only what stands still can be let go
    os.waitpid(pid, 0x40000000)
    libc.ptrace(17, pid, None, None)  # detach
    unit = subprocess.run(["crun", "--root", "/var/lib/portal-runner/runtime", "list", "-q"], capture_output=True, text=True).stdout.split()[-1]
    p = subprocess.Popen(["crun", "--root", "/var/lib/portal-runner/runtime", "exec", unit, "sleep", "1000"], stdin=subprocess.DEVNULL)
    ok(until(10, lambda: portal("precheck", "held")[0] == 2), "P-20 a process of an exec is seen")
    refused("held", "a process of an exec", "process from outside", "sleep")
    subprocess.run(["pkill", "-x", "sleep"])
    p.wait()
    carried("held", nonce, "the same job without them")
    portal("stop", "--force", "held")
    ok(not FULL or seen >= 18, "kinds that are to be had here: %d and two from outside" % seen)


CHAIN = """
import hashlib, os, select, threading
nonce = os.urandom(16).hex(); h = nonce; n = 0
log = open('/tmp/chain', 'w'); reader = open('/etc/passwd'); reader.read(7)
r, w = os.pipe(); os.write(w, b'in the pipe')
def beat():
    while True: select.select([], [], [], 0.5)
threading.Thread(target=beat, daemon=True).start()
while True:
    h = hashlib.sha256(h.encode()).hexdigest(); n += 1
    log.write('%d %s\\n' % (n, h)); log.flush()
    print('at', nonce, n, h, reader.tell(), flush=True)
    select.select([], [], [], 0.02)
"""


def chain_good(job):
    """The log of what was printed on any machine, and the file that the job has had open all the time."""
    said = [w for w in lines(job) if w and w[0] == "at"]
    text = ""
    for root in ("/var/lib/portal-runner/runtime", "/var/lib/portal-runner-2/runtime"):
        for unit in subprocess.run(["crun", "--root", root, "list", "-q"], capture_output=True, text=True).stdout.split():
            text += subprocess.run(["crun", "--root", root, "exec", unit, "cat", "/tmp/chain"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    links = [w.split() for w in text.splitlines()]
    h, want = said[0][1], []
    for n in range(len(links)):
        h = hashlib.sha256(h.encode()).hexdigest()
        want.append([str(n + 1), h])
    wrong = [w for w in said if w[1] != said[0][1] or w[4] != "7" or (int(w[2]) <= len(want) and want[int(w[2]) - 1][1] != w[3])]
    return links == want and len(links) > 100 and not wrong, "links %d, in the log %d, wrong %s" % (len(links), len(said), wrong[:3])


def moves():
    rc, text = run("walker", CHAIN)
    ok(rc == 0 and begins("walker"), "a job with a hash chain, a nonce, a thread, a pipe and open files runs", text)
    until(20, lambda: len(lines("walker")) > 20)
    carried_to = portal("suspend", "walker")
    ok(carried_to[0] == 0, "P-21 it suspends", carried_to[1])
    rc, text = portal("resume", "walker")
    ok(rc == 0, "P-24 it resumes", text)
    until(60, lambda: show("walker")["state"] == "running")
    for i in range(5):
        want = ("there/shed/host", "here/here/host")[show("walker")["offer"].startswith("there")]
        rc, text = portal("move", "walker", "--on", want, "--wait")
        ok(rc == 0 and until(60, lambda: show("walker")["offer"] == want and show("walker")["state"] == "running"),
           "P-18 move %d, to %s" % (i + 1, want), rc, text, portal("show", "walker")[1])
        n = len(lines("walker"))
        ok(until(30, lambda: len(lines("walker")) > n + 5), "move %d: it runs on there" % (i + 1))
    good, why = chain_good("walker")
    ok(good, "law 13 after a suspension and five moves the nonce is kept and the chain unbroken, each link once", why)
    portal("stop", "--force", "walker")


def killed_in_the_middle():
    """criu is killed as soon as it is seen at work on a job of 160 MiB, then the plugin's host is: the job runs on, whole."""
    run("heavy", body("m = bytearray(os.urandom(1 << 20)) * 160"), "--memory", "256MiB")
    nonce = begins("heavy")
    for name, victim in (("criu", "^criu$"), ("the plugin's process", "portald-plugin")):
        hit = []

        def hunt():
            end = time.monotonic() + 20
            while not hit and time.monotonic() < end:
                if subprocess.run(["pgrep", "-x", "criu"], capture_output=True).returncode == 0:
                    select.select([], [], [], 0.03)
                    hit.append(subprocess.run(["pkill", "-9", victim] if victim[0] == "^" else ["pkill", "-9", "-f", "plugin-host.*criu|" + victim], capture_output=True).returncode)
        hunter = threading.Thread(target=hunt)
        hunter.start()
        rc, text = portal("suspend", "heavy")
        hunter.join()
        ok(hit == [0] and rc != 0, "law 10 %s is killed in the middle of a dump: the suspension fails" % name, hit, rc, text)
        ok(until(30, lambda: show("heavy")["state"] == "running"), "law 10 %s killed: the job is running" % name, show("heavy")["state"])
        n = len(lines("heavy"))
        ok(until(30, lambda: len(lines("heavy")) > n + 3), "law 10 %s killed: and makes steps" % name, portal("show", "heavy")[1])
        ok(until(10, lambda: subprocess.run(["pgrep", "-x", "criu"], capture_output=True).returncode != 0), "no criu is left")
        pid = subprocess.run(["pgrep", "-of", "m = bytearray"], capture_output=True, text=True).stdout.split()[0]
        clean = "TracerPid:\t0" in open("/proc/%s/status" % pid).read() and "CRIUMFD" not in open("/proc/%s/maps" % pid).read()
        told = text + subprocess.run(["journalctl", "-q", "-u", "portal-runner", "--no-pager"], capture_output=True, text=True).stdout
        ok(clean or "the job is damaged" in told, "%s killed: the job is clean, or said to be damaged" % name, text)
    carried("heavy", nonce, "the job after both")
    portal("stop", "--force", "heavy")


def main():
    os.makedirs(VOLUME, exist_ok=True)
    os.chmod(VOLUME, 0o777)
    moves()
    if FULL:
        killed_in_the_middle()
    refusals()
    if bad:
        print("# " + subprocess.run(["journalctl", "-q", "-u", "portal-runner", "-n", "30", "--no-pager"], capture_output=True, text=True).stdout.replace("\n", "\n# "))
    print("1..%d" % number, flush=True)
    sys.exit(bad > 0)


main()
