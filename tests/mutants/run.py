#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes mutants of the rooms that decide and act, builds them all into one set of test programs, and sees which of them the tests kill.

  tests/mutants/run.py [--count N] [--seed N] [--only TEXT]... [--listed] [--with TEXT]... [--some N] [--seeds N] [--tap] [--list] [--keep]

  --count N   mutants in the build (default 320)
  --seed N    which ones (default 1: the ones that survivors.txt speaks of)
  --some N    of those that survivors.txt does not list, run only N: a slice that moves on with the date and --turn
  --turn N    which slice (default: the day)
  --only TEXT run those whose key holds the text
  --with TEXT only the programs whose name holds the text kill
  --listed    run those that survivors.txt lists as alive: which of them are killed by now
  --seeds N   seeds of the swarm that a mutant must survive (default 16)
  --tap       print TAP; fail for a survivor that survivors.txt does not explain, and (not a slice) below 95 % of those that are not listed as
              equivalent
  --list      print the mutants, run nothing

A mutant is run against the programs that come to it (known from a first run with none switched on), quickest first, until one fails, crashes or
outlives its time. Needs clang. Everything is made under build/mutants."""
import argparse
import collections
import concurrent.futures
import datetime
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
WORK = os.path.join(TOP, "build", "mutants")
TREE, BUILD = os.path.join(WORK, "tree"), os.path.join(WORK, "build")
ROOMS = ("policy", "placement", "ledger", "executor")
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-DPORTALD_TEST_HOOKS=1", '-DPORTALD_VERSION="0"', f"-I{TOP}/core", f"-I{TOP}/plugins/sdk"]
# slow for what they kill
NOT_KILLERS = ("world_disk_test", "world_rent_storm_test", "world_plants_test", "world_swarm_test", "world_ledger_random_test")
SWARM = "world_first_bad"
ENOUGH = 95  # per cent of those not shown equivalent
MANY = 300  # fewer are a slice


def say(*words):
    print("#" if OPTIONS.tap else "==", *words, flush=True)


# --- making ---
def sources(room):
    folder = os.path.join(TOP, "core", room)
    return sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".c"))


def read_sources():
    jobs = [(room, path) for room in ROOMS for path in sources(room)]

    def one(job):
        room, path = job
        return make.Source(room, path, os.path.basename(path), make.parse("clang", FLAGS, path))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, jobs))


def put(path, text):
    """Writes only what changed, so that the build is no larger than it must be."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.islink(path):
        os.unlink(path)
    try:
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def link(source, path):
    if not os.path.islink(path):
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)
        os.symlink(source, path)


def lay_out(made, chosen):
    """A second source tree: links to the first one, but for the mutated files."""
    for base, _, _ in ((TOP, 0, 0), (os.path.join(TOP, "core"), 0, 0)):
        here = os.path.join(TREE, os.path.relpath(base, TOP))
        os.makedirs(here, exist_ok=True)
        for name in os.listdir(base):
            if base == TOP and name in ("core", "build", ".git"):
                continue
            if base != TOP and name in ROOMS:
                continue
            link(os.path.join(base, name), os.path.join(here, name))
    for room in ROOMS:
        folder = os.path.join(TREE, "core", room)
        os.makedirs(folder, exist_ok=True)
        have = {os.path.basename(p) for p in sources(room)}
        for name in os.listdir(folder):
            if not os.path.lexists(os.path.join(TOP, "core", room, name)):
                os.unlink(os.path.join(folder, name))
        for name in os.listdir(os.path.join(TOP, "core", room)):
            if name not in have:
                link(os.path.join(TOP, "core", room, name), os.path.join(folder, name))
    header = os.path.join(TOP, "tests", "mutants", "mutant.h")
    for source in made:
        mine = [m for m in chosen if m.room == source.room and m.file == source.file]
        put(os.path.join(TREE, "core", source.room, source.file), f'#include "{header}" \n#line 1\n{source.rewritten(mine)}')


def build():
    log = os.path.join(WORK, "build.log")
    ccache = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    commands = [["cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -w",
                 "-DPORTALD_TEST_HOOKS=ON", *ccache]]
    with open(log, "w", encoding="utf-8") as f:
        if subprocess.run(commands[0], stdout=f, stderr=f, check=False).returncode == 0:
            names = [os.path.basename(p) for p in programs()] + [SWARM]
            if subprocess.run(["nice", "ninja", "-C", BUILD, *names], stdout=f, stderr=f, check=False).returncode == 0:
                return
    with open(log, encoding="utf-8") as f:
        sys.exit("the mutants do not build:\n" + f.read()[-3000:])


def programs():
    """The programs of the groups unit and world: only those that hold a mutated room are kept later."""
    with open(os.path.join(BUILD, "tests.list"), encoding="utf-8") as f:
        rows = [line.split() for line in f if line.strip()]
    wanted = ("test_policy", "test_placement", "test_ledger", "world_", "test_money", "test_offers", "test_executor", "test_spec_life",
              "test_spec_settings")
    return [path for group, path in rows if group in ("unit", "world") and os.path.basename(path).startswith(wanted)
            and os.path.basename(path) not in NOT_KILLERS
            and (not OPTIONS.only_by or any(text in os.path.basename(path) for text in OPTIONS.only_by))]


# --- running ---
class Killer:
    def __init__(self, name, argv, timeout):
        self.name, self.argv, self.timeout, self.took, self.reaches = name, argv, timeout, 0.0, set()


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(killer, mutant, reached=None):
    """How it ended: None = all passed, else a word."""
    scratch = tempfile.mkdtemp(prefix="mutant-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    env = dict(os.environ, PORTALD_MUTANT=str(mutant), PORTALD_WORLD_DIR=scratch, TEST_FULL="0", TEST_SEED="1", TEST_FIRST_BAD="1", TMPDIR=scratch)
    env.pop("TESTS_FULL", None)
    if reached:
        env["PORTALD_MUTANT_REACHED"] = reached
    try:
        p = subprocess.Popen(killer.argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True, preexec_fn=limits, cwd=scratch)
        try:
            rc = p.wait(timeout=killer.timeout)
        except subprocess.TimeoutExpired:
            rc = None
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if rc == 0:
        return None
    return "time" if rc is None else f"signal {-rc}" if rc < 0 else "fails"


def killers(seeds):
    """What there is to kill with, each run once as it should be: how long it takes, and which mutants it comes to."""
    found = []
    for path in programs():
        if os.path.exists(path):
            with open(path, "rb") as f:
                if b"PORTALD_MUTANT_REACHED" in f.read():
                    found.append(Killer(os.path.basename(path), [path], 300))
    swarm = os.path.join(BUILD, "tests", "world", SWARM)
    at, some = 0, 2
    while at < seeds:
        n = min(some, seeds - at)
        found.append(Killer(f"{n} seeds from {7000 + at}", [swarm, str(7000 + at), str(n)], 900))
        at, some = at + n, some * 2

    def first(k):
        with tempfile.NamedTemporaryFile() as f:
            began = time.monotonic()
            end = run(k, 0, f.name)
            k.took = time.monotonic() - began
            k.timeout = 10 + 6 * k.took
            k.reaches = {int(x) for x in f.read().split()}
        return end

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for k, end in zip(found, pool.map(first, found)):
            if end:
                sys.exit(f"{k.name} does not pass without any mutant ({end}): nothing can be learnt from it")
    return sorted(found, key=lambda k: k.took)


def try_one(mutant, all_killers):
    for k in all_killers:
        if mutant.number in k.reaches:
            end = run(k, mutant.number)
            if end:
                return k.name, end
    return None


# --- judging ---
def listed():
    """survivors.txt: KEY equivalent|alive REASON"""
    rows = {}
    with open(os.path.join(TOP, "tests", "mutants", "survivors.txt"), encoding="utf-8") as f:
        for line in f:
            words = line.split(None, 2)
            if len(words) == 3 and not line.startswith("#"):
                rows[words[0]] = (words[1], words[2].strip())
    return rows


def slice_of(chosen):
    turn = OPTIONS.turn if OPTIONS.turn is not None else datetime.date.today().toordinal()
    step = max(len(chosen) // OPTIONS.some, 1)
    return [m for i, m in enumerate(chosen) if (i + turn) % step == 0][:OPTIONS.some]


def judge(tried, dead, known):
    alive = [m for m in tried if m.number not in dead]
    same = [m for m in alive if known.get(m.key, ("",))[0] == "equivalent"]
    counted = len(tried) - len(same)
    bad, n = 0, 0

    def ok(good, text):
        nonlocal n, bad
        n += 1
        bad += not good
        print(f"{'ok' if good else 'not ok'} {n} - {text}", flush=True)

    for room in ROOMS:
        mine = [m for m in tried if m.room == room]
        say(f"{room}: {len(mine)} mutants, {sum(m.number in dead for m in mine)} killed, "
            f"{sum(m in same for m in mine)} equivalent, {sum(m.number not in dead and m not in same for m in mine)} survive")
    percent = 100.0 * len(dead) / counted if counted else 100.0
    if OPTIONS.tap:
        whole = len(tried) >= MANY
        strange = [m for m in alive if m.key not in known]
        for m in alive:
            say(f"{m.key}: {' '.join(known[m.key]) if m.key in known else 'no reason is listed'}")
        if whole:
            ok(percent >= ENOUGH, f"mutants: {len(dead)} of {counted} killed ({percent:.1f} %), {len(same)} equivalent")
        ok(not strange, f"mutants: {len(dead)} of {len(tried)} are killed, the {len(alive)} others are known by tests/mutants/survivors.txt, "
                        f"but for {len(strange)}")
        print(f"1..{n}")
    else:
        say(f"{len(dead)} of {counted} killed: {percent:.1f} %")
    return bad


def main():
    began = time.monotonic()
    made = read_sources()
    every = [m for s in made for m in s.found]
    make.name_all(every)
    sizes = collections.Counter()
    for s in made:
        sizes[s.room] += s.text.count(b"\n")
    chosen = make.choose(every, sizes, OPTIONS.count, OPTIONS.seed)
    tried = [m for m in chosen if any(text in m.key for text in OPTIONS.only or [""])]
    if OPTIONS.listed:
        known = listed()
        tried = [m for m in tried if known.get(m.key, ("",))[0] == "alive"]
    if OPTIONS.some:
        known = listed()
        tried = slice_of([m for m in tried if m.key not in known])
    if OPTIONS.list:
        for m in tried:
            print(f"{m.number} {m.key} line {m.line}: {m.shown}")
        return 0
    lay_out(made, chosen)
    build_first_list()
    build()
    say(f"{len(chosen)} mutants of {len(every)} possible in one build, {len(tried)} to run; built after {time.monotonic() - began:.0f} s")
    with_what = killers(OPTIONS.seeds)
    say(f"{len(with_what)} killers: " + ", ".join(f"{k.name} {k.took:.1f} s" for k in with_what))
    dead, lock, by = set(), threading.Lock(), collections.Counter()

    def one(m):
        end = try_one(m, with_what)
        with lock:
            if end:
                dead.add(m.number)
                by[end[0]] += 1
            near = [k.name for k in with_what if m.number in k.reaches]
            if not end or not OPTIONS.tap:
                say(f"{'killed  ' if end else 'SURVIVES'} {m.number} {m.key} line {m.line}: {m.shown}  "
                    f"[{end[0] + ': ' + end[1] if end else 'come to by ' + (', '.join(near) or 'nothing')}]")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, sorted(tried, key=lambda m: ROOMS.index(m.room))))  # the quick rooms first
    say("killed by: " + ", ".join(f"{k} {n}" for k, n in by.most_common()))
    bad = judge(tried, dead, listed())
    say(f"{time.monotonic() - began:.0f} s")
    return 1 if bad else 0


def build_first_list():
    """tests.list is there once cmake has run."""
    os.makedirs(WORK, exist_ok=True)
    if not os.path.exists(os.path.join(BUILD, "tests.list")):
        with open(os.path.join(WORK, "build.log"), "w", encoding="utf-8") as f:
            subprocess.run(["cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=None"], stdout=f, stderr=f, check=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=320)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--some", type=int, default=0)
    parser.add_argument("--turn", type=int)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--listed", action="store_true")
    parser.add_argument("--with", dest="only_by", action="append", default=[])
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("--list", action="store_true")
    OPTIONS = parser.parse_args()
    sys.exit(main())
