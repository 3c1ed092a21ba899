# SPDX-License-Identifier: Apache-2.0
"""Real probes on aarch64 with Debian 12's own kernel, on an emulated machine: what test_arm64_probes.py sees of a newer one, in short."""

import pytest

from arm64_machine import Plan, assert_exact, assert_no_probe_is_left, assert_own_probes, assert_whole, boot

pytestmark = pytest.mark.long
PLAN = Plan("6.1", exact={"c_libc": 1, "cpp_exceptions": 1}, recorded={"c_usdt": 1}, killed=True)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """What it left: a folder."""
    return boot(PLAN, tmp_path_factory.mktemp("machine"))


@pytest.mark.parametrize("name", PLAN.exact)
def test_exact(machine, tmp_path, name):
    assert_exact(machine, tmp_path, name, PLAN.exact[name])


@pytest.mark.parametrize("name", PLAN.exact)
def test_stacks_are_whole(machine, tmp_path, name):
    assert_whole(machine, tmp_path, name)


def test_own_probes(machine, tmp_path):
    assert_own_probes(machine, tmp_path)


def test_killed_recording_leaves_no_probe(machine):
    assert_no_probe_is_left(machine)
