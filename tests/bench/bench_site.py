# SPDX-License-Identifier: Apache-2.0
"""(c) A Crystal web site, crawled completely with wget: duration with each kind of tracing."""
import hashlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request

import chart
import harness
from harness import QUICK, REPETITIONS, Recording, program, table, verdict
from tracers import Floor

UNTRACED, SAMPLED, NONE, FULL = "untraced", "sampled 512k", "none", "full unlimited"
FLOOR, LEAST = "floor: empty probes", "least recorder"
FRAMES = ("5", "10", "unlimited")
# Seconds of a whole crawl, as published by Alys for another site on another machine.
ALYS = {
    "debug": {UNTRACED: 1.2, NONE: 2.7, "addr 5": 7, "addr 10": 10, "addr unlimited": 23, "name 5": 9, "name 10": 14,
              "name unlimited": 33, "full 5": 68, "full 10": 205, FULL: 527},
    "release": {UNTRACED: 0.9, NONE: 2.2, "addr 5": 34, "addr 10": 76, "addr unlimited": 81, "name 5": 36,
                "name 10": 78, "name unlimited": 85, "full 5": 484, "full 10": None, FULL: None},
}


def recording(*options):
    return lambda pid: Recording(pid, *options, output="site.alys")


def cases():
    """{row: what attaches its tracer to a process}"""
    rows = {UNTRACED: None, FLOOR: Floor, LEAST: lambda pid: Floor(pid, "least-stacks"),
            SAMPLED: recording("--sample", "bytes:512k"), NONE: recording("-b", "none")}
    for depth in ("addr", "name", "full"):
        for n in FRAMES:
            limit = () if n == "unlimited" else ("--backtrace-limit", n)
            rows[f"{depth} {n}"] = recording("-b", depth, *limit)
    return rows


class Site:
    def __init__(self, build):
        self.process = subprocess.Popen([program(f"site.{build}"), "0"], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.url = "http://" + self.process.stdout.readline().split()[-1]

    def allocated(self):
        return int(urllib.request.urlopen(self.url + "/bytes").read())

    def close(self):
        self.process.kill()
        self.process.wait()


def checksum(folder):
    """Checksum of all pages, independent of the port, and their number."""
    pages = sorted(os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)
    total = hashlib.sha256()
    for page in pages:
        with open(page, "rb") as f:
            total.update(os.path.basename(page).encode() + f.read())
    return total.hexdigest(), len(pages)


def crawl(url):
    folder = tempfile.mkdtemp(prefix="alys-crawl-")
    try:
        start = time.monotonic()
        # Status 8: the site has no robots.txt.
        subprocess.run(["wget", "--recursive", "--max-redirect", "0", "-q", url], cwd=folder, check=False)
        return time.monotonic() - start, checksum(folder)
    finally:
        shutil.rmtree(folder)


class Run:
    """One build of the site: crawls it with each row's tracer and keeps the outputs."""

    def __init__(self, build):
        self.build = build
        self.answers = set()
        self.facts = {}

    def seconds(self, row, attach):
        site = Site(self.build)
        try:
            # The first crawl warms the page cache, the heap and its free lists.
            before = site.allocated()
            self.answers.add(crawl(site.url)[1])
            self.bytes = site.allocated() - before
            tracer = attach(site.pid) if attach else None
            took, answers = crawl(site.url)
            self.answers.add(answers)
            if tracer:
                tracer.stop()
            if isinstance(tracer, Recording):
                self.facts.setdefault(row, []).append(
                    (tracer.counts["recorded"], tracer.counts["lost"], tracer.bytes, tracer.cpu, tracer.peak_mb))
            return took
        finally:
            site.close()

    def fact(self, row, n):
        return statistics.median(f[n] for f in self.facts[row]) if row in self.facts else None


def seconds(value):
    return "-" if value is None else f"{value:.2f}"


def measure(build):
    run, rows = Run(build), cases()
    once = {row: (lambda row=row, attach=attach: run.seconds(row, attach)) for row, attach in rows.items()}
    wanted = {row: once[row] for row in (UNTRACED, FLOOR, LEAST, SAMPLED, NONE, FULL)}
    took = harness.interleave(wanted, REPETITIONS)
    rest = {row: once[row] for row in rows if row not in wanted}
    took.update(harness.interleave(rest, 1 if QUICK else 3))
    return run, {row: took[row] for row in rows}


def show(run, took):
    published, lines = ALYS[run.build], []
    for row, value in took.items():
        theirs = published.get(row)
        then = f"{theirs / published[UNTRACED]:.1f}x" if theirs else "time-out" if row in published else "-"
        events, size = run.fact(row, 0), run.fact(row, 2)
        lines.append([row, seconds(value), f"{value / took[UNTRACED]:.2f}x", then] +
                     ([f"{events:.0f}", f"{run.fact(row, 1):.0f}", f"{size / max(events, 1):.1f}",
                       seconds(run.fact(row, 3)), f"{run.fact(row, 4):.0f}"] if events is not None else ["-"] * 5))
    _, pages = next(iter(run.answers))
    table(f"(c) crawl of {pages} pages, Crystal {run.build} build, {run.bytes / pages / 1000:.0f} KB allocated a page, "
          f"{'all answers alike' if len(run.answers) == 1 else 'ANSWERS DIFFER'}",
          ["stacks", "seconds", "over untraced", "Alys (published)", "events", "lost", "bytes/event", "tracer CPU s",
           "peak MB"], lines)
    chart.bars(f"site-{run.build}", f"Crawl of a Crystal site, {run.build}, seconds",
               [(row if row == UNTRACED else f"alys-bpf {row}", value) for row, value in took.items()], "s")


def main():
    factors = {}
    for build in ("debug", "release"):
        run, took = measure(build)
        show(run, took)
        factors[build] = {row: value / took[UNTRACED] for row, value in took.items()}
    for build, limit in (("release", 3.0), ("debug", 2.0)):
        verdict(f"(c) crawl, {build}, exact, full, unlimited", f"at most {limit:.0f}x", f"{factors[build][FULL]:.2f}x",
                factors[build][FULL] <= limit)
        verdict(f"(c) crawl, {build}, sampled 512k", "at most 1.05x", f"{factors[build][SAMPLED]:.2f}x",
                factors[build][SAMPLED] <= 1.05)


main()
