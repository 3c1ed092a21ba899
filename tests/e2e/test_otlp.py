# SPDX-License-Identifier: Apache-2.0
"""OTLP profiles, decoded by protoc, against the rules in the proto's comments. Written by tests/unit/test_sink; no root needed."""

import gzip
import shutil
from pathlib import Path

import pytest

import conftest
import protobuf_text
from conftest import alys

NAMES = ["shop", "fleet", "options", "empty", "hostile"]
TYPES = {("inuse_space", "bytes"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("alloc_objects", "count")}
TABLES = ["mapping_table", "location_table", "function_table", "link_table", "attribute_table", "stack_table"]


@pytest.fixture(scope="module")
def sink():
    if not shutil.which("protoc"):
        pytest.skip("protoc is not installed")
    return conftest.outputs("test_sink")


def one(message, field, default=0):
    return message.get(field, [default])[0]


def decode(sink, name):
    return protobuf_text.decode("otlp.proto", "otlp.ProfilesData", Path(sink / f"{name}.otlp.pb").read_bytes())


def profiles(data):
    return [p for r in data.get("resource_profiles", []) for s in r["scope_profiles"] for p in s["profiles"]]


def text(data, index):
    return data["dictionary"][0]["string_table"][index]


def attributes(data, message):
    """{key: value} of the message's entries in attribute_table."""
    entries = [data["dictionary"][0]["attribute_table"][i] for i in message.get("attribute_indices", [])]
    return {text(data, one(e, "key_strindex")): e["value"][0] for e in entries}


def indices(dictionary):
    """Every reference, as (table, index)."""
    for f in dictionary["function_table"]:
        yield from (("string_table", one(f, k)) for k in ("name_strindex", "filename_strindex"))
    for l in dictionary["location_table"]:
        yield "mapping_table", one(l, "mapping_index")
        yield from (("function_table", one(x, "function_index")) for x in l.get("lines", []))
        yield from (("attribute_table", i) for i in l.get("attribute_indices", []))
    for s in dictionary["stack_table"]:
        yield from (("location_table", i) for i in s.get("location_indices", []))
    for m in dictionary["mapping_table"]:
        yield "string_table", one(m, "filename_strindex")
        yield from (("attribute_table", i) for i in m.get("attribute_indices", []))


@pytest.mark.parametrize("name", NAMES)
def test_tables_begin_with_none_and_every_index_is_in_its_table(sink, name):
    data = decode(sink, name)
    dictionary = data["dictionary"][0]
    strings = dictionary["string_table"]
    assert strings[0] == "" and len(set(strings)) == len(strings)
    assert all(not dictionary[t][0] for t in TABLES)
    assert all(0 <= i < len(dictionary[t]) for t, i in indices(dictionary))
    for p in profiles(data):
        assert all(0 < one(s, "stack_index") < len(dictionary["stack_table"]) for s in p.get("samples", []))


@pytest.mark.parametrize("name", ["shop", "fleet"])
def test_a_profile_has_one_sample_type_and_a_process_all_four(sink, name):
    data = decode(sink, name)
    for resource in data["resource_profiles"]:
        found = resource["scope_profiles"][0]["profiles"]
        types = [(text(data, one(t, "type_strindex")), text(data, one(t, "unit_strindex"))) for p in found for t in p["sample_type"]]
        assert types[0] == ("inuse_space", "bytes") and len(types) == 4 and set(types) == TYPES
        for (kind, _), p in zip(types, found):
            assert bool(one(p, "duration_nano")) == kind.startswith("alloc"), "what is in use is so at a moment"
    for p in profiles(data):
        period = p["period_type"][0]
        assert (text(data, one(period, "type_strindex")), text(data, one(period, "unit_strindex"))) == ("allocated_bytes", "bytes")
        assert one(p, "period") > 0 and one(p, "time_unix_nano") > 0
        lines = [v["string_value"][0] for v in attributes(data, p)["pprof.profile.comment"]["array_value"][0]["values"]]
        assert any(line.startswith("hits ") and " lost " in line for line in lines)


def test_a_process_is_a_resource(sink):
    data = decode(sink, "fleet")
    found = [{a["key"][0]: a["value"][0] for a in r["resource"][0]["attributes"]} for r in data["resource_profiles"]]
    assert {one(a["process.pid"], "int_value") for a in found} == {50, 51}
    assert all(one(a["service.name"], "string_value", "") for a in found)


def test_stacks_are_those_of_pprof(sink):
    """Innermost frame first, inlined functions in one location; sums by stack equal those of pprof."""
    data = decode(sink, "shop")
    d = data["dictionary"][0]

    def name(function):
        return text(data, one(d["function_table"][function], "name_strindex"))

    mine = {}
    for p in profiles(data):
        kind = text(data, one(p["sample_type"][0], "type_strindex"))
        for s in p.get("samples", []):
            where = [d["location_table"][i] for i in d["stack_table"][one(s, "stack_index")]["location_indices"]]
            stack = tuple(name(one(l, "function_index")) for w in where for l in w["lines"])
            mine[stack, kind] = mine.get((stack, kind), 0) + s["values"][0]
    pprof = protobuf_text.decode("pprof.proto", "perftools.profiles.Profile", gzip.decompress((sink / "shop.pb.gz").read_bytes()))
    strings, theirs = pprof["string_table"], {}
    kinds = [strings[one(t, "type")] for t in pprof["sample_type"]]
    for s in pprof["sample"]:
        lines = [l for i in s["location_id"] for l in pprof["location"][i - 1]["line"]]
        stack = tuple(strings[one(pprof["function"][one(l, "function_id") - 1], "name")] for l in lines)
        for kind, value in zip(kinds, s["value"]):
            if value:
                theirs[stack, kind] = theirs.get((stack, kind), 0) + value
    assert mine == theirs and any("Cart::add(Item const&)" in stack for stack, kind in mine)


def test_files_are_known_by_build_id(sink):
    data = decode(sink, "shop")
    main = data["dictionary"][0]["mapping_table"][1]
    assert text(data, one(main, "filename_strindex")) == "/usr/bin/shop"
    assert attributes(data, main)["process.executable.build_id.gnu"]["string_value"] == ["101112131415161718191a1b1c1d1e1f20212223"]
    native = next(l for l in data["dictionary"][0]["location_table"] if one(l, "mapping_index"))
    assert attributes(data, native)["profile.frame.type"]["string_value"] == ["native"]


@pytest.mark.bpf
@pytest.mark.beside
def test_a_process_is_known_as_its_environment_and_its_cgroup_say(tmp_path, started, group):
    """The target's environment is read, and only OpenTelemetry's variables of it."""
    unit, trace = group / "shop.service", tmp_path / "t.alys"
    program = started.program("c_grow", env={"OTEL_SERVICE_NAME": "till", "PASSWORD": "hush",
                                             "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=pay%20ments"}).wait_ready().go()
    unit.mkdir()
    (unit / "cgroup.procs").write_text(str(program.pid))
    assert alys("-q", "-p", program.pid, "-d", 0.5, "-o", trace).returncode == 0
    conftest.remove_group(unit)
    otlp = tmp_path / "t.otlp.pb"
    assert alys("convert", "-q", "-f", "otlp", trace, otlp).returncode == 0
    data = protobuf_text.decode("otlp.proto", "otlp.ProfilesData", otlp.read_bytes())
    found = {a["key"][0]: one(a["value"][0], "string_value", "") for a in data["resource_profiles"][0]["resource"][0]["attributes"]}
    assert (found["service.name"], found["team"], found["systemd.unit"]) == ("till", "pay ments", "shop.service")
    said = alys("report", "--by", "service", "--show", "alloc", trace).stdout
    assert "till" in said and "other" not in said
    info = alys("info", trace).stdout
    assert "service.name till, team pay ments" in info and "systemd.unit shop.service" in info
    assert b"hush" not in trace.read_bytes() and "hush" not in info
