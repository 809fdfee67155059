# SPDX-License-Identifier: Apache-2.0
"""The daemon's API over its unix socket, for the scripted tests; and waits on a condition with a deadline, without sleeps."""
import http.client
import json
import select
import socket
import time


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("portald", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, method, target, body=None, headers=None, timeout=60):
    """(status, object or bytes, headers); OSError when nobody answers."""
    c = Connection(path, timeout)
    try:
        c.request(method, target, json.dumps(body) if body is not None else None, headers or {})
        r = c.getresponse()
        data = r.read()
        kind = r.getheader("Content-Type") or ""
        return r.status, (json.loads(data) if kind.startswith("application/json") and data else data), dict(r.getheaders())
    finally:
        c.close()


def pause(seconds=0.05):
    select.select([], [], [], seconds)


def until(seconds, condition, what="it"):
    """The condition's first true value within that time, else an AssertionError that names it."""
    end = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except (OSError, http.client.HTTPException):
            value = None
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {seconds} s"
        pause()
