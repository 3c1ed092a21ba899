# SPDX-License-Identifier: Apache-2.0
"""The program for aarch64, built by a cross compiler and emulated: it reads what was recorded on x86-64, and says the same."""

import re
import shutil
import subprocess

import pytest

import emulated
from conftest import ALYS, ROOT, TIMEOUT

TRACES = [ROOT / "tests/golden/v1.alys", ROOT / "tests/golden/layout/before.alys"]
# Parsers of outside bytes, and what writes bytes; elf on files that the cross compiler makes.
UNITS = ["test_elf", "test_trace", "test_trace_damage", "test_trace_golden", "test_model", "test_sink", "test_report",
         "test_unwind", "test_unwind_section", "test_unwind_walk_arm64", "test_unwind_walk", "test_unwind_go_aarch64", "test_dwarf_symtab", "test_machine_pac", "test_finder_aarch64", "fuzz_sites",
         "test_notes", "test_notes_aarch64", "test_functions", "fuzz_notes",
         "test_sites_collections", "test_beam", "test_beam_aarch64", "fuzz_beam",
         "test_boehm_getter_aarch64", "fuzz_heapgraph", "fuzz_glibc", "fuzz_trace", "fuzz_elf", "fuzz_unwind"]
EMULATOR = "qemu-aarch64"
READINGS = [["info"], ["report"], ["report", "--by", "function"], ["report", "--show", "alloc"], ["report", "-f", "json"],
            *(["convert", "-f", name, "-o", "-"] for name in
              ("json", "jsonl", "pprof", "folded-stacks", "flamegraph", "text", "html", "dhat", "heaptrack", "massif", "speedscope",
               "perfetto", "otlp"))]


@pytest.fixture(scope="module")
def emulator():
    emulated.build(EMULATOR)
    return [shutil.which(EMULATOR), "-L", str(emulated.SYSROOT)]


@pytest.fixture
def program(emulator):
    return [*emulator, str(emulated.ARM64 / "alys-bpf")]


def run(program, *words):
    done = subprocess.run([*program, *map(str, words)], cwd=ROOT, capture_output=True, timeout=TIMEOUT)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.heavy
@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_reads_traces_of_x86_64(program, trace):
    answers = [run([str(ALYS)], *words, trace) for words in READINGS]
    for words, answer in zip(READINGS, answers):
        assert run(program, *words, trace) == answer, words
    # Some formats refuse a trace with samples, alike.
    assert sum(code == 0 and out != b"" for code, out, _ in answers) > len(READINGS) / 2


@pytest.mark.parametrize("name", UNITS)
def test_unit(emulator, name):
    test = emulated.ARM64 / "tests" / name
    emulated.build(EMULATOR, test)
    corpus = [ROOT / "tests/fuzz/corpus" / name.removeprefix("fuzz_")] if name.startswith("fuzz_") else []
    code, out, err = run(["env", f"SYSROOT={emulated.SYSROOT}", *emulator, str(test)], *corpus)
    assert code == 0, err


def test_doctor_says_what_is_missing(program):
    code, out, _ = run(program, "doctor")
    assert code and re.search(rb"^architecture +no +calls are recorded as on x86-64, but no result of malloc is known at the entry", out, re.M)
