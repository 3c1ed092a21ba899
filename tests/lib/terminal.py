# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a terminal (tmux) and reads its screen."""

import re
import subprocess

import pytest

from conftest import ALYS, always_on
from web_driver import TIMEOUT, wait_for


class Terminal:
    """A private tmux server with one window, in which a shell runs the command and prints its exit status."""

    def __init__(self, directory, *words, size=(80, 24), env=None):
        self.socket = directory / "tmux"
        command = " ".join(f"'{w}'" for w in map(str, words))
        self.tmux("new-session", "-d", "-x", size[0], "-y", size[1],
                  f"{env or ''} {command}; echo status $?; stty -a | grep -o ' -*echo '; exec sleep 1000")

    def tmux(self, *args):
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *map(str, args)], capture_output=True, text=True,
                              timeout=TIMEOUT)
        return done.stdout

    @property
    def lines(self):
        return self.tmux("capture-pane", "-p").split("\n")

    @property
    def text(self):
        return "\n".join(self.lines)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def shows(self, *patterns, patience=TIMEOUT):
        """Waits until the screen shows all of these; returns it."""
        screen = ""

        def seen():
            nonlocal screen
            screen = self.text
            return all(re.search(p, screen, re.M) for p in patterns)

        try:
            wait_for(seen, patience)
        except AssertionError:
            pytest.fail(f"no {patterns} in:\n{screen}")
        return screen

    def row(self, name):
        """The cells of the row with this name, except the error's, and its line number."""
        for n, line in enumerate(self.lines):
            if name in line and re.match(r" *[\d.]+[KMG]? ", line):
                return [cell for cell in line.split() if not re.fullmatch(r"\d+%", cell)], n
        return None, None

    def kill(self):
        self.tmux("kill-server")


@pytest.fixture
def terminal(tmp_path):
    running = []

    def start(*words, **kw):
        folder = tmp_path / f"t{len(running)}"
        folder.mkdir()
        running.append(Terminal(folder, ALYS, *always_on(("top", *words)), **kw))
        return running[-1]

    yield start
    for one in running:
        one.kill()


def quit_cleanly(screen, status=0):
    screen.keys("q")
    screen.shows(rf"^status {status}$", r"^ echo")
