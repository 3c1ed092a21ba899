# SPDX-License-Identifier: Apache-2.0
"""The demo server under load by wrk."""
import os
import re
import statistics
import subprocess
import time

from harness import BUILD, cpu_of

LOOPBACK = "/sys/class/net/lo/statistics/rx_bytes"


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
    """
    A server, and one wrk that asks it without a pause. Each keeps to a processor of its own: two that meet on one take half as long again
    for a request, and who meets whom changes from one minute to the next.
    """

    def __init__(self, path):
        self.server = Server()
        home, *others = sorted(os.sched_getaffinity(0))
        subprocess.run(["taskset", "-acp", str(home), str(self.server.pid)], stdout=subprocess.DEVNULL, check=True)
        elsewhere = ",".join(map(str, others or [home]))
        self.wrk = subprocess.Popen(["taskset", "-c", elsewhere, "wrk", "-t1", "-c8", "-d24h", self.server.url + path],
                                    stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wrk.kill()
        self.wrk.wait()
        self.server.close()

    def done(self):
        """The server's CPU time so far, and what it has answered: bytes on the loopback, where nobody else talks meanwhile."""
        with open(LOOPBACK, encoding="ascii") as f:
            return cpu_of(self.server.pid), int(f.read())

    def cost(self, seconds):
        """CPU time for each byte: the median of as many seconds."""
        found, before = [], self.done()
        for _ in range(seconds):
            time.sleep(1)
            now = self.done()
            found.append((now[0] - before[0]) / (now[1] - before[1]))
            before = now
        return statistics.median(found)
