# SPDX-License-Identifier: Apache-2.0
"""A daemon with its HTTP server."""

import re

import pytest

from conftest import Daemon, pprof
from web_driver import get


@pytest.fixture
def served(tmp_path):
    """A daemon that traces these processes with bytes:1k and serves at `url`."""
    running = []

    def start(*args):
        running.append(Daemon(tmp_path, "--sample", "bytes:1k", "--listen", "0", *args).wait_ready())
        running[-1].url = re.search(r"http://[\d.:]+", running[-1].log()).group()
        return running[-1]

    yield start
    for one in running:
        one.kill()


def functions(url, index):
    """{function: flat bytes}"""
    text = pprof("-top", "-nodecount=0", "-nodefraction=0", "-unit=B", f"-sample_index={index}", url)
    return {name: float(n) for n, name in re.findall(r"^ *([\d.]+)B? +\S+% +\S+% +\S+ +\S+% +(\S+)", text, re.M)}


def metrics(server, query=""):
    text = get(f"{server.url}/metrics{query}").text
    return {name: float(n) for name, n in re.findall(r"^(alys\w+(?:{.*})?) (\S+)$", text, re.M)}
