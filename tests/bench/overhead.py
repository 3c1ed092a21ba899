# SPDX-License-Identifier: Apache-2.0
"""Writes docs/overhead.md from the tables saved by the parts of scripts/bench: `overhead.py PAGE`."""
import json
import os
import sys

from harness import kept_in

# The page is not written without the tables of these parts.
NEEDED = ["cost", "accuracy"]
PARTS = [*NEEDED, "server", "daemon", "unwind", "beam"]

HEAD = """# Overhead

What recording costs a program, and how true the estimates are: written by `make bench`, from runs on the machine that stands with each
table. Compare ratios, not times. A load above the number of CPUs says that others used the machine meanwhile: such figures are rough.
Each cost is the median of interleaved repetitions: traced, untraced and with empty probes, in turn. A "floor" is what empty probes on the same places cost: nobody who uses probes can be below it.

Recording everything is for seconds, and `--sample` for all day. A sampled `malloc` still passes a probe. A program with libgc does so only
where a free list is refilled. With `--max-overhead` both do so only for windows of time, while `free` stays probed: see [sampling](sampling.md).

    make bench                                # all of it: half an hour
    scripts/bench --quick cost accuracy       # some minutes

It needs root, and a machine with nothing else to do. bpftrace, heaptrack and valgrind are installed by `scripts/deps`; the row of one
that is missing is left out. `memleak` of bcc has no row: Debian's libbpf-tools come without it, and the Python one wants kernel headers.
heaptrack and DHAT start the program themselves and work inside it, so they need no probe, but cannot attach to a running program.
`alys-bpf doctor` says what a probe costs on your machine.
"""

NOTES = {
    "cost": """`pairs` is `malloc` and `free` of 64 bytes in turn, `gc_loop` is `GC_malloc` of 64 bytes; both in a call stack of 10
frames.""",
    "accuracy": """The programs count their own bytes by site. Errors are those of single sites; one without a sample is estimated as 0 and counts as
wrong by all of it. It has no interval either, so the last column is only of sites that were met. With few runs that column is coarse.

Rows with windows are recorded one at a time, two seconds each: 1 % of that is 20 ms of probes, so these programs, which mostly
allocate, are met by few windows, or none after the first 50 ms. Errors of longer runs are
smaller. The intervals of rows with windows are wider than their errors, because the price of a probe is not known exactly
where the program runs: a 1.000 there says little. A program whose own speed changes with probes is estimated wrong by as much. One did in an earlier version of
these tests: a loop through memory ran two or three times as fast or slow, by what the processor predicted of its loads.""",
    "server": """wrk asks a Crystal server, built with --release, which only fills templates: a hard case, for it does nothing but allocate.
Compare the processor time of a request: on a machine that others use, requests per second are noise.""",
    "daemon": "",
    "unwind": "",
    "beam": """The VM's schedulers do not spin (`+sbwt none`). The cheapest runs are compared: on a machine that others use, times differ by a tenth.""",
}


def kept(part):
    try:
        with open(kept_in(part)) as f:
            return [json.loads(line) for line in f]
    except FileNotFoundError:
        return []


def markdown(heads, rows):
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |\n" for cells in lines)


def section(part, tables):
    parts = [f"## {part.capitalize()}\n"] + ([NOTES[part] + "\n"] if NOTES[part] else [])
    for t in tables:
        parts.append(f"{t['title']}:\n\n{markdown(t['heads'], t['rows'])}\n{t['machine']}.\n")
    return "\n".join(parts)


def main(page):
    found = {part: kept(part) for part in PARTS}
    lacking = [part for part in NEEDED if not found[part]]
    if lacking:
        print(f"{page} stays as it is: it wants the tables of scripts/bench {' '.join(lacking)}")
        return
    with open(page, "w") as f:
        f.write("\n".join([HEAD, *(section(part, tables) for part, tables in found.items() if tables)]))
    print(f"{os.path.relpath(page)} is written")


main(sys.argv[1])
