# SPDX-License-Identifier: Apache-2.0
"""
Writes docs/overhead.md from the tables saved by parts of scripts/bench: `overhead.py PAGE PART...`. Others keep the section that
they have.
"""
import json
import os
import re
import sys

from harness import kept_in

PARTS = ["cost", "accuracy", "windows", "site", "server", "daemon", "unwind", "beam"]

HEAD = """# Overhead

What recording costs a program, and how true the estimates are: written by `make bench`, from runs on the machine that stands with each
table, for parts of it may have run elsewhere. Compare ratios, not times. What a probe costs differs tenfold between machines, most where a hypervisor has to do with it: ratios of
different machines are different questions. A load above the number of CPUs says that others used the machine meanwhile: such figures are rough.
Each cost is the median of interleaved repetitions: traced, untraced and with empty probes, in turn. A "floor" is what empty probes cost at the entry and the return of `malloc` and
at the entry of `free`, or at the entry of `GC_malloc`; at a server, on the same places. Who sees a call of `malloc` whole at one instruction, as alys-bpf mostly
does, needs one probe less.
The "least recorder" stands for any tracer of calls that uses probes: it reads one word and 512 bytes of stack, and the clock, and sends a
record to another process, which drops it. It looks at nothing of that: no walk, no pairing. What is between
it and a row of ours is the price of ours.

Recording everything is for seconds, and `--sample` for all day. A sampled `malloc` still passes a probe. A program with libgc does so only
where a free list is refilled. With `--max-overhead` both do so only for windows of time, while `free` stays probed: see [sampling](sampling.md).

    make bench                                # all of it: two and a half hours
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

Rows with windows are recorded one at a time, four seconds each, with 3 %: these programs do little but allocate, and with 1 % some
would be met by no window after the first 50 ms. Errors of longer runs are smaller. The program's CPU time says what windows stand for; a program whose own speed
changes with probes is estimated wrong by as much. One did in an earlier version of
these tests: a loop through memory ran two or three times as fast or slow, by what the processor predicted of its loads.""",
    "windows": """A collector counts what it has allocated, and by that windows are corrected. Always-on sampling at the same rate stands beside it. At 4k it
meets each refill of a free list, and a window cannot meet it more than once; at 512k a window samples as much more often as it is shorter.
The counter is read every 50 ms and at windows. What a program allocates after the last reading is estimated by the CPU time that it used after that.
The stated intervals are never narrower than those of as many independent samples, because few windows say little about how much they differ. These programs
are more regular than that: a 1.000 here says so.""",
    "server": """wrk asks a Crystal server, built with --release, which only fills templates: a hard case, for it does nothing but allocate.
Compare the processor time of a request: on a machine that others use, requests per second are noise.""",
    "site": """wget crawls a web site written in Crystal, whose server allocates 60 MB meanwhile. All calls are recorded, except in the row that
samples. Stacks are of addresses, of names, or of names and lines, with so many frames. Alys, which is built into the program, was measured by its author, on
another site and another machine.""",
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


def sections_of(page):
    """{part: its section} of the page as it is."""
    try:
        with open(page) as f:
            found = re.split(r"^(?=## )", f.read(), flags=re.MULTILINE)[1:]
    except FileNotFoundError:
        found = []
    return {text.split("\n")[0][3:].lower(): text.rstrip("\n") + "\n" for text in found}


def main(page, *parts):
    ran = {part: section(part, tables) for part in PARTS if part in parts and (tables := kept(part))}
    sections = sections_of(page) | ran
    with open(page, "w") as f:
        f.write("\n".join([HEAD, *(sections[part] for part in PARTS if part in sections)]))
    print(f"{os.path.relpath(page)} is written: {', '.join(ran) or 'nothing'} anew")


main(*sys.argv[1:])
