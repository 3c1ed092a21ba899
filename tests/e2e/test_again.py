# SPDX-License-Identifier: Apache-2.0
"""scripts/run-probes: a failed test is repeated alone, and reported by name if it passes then."""

import os
import subprocess

from conftest import ROOT, TIMEOUT

FILES = {
    "one/test_one.py": """
import pathlib, pytest
def first(name):
    mark = pathlib.Path(__file__).with_name(name)
    return not mark.exists() and not mark.touch()
def test_good():
    assert first("good")  # once is enough
@pytest.mark.parametrize("n", ["a b", "c::[d]"])
def test_once(n):
    assert not first(n)
@pytest.fixture
def cleans_up():
    yield
    assert not first("cleanup")
def test_cleanup(cleans_up):
    pass
""",
    "two/test_two.py": """
import pytest
def test_bad():
    assert 0
def test_skipped():
    pytest.skip("on purpose")
""",
    "many/test_many.py": """
import pytest
@pytest.mark.parametrize("n", range(21))
def test_bad(n):
    assert 0
""",
    "broken/test_broken.py": "import no_such_thing\n",
}


def run(tmp_path, *folders):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = subprocess.run([ROOT / "scripts/run-probes", *(tmp_path / folder for folder in folders)], capture_output=True,
                          text=True, timeout=TIMEOUT, env={**os.environ, "RESULTS": str(tmp_path / "results")})
    return done.returncode, done.stdout.splitlines()


def test_second_attempt(tmp_path):
    status, said = run(tmp_path, "one", "two")
    cured = "test_one::test_once[a b], test_one::test_once[c::[d]], test_one::test_cleanup"
    assert f"== again, alone: {cured}, test_two::test_bad" in said
    assert said[-2:] == [f"passed only when run again: {cured}", "4 passed, 1 failed, 1 skipped"]
    assert status == 1


def test_all_pass_in_the_end(tmp_path):
    status, said = run(tmp_path, "one")
    assert (status, said[-1]) == (0, "4 passed, 0 failed, 0 skipped")
    status, said = run(tmp_path, "two")
    assert (status, said[-1]) == (1, "0 passed, 1 failed, 1 skipped") and "again: " not in said[-2]


def test_many_failures_are_no_accident(tmp_path):
    status, said = run(tmp_path, "many")
    assert (status, said[-1]) == (1, "0 passed, 21 failed, 0 skipped")
    assert not any("again" in line for line in said)


def test_what_cannot_be_read_stays_failed(tmp_path):
    status, said = run(tmp_path, "broken", "two")
    assert status == 1 and said[-1].startswith("0 passed, ") and "0 failed" not in said[-1]
