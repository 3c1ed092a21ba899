"""Names for addresses: the same ones to us, llvm-symbolizer and eu-addr2line; and the worker's peak memory."""
import os
import re
import shutil
import subprocess
import sys
import time

import harness

SYMDUMP = os.path.join(harness.BUILD, "tests", "symdump")
LLVM = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
EU = shutil.which("eu-addr2line")
OBJDUMP = shutil.which("objdump")
REPETITIONS = harness.REPETITIONS
SHARE = 10 if harness.QUICK else 1


def addresses(path, most):
    """Of instructions, spread evenly over the whole file."""
    text = subprocess.run([OBJDUMP, "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ +([0-9a-f]+):", text, re.M)
    step = max(1.0, len(found) / most)
    return [found[int(i * step)] for i in range(min(most, len(found)))]


def timed(argv, text):
    start = time.monotonic()
    done = subprocess.run(argv, input=text, capture_output=True, text=True, errors="replace")
    return time.monotonic() - start, done


def our_answers(path, found):
    argv, text = [SYMDUMP, path], "\n".join(found)
    seconds, done = timed(argv, text)
    sys.stdout.flush()
    memory = int(re.search(r"worker (\d+) kB", done.stderr)[1])
    exact = len({line.split()[0] for line in done.stdout.splitlines() if line.split()[1] == "3"})
    return seconds, memory / 1024, exact


def judge(name, medians, memory, verdicts):
    if name.startswith("Crystal"):
        for tool, called in (("llvm", "llvm-symbolizer"), ("eu", "eu-addr2line")):
            if tool in medians:
                times = medians[tool] / medians["ours"]
                verdicts.append((f"{name}: names against {called}", "at least 2x faster", f"{times:.1f}x", times >= 2))
    else:
        seconds = medians["ours"] * SHARE
        verdicts.append((f"{name}: names of 10,000 addresses", "at most 1 s", f"{seconds:.2f} s", seconds <= 1))
    verdicts.append((f"{name}: memory of the worker", "at most 300 MB", f"{memory:.0f} MB", memory <= 300))


def main():
    subprocess.run(["make", "-s", SYMDUMP.replace(harness.ROOT + "/", ""), "build/demo/server.debug"],
                   cwd=harness.ROOT, check=True)
    files = [("Crystal server, debug", os.path.join(harness.BUILD, "demo", "server.debug"), 100000 // SHARE),
             ("Crystal server, --release", os.path.join(harness.BUILD, "demo", "server"), 100000 // SHARE),
             ("libLLVM-14 (no DWARF)", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", 10000 // SHARE),
             ("node", shutil.which("node"), 10000 // SHARE)]
    rows, verdicts = [], []
    for name, path, most in files:
        if not path or not os.path.exists(path):
            continue
        found = addresses(os.path.realpath(path), most)
        text = "".join(f"0x{a}\n" for a in found)
        facts = {}

        def ours():
            seconds, facts["memory"], facts["exact"] = our_answers(path, found)
            return seconds

        def eu():
            seconds, done = timed([EU, "-i", "-f", "-C", "-e", path], text)
            facts["eu"] = sum(1 for line in done.stdout.splitlines()[1::2] if not line.startswith("??"))
            return seconds

        cases = {"ours": ours}
        if LLVM:
            cases["llvm"] = lambda: timed([LLVM, f"--obj={path}", "--inlines"], text)[0]
        medians = harness.interleave(cases, REPETITIONS)
        if EU:
            # Once: it is slower by so much that its moods do not matter.
            medians["eu"] = eu()

        def against(tool, remark=""):
            return f"{medians[tool]:.2f} ({medians[tool] / medians['ours']:.1f}x){remark}" if tool in medians else "-"

        # Without .debug_aranges, as in Crystal's and clang's programs, it finds no lines at all.
        nothing = " *" if facts.get("eu", 0) < len(found) / 100 and facts["exact"] else ""
        rows.append((name, len(found), facts["exact"], f"{medians['ours']:.2f}", against("llvm"),
                     against("eu", nothing), f"{facts['memory']:.0f}"))
        judge(name, medians, facts["memory"], verdicts)
    harness.table(f"Names, files, lines, inlined calls of addresses: seconds, median of {REPETITIONS} (ratio to ours)",
                  ["file", "addresses", "with line", "alys-bpf", "llvm-symbolizer-14", "eu-addr2line", "worker MB"], rows)
    print("  * eu-addr2line finds hardly any line there: the file has no .debug_aranges, which it goes by")
    for v in verdicts:
        harness.verdict(*v)


main()
