# SPDX-License-Identifier: Apache-2.0
"""The demo server under load by wrk."""
import os
import re
import subprocess

from harness import BUILD


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
