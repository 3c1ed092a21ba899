# SPDX-License-Identifier: Apache-2.0
"""doctor: measured costs of probes, and required privileges."""

import os
import re

import pytest

from conftest import alys

PRICES = "a probe", "stepped", "entry, return"


def prices(text):
    found = {name: re.search(rf"^{name} +([\d.]+) us \(([\d.]+) with cold caches\) \w", text, re.M) for name in PRICES}
    assert all(found.values()), text
    return {name: [float(n) for n in match.groups()] for name, match in found.items()}


@pytest.mark.bpf
def test_prices_are_measured():
    """Each kind of probe has a figure measured on this machine."""
    done = alys("doctor")
    assert done.returncode == 0, done
    assert all(min(price) > 0 for price in prices(done.stdout).values()), done.stdout
    assert not re.search(r"^many CPUs", done.stdout, re.M) or os.cpu_count() > 16


def test_without_rights_there_are_no_prices():
    done = alys("doctor", user=65534)
    assert done.returncode == 1 and re.search(r"^programs +no +not allowed", done.stdout, re.M), done
    assert " us " not in done.stdout
