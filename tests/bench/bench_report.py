# SPDX-License-Identifier: Apache-2.0
"""Reports on a large trace: time, memory and size, compared with heaptrack_print on the same events; time until an HTML page
is displayed; and time from the end of a recording to its finished file."""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import chart
import harness
from harness import ALYS, OUT, QUICK, Recording, table, verdict
from server import Server
from tracers import missing

sys.path[:0] = [os.path.join(harness.ROOT, "tests", folder) for folder in ("", "lib", "e2e")]
import browser_driver  # noqa: E402

WANTED = 10e6
SECONDS = 5 if QUICK else 30

# Python's own pools would hide most allocations from both.
WORK = "import json; x = [json.loads(json.dumps({str(i): [i, str(i)]})) for i in range(%d)]" % (20000 if QUICK else 200000)


def timed(*argv, stdout=subprocess.DEVNULL):
    """Seconds and peak memory in MB of one command."""
    start = time.monotonic()
    process = subprocess.Popen(argv, stdout=stdout, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return time.monotonic() - start, usage.ru_maxrss / 1024, status == 0


def record():
    server = Server()
    try:
        server.load(1)
        recording = Recording(server.pid, "--ring", "128M", output="report.alys")
        server.load(SECONDS)
        start = time.monotonic()
        recording.stop()
        return recording, time.monotonic() - start
    finally:
        server.close()


def commands(path):
    out = os.path.join(OUT, "report.out")
    convert = [ALYS, "convert", "-q"]
    return {
        "report": ([ALYS, "report", path], None),
        "convert -f pprof": ([*convert, "-f", "pprof", path, out + ".pb.gz"], out + ".pb.gz"),
        "report --html": ([ALYS, "report", "--html", out + ".html", path], out + ".html"),
        "convert -f heaptrack": ([*convert, "-f", "heaptrack", path, out + ".zst"], out + ".zst"),
        "heaptrack_print of that": (["heaptrack_print", out + ".zst"], None),
    }


def ask(path):
    """name: (seconds, MB of memory, bytes written)"""
    answers = {}
    missing("heaptrack_print")
    for name, (argv, out) in commands(path).items():
        if out and os.path.exists(out):
            os.unlink(out)
        try:
            seconds, memory, right = timed(*argv)
        except FileNotFoundError:
            continue
        size = os.path.getsize(out) if out and os.path.exists(out) else None
        if right:
            answers[name] = (seconds, memory, size)
    answers["convert -f json, counted"] = count_json(path)
    return answers


def count_json(path):
    """Writes to a program that only counts bytes: writing to a disk would dominate the measurement."""
    reader = subprocess.Popen(["wc", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    seconds, memory, _ = timed(ALYS, "convert", "-q", "-f", "json", path, "-", stdout=reader.stdin)
    return seconds, memory, int(reader.communicate()[0])


def on_screen():
    """Seconds from navigation until the page is completely drawn, in Chromium."""
    if missing("chromium"):
        return None
    with tempfile.TemporaryDirectory() as profile:
        return browser_driver.drive(Path(profile), f"file://{OUT}/report.out.html", """
            await page.waitForFunction(() => document.documentElement.dataset.shown);
            return performance.now() - begun;""") / 1e3


def judge(answers, scale, stop):
    remark = ", scaled" if scale > 1 else ""
    for name, limit in (("report", 4), ("convert -f pprof", 4)):
        if name in answers:
            seconds = answers[name][0] * scale
            verdict(f"{name} of 10 M events{remark}", f"at most {limit} s", f"{seconds:.1f} s", seconds <= limit)
    if "report" in answers:
        verdict("memory of report", "at most 300 MB", f"{answers['report'][1]:.0f} MB", answers["report"][1] <= 300)
    seconds, _, size = answers["convert -f json, counted"]
    verdict("JSON", "at least 250 MB/s", f"{size / seconds / 1e6:.0f} MB/s", size / seconds >= 250e6)
    if "report --html" in answers:
        size = answers["report --html"][2] / 1e6
        verdict("HTML report", "at most 5 MB", f"{size:.2f} MB", size <= 5)
        shown = on_screen()
        if shown is not None:
            verdict("HTML report on screen in Chromium", "at most 2 s", f"{shown:.2f} s", shown <= 2)
    verdict("end of recording to finished file, full", "at most 2 s", f"{stop:.1f} s", stop <= 2)


def heaptrack():
    """Records the same program with both tools; returns the time until each has printed its report."""
    if missing("heaptrack"):
        return
    theirs, ours = os.path.join(OUT, "work"), os.path.join(OUT, "work.alys")
    env = ["env", "PYTHONMALLOC=malloc"]
    under = timed(*env, "heaptrack", "-o", theirs, sys.executable, "-c", WORK)[0]
    traced = timed(*env, ALYS, "-q", "--force", "-o", ours, "--", sys.executable, "-c", WORK)[0]
    alone = timed(*env, sys.executable, "-c", WORK)[0]
    printed = timed("heaptrack_print", theirs + ".zst")
    reported = timed(ALYS, "report", ours)
    table("Python with PYTHONMALLOC=malloc, traced from its first allocation, then asked",
          ["", "run s", "over untraced", "file MB", "answer s", "answer MB"],
          [["untraced", f"{alone:.2f}", "1.00x", "-", "-", "-"],
           ["alys-bpf, report", f"{traced:.2f}", f"{traced / alone:.1f}x", f"{os.path.getsize(ours) / 1e6:.1f}",
            f"{reported[0]:.2f}", f"{reported[1]:.0f}"],
           ["heaptrack, heaptrack_print", f"{under:.2f}", f"{under / alone:.1f}x",
            f"{os.path.getsize(theirs + '.zst') / 1e6:.1f}", f"{printed[0]:.2f}", f"{printed[1]:.0f}"]])


def main():
    os.makedirs(OUT, exist_ok=True)
    recording, stop = record()
    events = max(recording.counts["recorded"], 1)
    answers = ask(recording.path)
    table(f"Answers from {events / 1e6:.1f} M events of the Crystal server ({recording.bytes / 1e6:.0f} MB, "
          f"{recording.counts['lost']} lost)", ["", "seconds", "peak MB", "written MB", "M events/s"],
          [[name, f"{s:.2f}", f"{memory:.0f}", f"{size / 1e6:.1f}" if size else "-", f"{events / s / 1e6:.2f}"]
           for name, (s, memory, size) in answers.items()])
    chart.bars("report", f"Seconds for an answer from {events / 1e6:.1f} M events",
               [(name if name.startswith("heap") else f"alys-bpf {name}", s) for name, (s, _, _) in answers.items()], "s")
    heaptrack()
    # Results for fewer than WANTED events are scaled up; those for more are not scaled down.
    judge(answers, max(1, WANTED / events), stop)


main()
