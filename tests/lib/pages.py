# SPDX-License-Identifier: Apache-2.0
"""Extracts commands and configurations from pages of the documentation."""

import re
import shlex


def section(page, title):
    """The text below a heading, up to the next heading of the same level."""
    return re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", page.read_text(), re.M | re.S).group(1)


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def indented(text):
    """Lines of indented blocks, which are commands or queries."""
    return re.findall(r"^    (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)


def commands(text, program):
    """The words of each command of this program, without sudo."""
    words = [shlex.split(line.removeprefix("sudo ")) for line in indented(text)]
    return [w for w in words if w[0] == program]


def check_keys(tree, rules, place="top"):
    """Rules: a dict of what may be there, * for any name; a list with the rule of its items; "duration"; a type."""
    if isinstance(rules, dict):
        assert isinstance(tree, dict), place
        for key, value in tree.items():
            assert key in rules or "*" in rules, f"{key} in {place}"
            check_keys(value, rules.get(key, rules.get("*")), f"{place}.{key}")
    elif isinstance(rules, list):
        assert isinstance(tree, list), place
        for one in tree:
            check_keys(one, rules[0], place)
    elif rules == "duration":
        assert re.fullmatch(r"\d+(ms|s|m|h)", tree), place
    else:
        assert isinstance(tree, rules), place


class Alloy:
    """Parses Alloy's language as far as the page uses it: {block: [(label, body)]} and {name: value} in one tree."""

    TOKEN = re.compile(r'\s*(?://[^\n]*\n\s*)*("(?:[^"\\]|\\.)*"|[\w.]+|[{}\[\]=,])')

    def __init__(self, text):
        self.words = self.TOKEN.findall(text)
        assert re.sub(r"\s", "", text) == re.sub(r"\s", "", "".join(self.words)), "the page uses more of the language"
        self.tree = self.body()
        assert not self.words

    def body(self):
        found = {}
        while self.words and self.words[0] != "}":
            name = self.words.pop(0)
            if self.words[0] == "=":
                self.words.pop(0)
                assert name not in found
                found[name] = self.value()
                continue
            label = self.words.pop(0).strip('"') if self.words[0] != "{" else None
            assert self.words.pop(0) == "{"
            found.setdefault(name, []).append((label, self.body()))
            assert self.words.pop(0) == "}"
        return found

    def value(self):
        word = self.words.pop(0)
        if word != "[":
            return {"true": True, "false": False}.get(word, word.strip('"'))
        items = []
        while self.words[0] != "]":
            items.append(self.value())
            if self.words[0] == ",":
                self.words.pop(0)
        self.words.pop(0)
        return items
