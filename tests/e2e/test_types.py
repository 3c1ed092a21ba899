# SPDX-License-Identifier: Apache-2.0
"""Types of Crystal objects derived from their stacks, against what the program allocates."""

import json

import pytest

from conftest import PROGS, alys

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    for build in ("debug", "release"):
        done = alys("record", "-o", folder / f"{build}.alys", "--", PROGS / f"private.{build}",
                    env={"ALYS_NO_WAIT": "1", "PATH": "/usr/bin:/bin"})
        assert done.returncode == 0, done.stderr
    return folder


def rows_by(view, trace, what="count"):
    done = alys("report", "--by", view, "--top", "0", "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    return {row[view]: row[what] for row in json.loads(done.stdout)["rows"]}


def test_private_types_have_their_names(traces):
    types = rows_by("type", traces / "debug.alys")
    assert {n: types[n] for n in ("Hidden", "Inner::Deep", "Array(Hidden)")} == {
        "Hidden": 100, "Inner::Deep": 100, "Array(Hidden)": 1}
    assert "Array(Hidden) (buffer)" in types
    assert not [n for n in types if "/" in n or ".cr" in n]


def test_private_methods_have_their_names(traces):
    text = alys("convert", "-f", "folded-stacks", traces / "debug.alys", "-").stdout
    for name in ("Hidden.new", "Hidden#grow", "Inner.deep", "Inner::Deep.new", "Array(Hidden)#push", "written"):
        assert f";{name};" in text or f";{name} " in text, name
    assert "private.cr::" not in text


def test_virtual_types_are_called_as_in_the_source(traces):
    types = rows_by("type", traces / "debug.alys")
    assert types["Square"] == types["Circle"] == 50 and types["Array(Shape)"] == 1
    assert not [n for n in types if "+" in n]


@pytest.mark.parametrize("build", ["debug", "release"])
def test_what_a_builder_fills_is_a_string(traces, build):
    types = rows_by("type", traces / f"{build}.alys")
    assert types["String"] >= 100, types
    assert not [n for n in types if "String::Builder (" in n or "buffer in builder" in n]


def test_objects_of_a_classs_own_allocate(traces):
    types = rows_by("type", traces / "debug.alys")
    assert {n: types.get(n) for n in ("FromPool", "FromPointer", "FromC")} == {
        "FromPool": 100, "FromPointer": 100, "FromC": 100}


def test_they_are_learned(started, tmp_path):
    """The type ids in objects' first words get names from the stacks that allocated them."""
    program = started.program("private.debug").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", tmp_path / "t.alys").recording()
    program.go()
    program.line()
    tracer.stop()
    done = alys("census", "-p", program.pid, "--learn", tmp_path / "t.alys", "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = {row["type"]: row for row in json.loads(done.stdout)["rows"]}
    for name in ("FromPool", "FromPointer", "Hidden", "Inner::Deep"):
        assert (rows[name]["count"], rows[name]["known"]) == (100, "learned"), rows
