# SPDX-License-Identifier: Apache-2.0
"""For tests of HTTP and push: webfake (tests/lib/webfake.c), a server without tracing, and raw HTTP requests."""

import functools
import select
import signal
import socket
import subprocess
import time
import urllib.parse
from contextlib import contextmanager

from conftest import BUILD, make

TIMEOUT = 120


@functools.cache
def build(name):
    path = BUILD / "tests" / name
    make(path)
    return path


class Fake:
    """A running webfake; it listens at `address`."""

    def __init__(self, *args):
        self.proc = subprocess.Popen([build("webfake"), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True)
        ready, _, _ = select.select([self.proc.stdout], [], [], TIMEOUT)
        self.address = self.proc.stdout.readline().strip() if ready else ""
        self.url = f"http://{self.address}"
        self.port = int(self.address.rsplit(":", 1)[1]) if ":" in self.address else 0

    def stop(self):
        """Stops it; returns the rest of stdout, and stderr."""
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        try:
            return self.proc.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.communicate()
            raise


@contextmanager
def own_servers(complaints):
    """Returns a function that starts servers; with `complaints` they may write to stderr."""
    running = []

    def start(*args):
        running.append(Fake(*args))
        return running[-1]

    yield start
    for one in running:
        said, complained = one.stop()
        assert said == "marks left 0\n" and (complaints or not complained)


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        self.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:] if ": " in line)}

    @property
    def text(self):
        return self.body.decode()


def raw(port, data, timeout=TIMEOUT):
    """Sends these bytes; returns everything received."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as s:
        s.sendall(data)
        got = b""
        while piece := s.recv(65536):
            got += piece
        return Answer(got)


def get(url, method="GET", headers=None, timeout=TIMEOUT):
    parts = urllib.parse.urlsplit(url)
    sent = {"Host": parts.netloc, **(headers or {})}
    target = parts.path + ("?" + parts.query if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in sent.items() if v is not None), "", ""]
    return raw(parts.port, "\r\n".join(lines).encode("latin-1"), timeout)


def wait_for(what, patience=TIMEOUT):
    end = time.monotonic() + patience
    while not (found := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found
