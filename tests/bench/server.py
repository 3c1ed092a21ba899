# SPDX-License-Identifier: Apache-2.0
"""The demo server under load by wrk."""
import os
import re
import statistics
import subprocess
import time

from harness import BUILD, cpu_of


class Server:
    def __init__(self):
        self.process = subprocess.Popen([os.path.join(BUILD, "demo", "server"), "0"], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.url = "http://" + self.process.stdout.readline().split()[-1]

    def load(self, seconds, path="/page/7"):
        """Runs wrk; returns requests per second."""
        out = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}", self.url + path], capture_output=True, text=True,
                             check=True).stdout
        return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))

    def close(self):
        self.process.kill()
        self.process.wait()


class Load:
    """A server, and one wrk that asks it without a pause. Each keeps to one processor."""

    def __init__(self, path, server_at, wrk_at):
        self.server = Server()
        subprocess.run(["taskset", "-acp", str(server_at), str(self.server.pid)], stdout=subprocess.DEVNULL, check=True)
        self.wrk = subprocess.Popen(["taskset", "-c", str(wrk_at), "wrk", "-t1", "-c8", "-d24h", self.server.url + path],
                                    stdout=subprocess.DEVNULL)

    def done(self):
        """The server's CPU time so far, and the bytes that wrk has read from it."""
        with open(f"/proc/{self.wrk.pid}/io", encoding="ascii") as f:
            read = int(f.readline().split()[1])
        return cpu_of(self.server.pid), read

    def close(self):
        self.wrk.kill()
        self.wrk.wait()
        self.server.close()


class Twins:
    """
    Two servers alike, which share a processor and take turns on it by the millisecond; their wrks share another one. What else happens on
    the machine makes a request cost both a tenth more or less from one second to the next, and both alike.
    """

    def __init__(self, path):
        home, *others = sorted(os.sched_getaffinity(0))
        self.twins = [Load(path, home, (others or [home])[0]) for _ in range(2)]
        self.server = self.twins[0].server

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for twin in self.twins:
            twin.close()

    def cost(self, seconds):
        """CPU time for each byte from `server`, over that from the other one: the median of as many seconds."""
        found, before = [], [twin.done() for twin in self.twins]
        for _ in range(seconds):
            time.sleep(1)
            now = [twin.done() for twin in self.twins]
            each = [(cpu - cpu_then) / (read - read_then) for (cpu, read), (cpu_then, read_then) in zip(now, before)]
            found.append(each[0] / each[1])
            before = now
        return statistics.median(found)
