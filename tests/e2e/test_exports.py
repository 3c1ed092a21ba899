# SPDX-License-Identifier: Apache-2.0
"""Each export format, read by the program it is for. The files are written by tests/unit/test_sink; no root needed."""

import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from browser_driver import BUILD, HERE, ROOT, drive, modules, need, run
from conftest import outputs

ALL = ["shop", "options", "empty", "hostile"]
DH_VIEW = Path("/usr/libexec/valgrind/dh_view.html")


@pytest.fixture(scope="module")
def sink():
    return outputs("test_sink")


# --- DHAT ------------------------------------------------------------------------------------------

DHAT_SCRIPT = """
await page.setInputFiles("input[type=file]", args.file);
await page.waitForFunction(() => /Total:|rror/.test(document.body.innerText));
const sorts = await page.$$eval("select option", (options) => options.map((o) => o.textContent));
return { text: await page.evaluate(() => document.body.innerText), sorts };
"""


@pytest.mark.parametrize("name", ALL)
def test_dh_view_opens_dhat(sink, tmp_path, name):
    if not DH_VIEW.exists():
        pytest.skip("valgrind's dh_view is not installed")
    seen = drive(tmp_path, f"file://{DH_VIEW}", DHAT_SCRIPT, file=str(sink / f"{name}.dhat.json"), foreign=True)
    text = seen["text"].replace("\xa0", " ")
    assert "Mode:" in text and "rror" not in text.replace("Parser#read", "")
    if name == "shop":
        assert "/usr/bin/shop [recorded by alys-bpf: hits 9 = recorded 7" in text
        assert re.search(r"Total:\s+5,320 bytes \(100%.*in 5 blocks", text)
        assert re.search(r"At t-gmax:\s+5,160 bytes \(100%.*in 3 blocks", text)
        assert re.search(r"At t-end:\s+4,224 bytes \(100%.*in 3 blocks", text)
        assert "Cart::checkout() (cart.cc:42)" in text


def test_dhat_counts_as_the_events_say(sink):
    data = json.loads((sink / "shop.dhat.json").read_text())
    frames = data["ftbl"]
    cart = next(p for p in data["pps"] if "Cart::add" in frames[p["fs"][0]])
    # 96 bytes became 4096 after a second, which lived until the end a second later.
    assert (cart["tb"], cart["tbk"], cart["tl"]) == (96 + 4096, 2, 1_000_000 + 1_000_000)
    assert (cart["mb"], cart["mbk"], cart["eb"], cart["ebk"]) == (4096, 1, 4096, 1)
    assert [frames[f].split(": ")[1].split(" (")[0] for f in cart["fs"]] == ["Cart::add(Item const&)", "Cart::checkout()", "main"]


SUMS = ("tb", "tbk", "gb", "gbk", "eb", "ebk")


def dhat_sums(path):
    return {key: sum(p[key] for p in json.loads(path.read_text())["pps"]) for key in SUMS}


@pytest.mark.bpf
@pytest.mark.parametrize("name, argv", [
    ("sqlite3", ["sqlite3", ":memory:", "create table t(a,b); insert into t values(1,2),(3,4); select a from t order by b;"]),
    ("xz", ["xz", "--keep", "--stdout", "--threads=1", "data"]),
])
def test_dhat_sums_are_those_of_dhat_itself(tmp_path, name, argv):
    need("valgrind", name)
    (tmp_path / "data").write_bytes(b"alys" * 100000)
    here = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "check": True, "timeout": 120}
    subprocess.run(["valgrind", "-q", "--tool=dhat", "--run-libc-freeres=no", "--dhat-out-file=theirs.json", *argv], **here)
    subprocess.run([BUILD / "alys-bpf", "-q", "-o", "ours.alys", "--", *argv], **here)
    run(BUILD / "alys-bpf", "convert", "-f", "dhat", "ours.alys", "ours.json", cwd=tmp_path)
    assert dhat_sums(tmp_path / "ours.json") == dhat_sums(tmp_path / "theirs.json")


# --- heaptrack -------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ALL)
def test_heaptrack_print_opens_heaptrack(sink, name):
    need("heaptrack_print")
    text = run("heaptrack_print", "-f", sink / f"{name}.heaptrack.zst")
    assert "total runtime" in text
    if name == "shop":
        assert "calls to allocation functions: 5 " in text
        assert "temporary memory allocations: 0 " in text
        assert "peak heap memory consumption: 5.16K" in text
        assert "total memory leaked: 4.22K" in text
        assert "total runtime: 2.50s" in text
    if name == "hostile":
        assert "\x1b" not in text


def test_heaptrack_folds_the_same_stacks(sink, tmp_path):
    need("heaptrack_print")
    out = tmp_path / "stacks"
    run("heaptrack_print", "-f", sink / "shop.heaptrack.zst", "-F", out, "--flamegraph-cost-type", "leaked")
    lines = dict(line.rsplit(" ", 1) for line in out.read_text().splitlines())
    assert sum(int(v) for v in lines.values()) == 4224
    # This view of heaptrack lists inlined functions before their callers.
    stack = next(stack for stack, value in lines.items() if value == "4096")
    assert [re.sub(r" \(\S+\)$", "", f) for f in stack.split(";")[:3]] == ["main", "Cart::add(Item const&)", "Cart::checkout()"]


def test_heaptrack_gui_opens_heaptrack(sink, tmp_path):
    """Its window is read through the accessibility bus; a new one is started if the bus did not come up."""
    need("heaptrack_gui", "dbus-run-session", "xvfb-run")
    if subprocess.run(["/usr/bin/python3", "-c", "import gi; gi.require_version('Atspi', '2.0')"], capture_output=True).returncode:
        pytest.skip("gir1.2-atspi-2.0 is not installed")

    wanted = ("frame: Heaptrack - shop.heaptrack.zst", "debuggee:\n/usr/bin/shop\ntotal runtime:\n02.501s",
              "calls to allocation functions:\n5 (1/s)\ntemporary allocations:\n0 ", "total memory leaked:\n4.2kB",
              "peak heap memory consumption:\n5.2kB after 01.000s",
              "table cell: Cart::add(Item const&) in shop\ntable cell: 4.1kB")
    for _ in range(5):
        text = run("dbus-run-session", "--", "xvfb-run", "-a", "/usr/bin/python3", HERE.parent / "read_gui.py",
                   *map(re.escape, wanted), "--", "heaptrack_gui", sink / "shop.heaptrack.zst", env={**os.environ, "HOME": str(tmp_path)})
        missing = [words for words in wanted if words not in text]
        if not missing:
            break
    assert missing == [], text


# --- massif ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["fleet", *ALL])
def test_ms_print_opens_massif(sink, name):
    need("ms_print")
    done = subprocess.run(["ms_print", sink / f"{name}.massif"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and done.stderr == ""
    if name == "shop":
        assert "Command:            /usr/bin/shop" in done.stdout
        assert re.search(r"Detailed snapshots: \[\d+ \(peak\), \d+\]", done.stdout)
        assert re.search(r"^ *\d+ +1,000 +5,160 +5,160", done.stdout, re.M)
        assert "->79.38% (4,096B) 0x555500001300: Cart::add(Item const&) (cart.h:17)" in done.stdout
    if name == "fleet":
        assert "estimated from samples, one per 4096 bytes" in done.stdout


# --- json ------------------------------------------------------------------------------------------

def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_json_keeps_its_schema(sink, tmp_path):
    schema = ROOT / "user/output/sink/json.schema.json"
    names = [f"{n}.{ext}" for n in ["fleet", *ALL, "shop-once", "fleet-once"] for ext in ("json", "jsonl")]
    run("node", ROOT / "tests/e2e/browser/schema.mjs", modules(), schema, *(sink / n for n in names))
    # The check itself must be able to fail.
    for spoiled in ({"kind": "alloc"}, {"kind": "stack", "id": 1}, {**lines_of(sink / "shop.jsonl")[0], "prev_addr": 1}):
        bad = tmp_path / "bad.jsonl"
        bad.write_text(json.dumps(spoiled) + "\n")
        assert subprocess.run(["node", ROOT / "tests/e2e/browser/schema.mjs", modules(), schema, bad], capture_output=True).returncode == 1


@pytest.mark.parametrize("name", ["shop", "fleet"])
def test_json_shapes_say_the_same(sink, name):
    """json, jsonl, and both with --stacks once, hold the same events."""
    whole = json.loads((sink / f"{name}.json").read_text())
    assert lines_of(sink / f"{name}.jsonl") == whole
    once = json.loads((sink / f"{name}-once.json").read_text())
    frames = {row["id"]: row["frames"] for row in once["stacks"]}
    assert len(frames) == len(once["stacks"]) and frames[0] == []
    assert [{**e, "stack": frames[e["stack"]]} for e in once["events"]] == whole
    known, events = {}, []
    for row in lines_of(sink / f"{name}-once.jsonl"):
        if row["kind"] == "stack":
            assert known.setdefault(row["id"], row["frames"]) is row["frames"], "each once"
        else:
            events.append({**row, "stack": known[row["stack"]]})
    assert events == whole


# --- speedscope ------------------------------------------------------------------------------------

def test_speedscope_keeps_its_schema(sink):
    run("node", ROOT / "tests/e2e/browser/schema.mjs", modules(), "speedscope/dist/release/file-format-schema.json", *(sink / f"{n}.speedscope.json" for n in ["fleet", *ALL]))
    data = json.loads((sink / "shop.speedscope.json").read_text())
    assert [p["endValue"] for p in data["profiles"]] == [5, 5320, 3, 4224]
    assert data["profiles"][data["activeProfileIndex"]]["name"] == "Bytes in use"
    for profile in data["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"]) and sum(profile["weights"]) == profile["endValue"]


def test_speedscope_opens_it(sink, tmp_path):
    """speedscope's page opens it from a script in the same folder, without a server, as its command line does."""
    index = modules() / "speedscope" / "dist" / "release" / "index.html"
    local = tmp_path / "profile.js"
    text = base64.b64encode((sink / "shop.speedscope.json").read_bytes()).decode()
    local.write_text(f'speedscope.loadFileFromBase64("shop.speedscope.json", "{text}")')
    script = """
    await page.waitForFunction(() => /Bytes in use/.test(document.title + document.body.innerText));
    return page.evaluate(() => document.title + "\\n" + document.body.innerText);
    """
    text = drive(tmp_path, f"file://{index}#localProfilePath={local}", script, foreign=True)
    assert "Bytes in use" in text


# --- callgrind, through pprof ----------------------------------------------------------------------

def test_callgrind_annotate_reads_what_pprof_makes(sink, tmp_path):
    need("go", "callgrind_annotate")
    out = tmp_path / "callgrind.out"
    run("go", "tool", "pprof", "-callgrind", "-sample_index=alloc_space", f"-output={out}", sink / "shop.pb.gz",
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PPROF_TMPDIR": str(tmp_path)})
    text = run("callgrind_annotate", out)
    assert re.search(r"4,192 \(78\.80%\) .*Cart::add", text) or re.search(r"4,192 .*Cart::add", text)


# --- what cannot be said ---------------------------------------------------------------------------

@pytest.mark.parametrize("fmt", ["dhat", "heaptrack"])
def test_sampled_traces_are_refused_in_one_sentence(tmp_path, fmt):
    trace = tmp_path / "sampled.alys"
    shutil.copy(ROOT / "tests/golden/v1.alys", trace)
    done = subprocess.run([BUILD / "alys-bpf", "convert", "-f", fmt, trace], capture_output=True, text=True, timeout=240)
    assert done.returncode == 1
    assert f"a {fmt} file lists every single allocation, but this trace contains samples" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sampled.alys"]
