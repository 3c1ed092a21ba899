# SPDX-License-Identifier: Apache-2.0
"""The program for aarch64, built by a cross compiler and emulated: it reads what was recorded on x86-64, and says the same."""

import re
import shutil
import subprocess

import pytest

from conftest import ALYS, BUILD, ROOT, TIMEOUT, make

SYSROOT = ROOT / "build" / "sysroot-arm64"
TRACES = [ROOT / "tests/golden/v1.alys", ROOT / "tests/golden/layout/before.alys"]
# Parsers of outside bytes, and what writes bytes; elf on files that the cross compiler makes.
UNITS = ["test_elf", "test_trace", "test_trace_damage", "test_trace_golden", "test_model", "test_sink", "test_report",
         "test_unwind", "test_unwind_section", "test_unwind_walk_arm64", "test_unwind_walk", "test_machine_pac", "test_sites_aarch64", "fuzz_sites",
         "test_notes", "test_notes_aarch64", "test_functions", "fuzz_notes",
         "test_sites_collections"]
NEEDED = ["aarch64-linux-gnu-gcc", "qemu-aarch64", "mmdebstrap"]
READINGS = [["info"], ["report"], ["report", "--by", "function"], ["report", "--show", "alloc"], ["report", "-f", "json"],
            *(["convert", "-f", name, "-o", "-"] for name in
              ("json", "jsonl", "pprof", "folded-stacks", "flamegraph", "text", "html", "dhat", "heaptrack", "massif", "speedscope",
               "perfetto", "otlp"))]


@pytest.fixture(scope="module")
def emulated():
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    try:
        make("ARCH=arm64", "build/sysroot-arm64")
    except subprocess.CalledProcessError:
        pytest.skip("Debian's arm64 packages cannot be fetched")
    build = BUILD / "arm64"
    make("ARCH=arm64", f"BUILD={build}")
    return [shutil.which("qemu-aarch64"), "-L", str(SYSROOT), str(build / "alys-bpf")]


def run(program, *words):
    done = subprocess.run([*program, *map(str, words)], cwd=ROOT, capture_output=True, timeout=TIMEOUT)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_reads_traces_of_x86_64(emulated, trace):
    answers = [run([str(ALYS)], *words, trace) for words in READINGS]
    for words, answer in zip(READINGS, answers):
        assert run(emulated, *words, trace) == answer, words
    # Some formats refuse a trace with samples, alike.
    assert sum(code == 0 and out != b"" for code, out, _ in answers) > len(READINGS) / 2


@pytest.mark.parametrize("name", UNITS)
def test_unit(emulated, name):
    program = BUILD / "arm64" / "tests" / name
    make("ARCH=arm64", f"BUILD={BUILD}/arm64", program)
    corpus = [ROOT / "tests/fuzz/corpus" / name.removeprefix("fuzz_")] if name.startswith("fuzz_") else []
    code, out, err = run(["env", f"SYSROOT={SYSROOT}", *emulated[:-1], str(program)], *corpus)
    assert code == 0, err


def test_doctor_says_what_is_missing(emulated):
    code, out, _ = run(emulated, "doctor")
    assert code and re.search(rb"^architecture +no +calls are recorded as on x86-64, but .* not there yet: .*Erlang", out, re.M)
