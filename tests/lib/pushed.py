# SPDX-License-Identifier: Apache-2.0
"""For tests of push: webfake with --push, and its counters."""

import re

import pytest

from web_driver import Fake, get


@pytest.fixture
def pushing():
    running = []

    def start(url, *args):
        running.append(Fake("--push", url, "--every", "0.2", *args))
        return running[-1]

    yield start
    for one in running:
        said, _ = one.stop()
        assert said == "marks left 0\n"


def metric(server, name):
    found = re.search(rf"^{re.escape(name)} (\d+)$", get(f"{server.url}/metrics").text, re.M)
    return int(found.group(1))


def dropped(server, reason):
    return metric(server, f'alys_push_dropped_total{{reason="{reason}"}}')
