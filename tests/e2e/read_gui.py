# SPDX-License-Identifier: Apache-2.0
"""Starts a Qt program and prints all texts in its windows once all REGEXes match: read_gui.py REGEX... -- PROGRAM ARGS...

For test_exports.py, under dbus-run-session and xvfb-run: texts are read through the accessibility bus.
"""

import os
import re
import subprocess
import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

PATIENCE = 60


def texts(node, depth=30):
    if node is None or not depth:
        return
    node.clear_cache()  # It fills while we look.
    yield f"{node.get_role_name()}: {node.get_name()}"
    # A table may have a cell for each stack of a recording.
    for i in range(min(node.get_child_count(), 100)):
        yield from texts(node.get_child_at_index(i), depth - 1)


def shown(name):
    desktop = Atspi.get_desktop(0)
    desktop.clear_cache()  # A program that begins later would never be in it.
    programs = [desktop.get_child_at_index(i) for i in range(desktop.get_child_count())]
    try:
        return "\n".join(t for p in programs if p and p.get_name() == name for t in texts(p))
    except GLib.Error:
        return ""  # a window that opens or closes meanwhile, or a program too busy to answer


def main():
    at = sys.argv.index("--")
    wanted, argv = sys.argv[1:at], sys.argv[at + 1:]
    env = {**os.environ, "QT_QPA_PLATFORM": "xcb", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
    program = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end, text = time.monotonic() + PATIENCE, ""
    while time.monotonic() < end and not all(re.search(one, text) for one in wanted):
        time.sleep(0.3)
        text = shown(os.path.basename(argv[0]))
    program.kill()
    print(text)


main()
