# SPDX-License-Identifier: Apache-2.0
"""docs/overhead.md is generated from the tables of scripts/bench, and the published one is complete."""

import os
import re
import subprocess

from conftest import ROOT

MAKE = """
import runpy, sys, harness
harness.OUT = sys.argv[1]
harness.stop_us = lambda: "a probe takes 1.00 us, "
for title in sys.argv[4:]:
    harness.keep(title, ["", "ns"], [["ours | all", 1.5], ["theirs", 3]])
sys.argv = ["overhead.py", *sys.argv[2:4]]
runpy.run_path("tests/bench/overhead.py", run_name="__main__")
"""


def make(folder, part, *titles):
    env = {**os.environ, "PYTHONPATH": "tests/bench", "PYTHONDONTWRITEBYTECODE": "1", "BENCH_PART": part}
    return subprocess.run(["/usr/bin/python3", "-c", MAKE, folder, folder / "page.md", part, *titles], cwd=ROOT, env=env, check=True,
                          capture_output=True, text=True).stdout


def test_tables_become_a_page(tmp_path):
    """Only the sections of parts that ran are renewed; the order is the page's own."""
    assert "accuracy anew" in make(tmp_path, "accuracy", "What was true")
    assert "cost anew" in make(tmp_path, "cost", "What a call costs")
    assert "accuracy anew" in make(tmp_path, "accuracy", "What is true")
    page = (tmp_path / "page.md").read_text()
    assert page.index("## Cost") < page.index("What a call costs:") < page.index("## Accuracy") < page.index("What is true:")
    assert "|  | ns |\n| --- | ---: |\n| ours / all | 1.5 |\n| theirs | 3 |\n" in page
    assert len(re.findall(r"\d CPUs, Linux \d.*, a probe takes 1.00 us, load .*, \d{4}-\d\d-\d\d\.", page)) == page.count("|  | ns |")
    assert "nothing anew" in make(tmp_path, "cost-of-nothing") and (tmp_path / "page.md").read_text() == page


def test_the_published_page_is_whole():
    page = (ROOT / "docs" / "overhead.md").read_text()
    cost, accuracy = page.split("## Cost\n")[1].split("## Accuracy\n")
    for row in ("alys-bpf exact, full stacks", "floor: empty probes", "bpftrace", "heaptrack", "valgrind DHAT"):
        assert re.search(rf"^\| {row} \| [\d.]+ ", cost, re.M), row
    for row in ("malloc", "libgc, at calls", "libgc, at refills", "libgc, steady, windows of 3 %", "bpftrace", "heaptrack",
                "valgrind DHAT"):
        assert re.search(rf"^\| {row} \| ", accuracy, re.M), row
