# SPDX-License-Identifier: Apache-2.0
"""SECURITY.md: the test named beside each sentence exists."""

import re

import pytest

from conftest import ROOT

ROWS = [row for row in (ROOT / "SECURITY.md").read_text().splitlines() if row.startswith("| ") and not row.endswith("| Test |")]


def test_there_are_sentences():
    assert len(ROWS) > 40


@pytest.mark.parametrize("row", ROWS)
def test_a_sentence_has_its_test(row):
    sentence, named = re.fullmatch(r"\| (.+\.) \| (`[^|]+`) \|", row).groups()
    place, name = named.strip("`").split("::")
    text = (ROOT / "tests" / place).read_text()
    assert re.search(rf"^(def {name}\(|(static void|TEST\() ?{name}\b|TEST\({name},)", text, re.M), (sentence, named)
    if place.endswith(".c"):
        assert re.search(rf"cmocka_unit_test(_setup_teardown)?\({name}[,)]", text), f"{named} is not run"
