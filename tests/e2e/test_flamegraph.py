# SPDX-License-Identifier: Apache-2.0
"""The SVG of -f flamegraph in a browser; the files are the goldens in tests/golden/sink. No root needed."""

import re

import pytest

from browser_driver import ROOT, drive

PICTURES = ROOT / "tests" / "golden" / "sink"
BOXES = """
const boxes = () => page.evaluate(() => {
  const box = (e) => { const { left, right, top, bottom } = e.getBoundingClientRect(); return { left, right, top, bottom }; };
  const svg = document.documentElement;
  return { svg: Number(svg.getAttribute("width")), window: innerWidth, scroll: svg.scrollWidth,
    all: box(document.querySelector(".f rect")), title: box(document.querySelector(".title")), tools: box(document.querySelector(".bar")),
    rule: box(document.querySelector(".rule")), keys: Array.from(document.querySelectorAll(".key"), (k) => ({ ...box(k), text: k.textContent })) };
});
const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
"""


def apart(a, b):
    return a["right"] <= b["left"] or b["right"] <= a["left"] or a["bottom"] <= b["top"] or b["bottom"] <= a["top"]


def test_the_picture_follows_the_window(tmp_path):
    seen = drive(tmp_path, f"file://{PICTURES}/shop.svg", BOXES + """
    const out = [];
    for (const width of [1400, 700, 390, 1000]) {
      await page.setViewportSize({ width, height: 900 });
      await frame();
      out.push(await boxes());
    }
    return out;
    """)
    for now, width in zip(seen, [1400, 700, 390, 1000]):
        assert now["window"] == width and now["svg"] == width and now["scroll"] <= width
        assert abs(now["all"]["right"] - now["all"]["left"] - (width - 20)) < 2, "the frames fill it"
        assert apart(now["title"], now["tools"]) and now["tools"]["right"] <= width
        for key in now["keys"]:
            assert key["right"] <= width and key["bottom"] <= now["rule"]["top"] + 1 and apart(key, now["tools"]), key
        assert now["all"]["top"] >= now["rule"]["bottom"] - 1


def test_without_a_script_it_still_fits(tmp_path):
    """As image viewers and pages that embed it show it."""
    page = tmp_path / "page.html"
    page.write_text(f'<!doctype html><body style="margin:0"><img src="file://{PICTURES}/shop.svg" style="max-width:100%">')
    seen = drive(tmp_path, f"file://{page}", """
    await page.setViewportSize({ width: 390, height: 844 });
    return page.evaluate(() => ({ width: document.images[0].width, natural: document.images[0].naturalWidth, scroll: document.documentElement.scrollWidth }));
    """, foreign=True)
    assert seen["natural"] == 1200 and seen["width"] <= 390 and seen["scroll"] <= 390


def legend(svg):
    return re.findall(r'<g class="key"[^>]*>(?:<rect [^>]*fill="(#[0-9a-f]+)"/>)?<text[^>]*>([^<]*)</text>', svg)


@pytest.mark.parametrize("name", ["shop", "fleet"])
def test_the_legend_names_the_colours(name):
    svg = (PICTURES / f"{name}.svg").read_text()
    keys = legend(svg)
    assert keys[0] == ("", "coloured by library:") and keys[-1] == ("#7b2ff2", "found by the search")
    named = {text for colour, text in keys[1:-1] if colour}
    libraries = set(re.findall(r"\nin ([^\n]+)\n", svg))
    assert libraries and libraries <= named
    hue = {text: colour for colour, text in keys if colour}

    def strongest(colour):
        parts = [int(colour[i:i + 2], 16) for i in (1, 3, 5)]
        return parts.index(max(parts))
    for tip, colour in re.findall(r'<title>([^<]*)</title><rect [^>]*fill="(#[0-9a-f]+)"', svg):
        library = re.search(r"\nin ([^\n]+)\n", tip)
        assert not library or strongest(colour) == strongest(hue[library[1]]), tip


def test_frames_say_where_they_are():
    svg = (PICTURES / "shop.svg").read_text()
    tips = re.findall(r"<title>([^<]*)</title>", svg)
    assert any(re.match(r"Cart::checkout\(\)\n/src/cart\.cc:42\nin shop\n", tip) for tip in tips), tips
    assert any(tip.startswith("main\n/src/main.cc:7\nin shop\n") for tip in tips)
