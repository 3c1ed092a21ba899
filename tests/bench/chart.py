# SPDX-License-Identifier: Apache-2.0
"""A bar chart of a table's rows as SVG, for light and dark backgrounds."""
import math
import os
from xml.sax.saxutils import escape

import harness

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #222 } .title { font-weight: 600 } .value { fill: #555 }
  line { stroke: #8884 } .bar { fill: #4477aa } .other { fill: #bb7733 } .base { fill: #888 }
  @media (prefers-color-scheme: dark) {
    text { fill: #eee } .value { fill: #bbb } .bar { fill: #77aadd } .other { fill: #ddaa66 }
  }"""
ROW, LEFT, WIDTH, RIGHT, TOP = 22, 270, 420, 110, 34


def _scale(values, log):
    """Maps values to bar lengths; a logarithmic axis starts a little below the smallest value, so that no bar vanishes."""
    high = max(values) or 1
    if not log:
        return lambda v: v / high * WIDTH
    low = min(v for v in values if v > 0) / 2
    return lambda v: math.log(max(v, low) / low) / math.log(high / low) * WIDTH


def _class(name):
    if name.startswith("untraced"):
        return "base"
    return "bar" if name.startswith("alys-bpf") else "other"


def bars(file, title, rows, unit, log=False):
    """rows: (name, value or None). Writes build/bench/FILE.svg."""
    rows = [(name, value) for name, value in rows if value is not None]
    if not rows:
        return
    length = _scale([value for _, value in rows], log)
    height = TOP + ROW * len(rows) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" role="img">',
           f"<style>{STYLE}</style>",
           f'<text class="title" x="8" y="20">{escape(title)}{", logarithmic" if log else ""}</text>',
           f'<line x1="{LEFT}" x2="{LEFT}" y1="{TOP - 4}" y2="{height - 6}"/>']
    for n, (name, value) in enumerate(rows):
        y = TOP + n * ROW
        out += [f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>',
                f'<rect class="{_class(name)}" x="{LEFT}" y="{y + 2}" width="{length(value):.1f}" height="{ROW - 6}"/>',
                f'<text class="value" x="{LEFT + length(value) + 6:.1f}" y="{y + 14}">{value:,.4g} {escape(unit)}</text>']
    os.makedirs(harness.OUT, exist_ok=True)
    path = os.path.join(harness.OUT, file + ".svg")
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n</svg>\n")
    print(f"  plot: {os.path.relpath(path, harness.ROOT)}")
