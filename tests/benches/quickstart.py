# SPDX-License-Identifier: Apache-2.0
"""B-19: the quickstart as a newcomer runs it: one command. The packages' time is the mirror's, and is not counted."""
import os, re, subprocess, time

from base import Skip, TOP


def whole(bench):
    if os.geteuid() != 0:
        raise Skip("it needs root")
    began = time.monotonic()
    r = subprocess.run([os.path.join(TOP, "contrib", "quickstart")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800)
    if r.returncode != 0:
        raise RuntimeError("contrib/quickstart: exit %d: %s" % (r.returncode, r.stdout[-500:]))
    said = re.search(r"everything held, (\d+) s after the packages", r.stdout)
    if not said:
        raise RuntimeError("contrib/quickstart does not say how long it took after the packages")
    held = r.stdout.count("[held]")
    bench.figure("contrib/quickstart, from the packages' end to its own", int(said.group(1)), "s", "lower", "1 command, < 300 s", {"rounds": 1, "checks_held": held}, dream="60 s",
                 commands_typed=1, rival="dstack 5, SkyPilot 6, Nomad 3 commands (from their own guides, not run here)", wall_s=round(time.monotonic() - began))
