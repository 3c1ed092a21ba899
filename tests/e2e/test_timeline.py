# SPDX-License-Identifier: Apache-2.0
"""The page's time line: its values, selection of intervals, and numbers of the page for an interval. No root needed."""

import re

import pytest

from browser_driver import on
from conftest import outputs


@pytest.fixture(scope="module")
def pages():
    return outputs("test_sink_exports_html")


SIGHT = """
const box = await page.locator("#timeline .overlay").boundingBox();
const cards = () => page.$$eval(".tile", (all) => Object.fromEntries(all.map((x) => [x.children[0].textContent, x.children[1].textContent + "; " + x.children[2].textContent])));
const row = async (name) => (await page.$$eval("#table tbody tr:not(.more)", (rows) => rows.map((r) => Array.from(r.cells, (c) => c.innerText)))).find((cells) => cells[cells.length - 1].includes(name));
"""


def test_values_under_the_pointer(pages, tmp_path):
    seen = on(pages, tmp_path, "shop", SIGHT + """
    const at = async (part) => { await page.mouse.move(box.x + box.width * part, box.y + 40); return text("#tip"); };
    const out = { begin: await at(0.001), middle: await at(0.25), later: await at(0.75), rule: await page.getAttribute("#timeline line.rule", "visibility") };
    await page.mouse.move(5, 5);
    return { ...out, gone: await page.locator("#tip").isHidden(), after: await page.getAttribute("#timeline line.rule", "visibility") };
    """)
    assert re.fullmatch(r"0, for [\d.]+ ms\nin use 1\.07 KiB, at most 1\.07 KiB\nallocated 1\.07 KiB, freed 0 B", seen["begin"]), seen
    assert re.match(r"(4|5)\d\d ms, ", seen["middle"]) and "in use 1.07 KiB" in seen["middle"] and "allocated 0 B" in seen["middle"]
    assert re.match(r"1\.[45]\d s, ", seen["later"]) and "in use 4.06 KiB" in seen["later"]
    assert seen["rule"] == "visible" and seen["gone"] and seen["after"] == "hidden"


def test_the_hint_and_the_keys_are_in_sight(pages, tmp_path):
    seen = on(pages, tmp_path, "shop", """
    const out = { idle: await text("#moment"), shown: await page.locator("#moment").isVisible() };
    await page.keyboard.press("Tab");
    await page.focus("#timeline");
    await settle();
    out.focused = await text("#moment");
    await page.keyboard.press("ArrowRight");
    await settle();
    out.values = await text("#moment");
    out.live = await page.getAttribute("#moment", "aria-live");
    await page.keyboard.press("Escape");
    await settle();
    out.back = await text("#moment");
    await page.focus("#search");
    return { ...out, blurred: await text("#moment") };
    """)
    assert seen["shown"] and seen["idle"].startswith("Drag across the time line to choose an interval")
    assert seen["focused"].startswith("Keys: ← and → move the interval") and seen["back"] == seen["focused"]
    assert "in use 1.07 KiB, at most 1.07 KiB" in seen["values"] and seen["live"] == "polite"
    assert seen["blurred"] == seen["idle"]


def test_cards_follow_the_interval(pages, tmp_path):
    seen = on(pages, tmp_path, "shop", SIGHT + """
    const out = { whole: await cards() };
    await drag(0.001, 0.3);
    out.first = await cards();
    await drag(0.7, 0.9);
    out.quiet = await cards();
    await page.click("#whole");
    await settle();
    return { ...out, back: await cards() };
    """)
    whole, first, quiet = seen["whole"], seen["first"], seen["quiet"]
    assert whole == seen["back"] and whole["Allocated"].startswith("5.20 KiB; 5 blocks, ")
    assert first["At peak"].startswith("1.07 KiB; at about 0") and first["In use at the end"] == "1.07 KiB; 2 blocks"
    assert first["Allocated"].startswith("1.07 KiB; 2 blocks, ") and first["Stacks"].startswith("2;")
    assert quiet["Allocated"] == "0 B; 0 blocks, 0 per second" and quiet["In use at the end"] == "4.06 KiB; 2 blocks"
    assert quiet["Temporary"] == "0; – of all blocks" and quiet["Lost"].endswith("in the whole recording")
    assert set(whole) == set(first), "the same cards"


def test_all_columns_of_stacks_follow_the_interval(pages, tmp_path):
    """Cart::add: 96 bytes from the start, reallocated to 4096 after a second and freed a second later."""
    seen = on(pages, tmp_path, "shop", SIGHT + """
    await page.click("#metrics [data-id=alloc]");
    await page.click("#tab-stacks");
    await settle();
    const out = { whole: await row("Cart::add") };
    await drag(0.001, 0.3);
    out.first = await row("Cart::add");
    await drag(0.45, 0.6);
    out.middle = await row("Cart::add");
    return out;
    """)
    # Size, share, blocks, mean size, mean life, own peak.
    assert seen["whole"][:1] + seen["whole"][2:6] == ["4.09 KiB", "2", "2.05 KiB", "1.00 s", "4.00 KiB"]
    assert seen["first"][:1] + seen["first"][2:6] == ["96 B", "1", "96 B", "1.00 s", "96 B"]
    assert seen["middle"][:1] + seen["middle"][2:6] == ["4.00 KiB", "1", "4.00 KiB", "1.00 s", "4.00 KiB"]


def test_all_columns_of_the_other_tabs_follow_the_interval(pages, tmp_path):
    seen = on(pages, tmp_path, "shop", SIGHT + """
    await page.click("#metrics [data-id=alloc]");
    const tabs = async () => {
        const out = {};
        for (const tab of ["functions", "types", "leaks"]) {
            await page.click(`#tab-${tab}`);
            await settle();
            out[tab] = await row(tab === "types" ? "" : "Cart::add");
        }
        out.spark = await page.$$eval("canvas.spark", (all) => all.map((x) => x.getAttribute("aria-label")));
        await page.click("#tab-recording");
        await settle();
        return { ...out, recording: await text("#table") };
    };
    const out = { whole: await tabs() };
    await drag(0.001, 0.3);
    out.first = await tabs();
    await drag(0.45, 0.6);
    return { ...out, middle: await tabs() };
    """)
    whole, first, middle = seen["whole"], seen["first"], seen["middle"]
    assert whole["functions"][:3] == ["4.09 KiB", "78.8 %", "4.09 KiB"] and first["functions"][:3] == ["96 B", "8.76 %", "96 B"]
    assert [whole["types"][2], first["types"][2], middle["types"][2]] == ["4", "1", "2"]
    # What exists at the start is freed later and is no leak; in the middle, all blocks of 4 KiB are.
    assert "leaks" not in first and middle["leaks"][1] == "4.00 KiB" and middle["leaks"][0].startswith("+3.91 KiB")
    assert middle["spark"][0] == "in use over time, at most 4.00 KiB"
    assert "whole recording, whatever the interval" in first["recording"] and "whatever the interval" not in whole["recording"]
