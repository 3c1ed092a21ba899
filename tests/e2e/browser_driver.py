# SPDX-License-Identifier: Apache-2.0
"""For tests of HTML pages: Chromium, driven by npm packages."""

import functools
import json
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, alone

HERE = ROOT / "tests" / "e2e" / "browser"
CHROMIUM = shutil.which("chromium")
NODE = BUILD / "tests" / "node"


def run(*args, **kwargs):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=600, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


@functools.cache
def modules():
    need("node", "npm")
    with alone():
        lock = (HERE / "package-lock.json").read_text()
        mark = NODE / "node_modules" / ".installed"
        if not mark.exists() or mark.read_text() != lock:
            NODE.mkdir(parents=True, exist_ok=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, NODE / name)
            run("npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", cwd=NODE)
            mark.write_text(lock)
    return NODE / "node_modules"


def drive(tmp_path, url, script, **args):
    """Returns the script's result. Fails if a page of ours logs an error or requests another file."""
    need("chromium")
    answer = json.loads(run("node", HERE / "drive.mjs", modules(), tmp_path / "profile", url,
                            json.dumps({"chromium": CHROMIUM, **args}), input=script))
    if not args.get("foreign"):
        assert not answer["complaints"], answer["complaints"]
        assert not answer["asked"], answer["asked"]
    return answer["result"]


READY = "await page.waitForFunction(() => document.documentElement.dataset.shown);\n"
# Waits a frame: the page draws once per frame.
HELPERS = """
const settle = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const text = (at) => page.locator(at).innerText();
const column = (n) => page.$$eval(`#table tbody tr:not(.more) td:nth-child(${n})`, (cells) => cells.map((c) => c.innerText));
const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
const drag = async (from, to) => {
    const box = await page.locator("#timeline .overlay").boundingBox();
    await page.mouse.move(box.x + box.width * from, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * (from + to) / 2, box.y + 50);
    await page.mouse.move(box.x + box.width * to, box.y + 50);
    await page.mouse.up();
    await settle();
};
"""


def on(pages, tmp_path, name, script, **args):
    """Drives one of the pages of test_sink_exports_html."""
    return drive(tmp_path, f"file://{pages}/{name}.html", READY + HELPERS + script, **args)
