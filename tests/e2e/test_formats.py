# SPDX-License-Identifier: Apache-2.0
"""Output formats, read by the programs they are for.

tests/unit/test_sink writes them beside itself; nothing here needs root or a kernel.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import conftest
import protobuf_text

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD", ROOT / "build")).resolve()
SINK = BUILD / "tests" / "sink"
NAMES = ["shop", "fleet", "options", "empty", "hostile"]
SVG = "{http://www.w3.org/2000/svg}"


def run(*args, **kwargs):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, timeout=120, **kwargs).stdout


def need(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module", autouse=True)
def outputs():
    conftest.outputs("test_sink")


def decode(name):
    need("protoc")
    return protobuf_text.decode("pprof.proto", "perftools.profiles.Profile", gzip.decompress((SINK / f"{name}.pb.gz").read_bytes()))


def one(message, field):
    return message.get(field, [0])[0]


@pytest.mark.parametrize("name", NAMES)
def test_pprof_keeps_the_rules_of_its_readers(name):
    profile = decode(name)
    strings = profile["string_table"]
    assert strings[0] == "" and len(set(strings)) == len(strings)
    types = [(strings[one(t, "type")], strings[one(t, "unit")]) for t in profile["sample_type"]]
    assert types == [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                     ("inuse_space", "bytes")]
    assert strings[one(profile, "default_sample_type")] == "inuse_space"
    period = profile["period_type"][0]
    assert (strings[one(period, "type")], strings[one(period, "unit")]) == ("space", "bytes")
    for kind in ("mapping", "location", "function"):
        ids = [one(m, "id") for m in profile.get(kind, [])]
        assert ids == list(range(1, len(ids) + 1))
    for sample in profile.get("sample", []):
        assert len(sample["value"]) == 4
        assert all(1 <= i <= len(profile["location"]) for i in sample["location_id"])
        labels = sample.get("label", [])
        keys = [strings[one(label, "key")] for label in labels]
        assert "" not in keys and len(set(keys)) == len(keys)
        assert all(("num" if key == "pid" else "str") in label and len(label) == 2 for key, label in zip(keys, labels))
    for location in profile.get("location", []):
        assert one(location, "mapping_id") <= len(profile.get("mapping", []))


def test_pprof_tells_processes_apart_only_when_there_are_several():
    assert not any("label" in s for s in decode("shop")["sample"])
    assert {one(s["label"][0], "num") for s in decode("fleet")["sample"]} == {50, 51}


def test_pprof_first_mapping_is_the_program():
    profile = decode("shop")
    main = profile["mapping"][0]
    assert profile["string_table"][one(main, "filename")] == "/usr/bin/shop"
    assert profile["string_table"][one(main, "build_id")] == "101112131415161718191a1b1c1d1e1f20212223"


def test_pprof_lines_run_from_inlined_to_physical():
    profile = decode("shop")
    names = [profile["string_table"][one(f, "name")] for f in profile["function"]]
    both = next(l for l in profile["location"] if len(l["line"]) == 2)
    assert [names[one(l, "function_id") - 1] for l in both["line"]] == ["Cart::add(Item const&)", "Cart::checkout()"]
    assert [(one(l, "line"), one(l, "column")) for l in both["line"]] == [(17, 9), (42, 3)]
    assert one(both, "address") == 0x555500000000 + 0x1300


@pytest.mark.parametrize("name", NAMES)
def test_go_tool_pprof_reads_it(name, tmp_path):
    need("go")
    env = dict(os.environ, HOME=str(tmp_path), PPROF_TMPDIR=str(tmp_path))
    for view in ("-top", "-raw", "-traces", "-comments"):
        done = subprocess.run(["go", "tool", "pprof", view, str(SINK / f"{name}.pb.gz")], env=env,
                              capture_output=True, timeout=120, check=True)
        assert not any(c < 0x20 and c not in (9, 10) for c in done.stdout)
        assert b"Local symbolization failed" not in done.stderr


def test_go_tool_pprof_numbers(tmp_path):
    need("go")
    env = dict(os.environ, HOME=str(tmp_path))
    top = run("go", "tool", "pprof", "-top", "-unit=B", "-sample_index=alloc_space", SINK / "shop.pb.gz", env=env).decode()
    assert re.search(r"4192B .* Cart::add \(inline\)", top)
    assert re.search(r"0 +0% +100% +5256B .* main", top)
    comments = run("go", "tool", "pprof", "-comments", SINK / "fleet.pb.gz", env=env).decode()
    assert "lost 12 (ring-full 12)" in comments
    assert "in-use is an upper bound: 12 frees were lost" in comments
    assert "standard error of the total of live bytes 5.5 KiB (0.5 %), of allocated bytes 5.5 KiB" in comments


@pytest.mark.parametrize("name", NAMES)
def test_json_is_an_array_for_jq(name):
    need("jq")
    events = json.loads((SINK / f"{name}.json").read_bytes())
    assert int(run("jq", "length", SINK / f"{name}.json")) == len(events)
    for e in events:
        assert {"id", "time", "kind", "addr", "size", "tgid", "tid", "stack"} <= e.keys()
        assert e["kind"] in ("alloc", "realloc", "free")
        assert ("prev_addr" in e) == (e["kind"] == "realloc")
        assert all("ip" in f for f in e["stack"])


def test_json_says_what_the_events_said():
    events = json.loads((SINK / "shop.json").read_bytes())
    assert events[0]["time"] == 1.000000001 and events[0]["addr"] == 0x20000000000010
    assert events[1]["atomic"] is True and events[1]["gc_no"] == 3
    assert (events[2]["id"], events[2]["prev_addr"], events[2]["prev_size"]) == (1, 0x20000000000010, 96)
    assert (events[4]["kind"], events[4]["cause"], events[4]["size"]) == ("free", "gc", 1000)
    assert events[0]["stack"][0]["inlined"] is True
    fleet = json.loads((SINK / "fleet.json").read_bytes())
    assert [round(e["weight"], 3) for e in fleet] == [1.582, 41.462, 1.0]


@pytest.mark.parametrize("name", NAMES)
def test_folded_lines_end_in_a_value(name):
    last = None
    for line in (SINK / f"{name}.folded").read_text().splitlines():
        stack, value = line.rsplit(" ", 1)
        assert stack and int(value) > 0
        assert last is None or int(value) <= last
        last = int(value)


@pytest.mark.parametrize("name", NAMES)
def test_svg_is_well_formed(name):
    need("xmllint")
    run("xmllint", "--noout", SINK / f"{name}.svg")
    root = ET.parse(SINK / f"{name}.svg").getroot()
    boxes = [tuple(map(int, g.get("data-f").split())) for g in root.iter(f"{SVG}g") if g.get("class") == "f"]
    assert boxes[0][0] == 0 and boxes == sorted(boxes, key=lambda b: (b[0], b[2]))
    assert len(list(root.iter(f"{SVG}script"))) == 1


def browse(path, fragment="", script="", tmp_path=None):
    """The page's DOM after its script and then ours ran."""
    need("chromium")
    if script:
        text = path.read_text().replace("</svg>\n", f"<script><![CDATA[{script}]]></script></svg>\n")
        path = tmp_path / path.name
        path.write_text(text)
    dom = run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,700",
              "--virtual-time-budget=3000", f"--user-data-dir={tmp_path}/profile", "--dump-dom",
              f"file://{path}{fragment}").decode()
    return ET.fromstring(dom[dom.index("<svg"):dom.rindex("</svg>") + len("</svg>")])


def frames(root):
    """name -> (classes, hidden, width) of every frame."""
    out = {}
    for g in root.iter(f"{SVG}g"):
        if "f" in (g.get("class") or "").split():
            name = g.find(f"{SVG}title").text.split("\n")[0]
            out[name] = (set(g.get("class").split()), "none" in (g.get("style") or ""),
                         float(g.find(f"{SVG}rect").get("width")))
    return out


def by_id(root, name):
    return next(e for e in root.iter() if e.get("id") == name)


def test_svg_search_from_the_address(tmp_path):
    root = browse(SINK / "shop.svg", "#s=cart%3A%3A(add%7Ccheckout)", tmp_path=tmp_path)
    hits = {name for name, (classes, _, _) in frames(root).items() if "hit" in classes}
    assert hits == {"Cart::add(Item const&)", "Cart::checkout()"}
    # One frame lies within the other, so the share counts both once.
    assert by_id(root, "matched").text == f"matched {100 * 4192 / 5320:.2f} % in 2 frames"


def test_svg_zoom_from_the_address(tmp_path):
    root = browse(SINK / "shop.svg", "#z=3", tmp_path=tmp_path)
    shown = frames(root)
    zoomed = shown["Cart::checkout()"]
    assert abs(zoomed[2] - 980) < 1 and "above" not in zoomed[0]
    assert "above" in shown["main"][0] and "above" in shown["all"][0]
    assert shown["[lost]"][1] and not shown["Cart::add(Item const&)"][1]


def test_svg_bad_pattern_is_said(tmp_path):
    root = browse(SINK / "shop.svg", "#s=(", tmp_path=tmp_path)
    assert by_id(root, "matched").text == "not a regular expression"
    assert not any("hit" in classes for classes, _, _ in frames(root).values())


def test_svg_by_keyboard_and_mouse(tmp_path):
    script = """
    const log = [], key = (k, more) => document.dispatchEvent(
        new KeyboardEvent("keydown", Object.assign({ key: k, bubbles: true, cancelable: true }, more)));
    const all = Array.from(document.querySelectorAll(".f"));
    const focus = () => {
        const at = document.activeElement;
        return !at || at === document.documentElement ? "nothing" : at.id || at.getAttribute("class");
    };
    const state = () => log.push([focus(), document.querySelectorAll(".hit").length,
        all.filter((g) => g.style.display === "none").length].join(" "));
    key("f", { ctrlKey: true }); state();
    const box = document.getElementById("search");
    box.value = "parser"; box.dispatchEvent(new Event("input")); state();
    key("Escape"); state();
    all[2].focus(); state();
    key("Enter"); const zoomed = all.filter((g) => g.style.display === "none").length; log.push(zoomed > 0);
    all[2].querySelector("rect").dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    log.push(document.getElementById("details").textContent.startsWith("main"));
    key("ArrowDown"); log.push(document.activeElement === all[3]);
    key("Escape"); state();
    all[3].querySelector("rect").dispatchEvent(new MouseEvent("click", { bubbles: true })); log.push(location.hash);
    document.getElementById("reset").click(); state();
    document.documentElement.setAttribute("data-log", log.join("; "));
    """
    root = browse(SINK / "shop.svg", script=script, tmp_path=tmp_path)
    assert root.get("data-log").split("; ") == [
        "search 0 0", "search 1 0", "nothing 0 0", "f 0 0", "true", "true", "true", "f 0 0", "#z=3", "f 0 0"]


def test_svg_with_hostile_names_runs_none_of_them(tmp_path):
    root = browse(SINK / "hostile.svg", "#s=script", tmp_path=tmp_path)
    assert "hit" in frames(root)["</script><script>alert(1)</script>"][0]
    assert len(list(root.iter(f"{SVG}script"))) == 1
