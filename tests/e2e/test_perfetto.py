# SPDX-License-Identifier: Apache-2.0
"""
Perfetto traces, decoded by protoc and read as Perfetto's trace_processor reads them (profile_packet_sequence_state.cc,
stack_profile_sequence_state.cc). What it drops or counts as malformed is an error here. Totals by stack are compared with
other formats of the same recording.
"""

import collections
import gzip
import json
import shutil

import pytest

import conftest
import protobuf_text
from conftest import alys

NAMES = ["shop", "fleet", "options", "empty", "hostile"]
MONOTONIC, MONOTONIC_COARSE = 3, 4
STATE_CLEARED, NEEDS_STATE = 1, 2


def one(message, field, default=0):
    return message.get(field, [default])[0]


@pytest.fixture(scope="module")
def sink():
    if not shutil.which("protoc"):
        pytest.skip("protoc is not installed")
    return conftest.outputs("test_sink")


class Reader:
    """The heap profile of a trace: {(pid, stack of names, outermost first): [allocated, freed, allocations, frees]}."""

    def __init__(self, path):
        self.clocks, self.primary, self.interned = {}, None, None
        self.next_index, self.seen = 0, set()
        self.names, self.notes, self.dumps = {}, [], collections.defaultdict(lambda: [0, 0, 0, 0])
        for packet in protobuf_text.decode("perfetto.proto", "perfetto.protos.Trace", path.read_bytes()).get("packet", []):
            self.packet(packet)

    def packet(self, packet):
        assert one(packet, "trusted_packet_sequence_id"), "interned data belongs to a sequence"
        for snapshot in packet.get("clock_snapshot", []):
            self.clocks = {one(c, "clock_id"): one(c, "timestamp") for c in snapshot["clocks"]}
            self.primary = snapshot["primary_trace_clock"][0]
        assert one(packet, "timestamp_clock_id") in self.clocks, "its clock is not in a snapshot before it"
        if one(packet, "sequence_flags") & STATE_CLEARED:
            self.interned = collections.defaultdict(dict)
        for kind, entries in one(packet, "interned_data", {}).items():
            for entry in entries:
                iid = one(entry, "iid")
                assert iid and iid not in self.interned[kind], "numbers are not 0 and occur once"
                self.interned[kind][iid] = entry
        for tree in packet.get("process_tree", []):
            self.names |= {one(p, "pid"): p["cmdline"][0] for p in tree["processes"]}
        self.notes += [e["name"][0] for e in packet.get("track_event", [])]
        for profile in packet.get("profile_packet", []):
            assert one(packet, "sequence_flags") & NEEDS_STATE
            self.profile(profile)

    def profile(self, profile):
        assert one(profile, "index") == self.next_index, "a gap counts as dropped packets"
        self.next_index += 1
        for dump in profile.get("process_dumps", []):
            assert MONOTONIC_COARSE in self.clocks and one(dump, "timestamp") >= self.clocks[MONOTONIC_COARSE]
            assert one(dump, "heap_name")
            for sample in dump.get("samples", []):
                key = one(dump, "pid"), one(sample, "callstack_id")
                assert key not in self.seen, "it would be taken for a later state of the same call stack"
                self.seen.add(key)
                numbers = [one(sample, f) for f in ("self_allocated", "self_freed", "alloc_count", "free_count")]
                assert numbers[0] >= numbers[1] and numbers[2] >= numbers[3]
                sums = self.dumps[key[0], self.stack(key[1])]
                sums[:] = map(sum, zip(sums, numbers))

    def stack(self, iid):
        frames = self.interned["callstacks"][iid]["frame_ids"]
        return tuple(self.frame(self.interned["frames"][f]) for f in frames)

    def frame(self, frame):
        mapping = self.interned["mappings"][one(frame, "mapping_id")]
        assert len(one(self.interned["build_ids"][one(mapping, "build_id")], "str", "")) >= 0
        paths = [self.interned["mapping_paths"][p] for p in mapping["path_string_ids"]]
        if "source_path_iid" in frame:
            assert one(frame, "source_path_iid") in self.interned["source_paths"]
        if "function_name_id" not in frame:
            return one(paths[0], "str", "")
        return one(self.interned["function_names"][one(frame, "function_name_id")], "str", "")


@pytest.mark.parametrize("name", NAMES)
def test_its_reader_takes_all_of_it(sink, name):
    trace = Reader(sink / f"{name}.perfetto-trace")
    assert trace.primary == "BUILTIN_CLOCK_MONOTONIC"
    assert trace.notes[0].startswith("alys-bpf ")
    if name in ("shop", "options"):
        assert any(note.startswith("hits 9 = recorded 7 ") for note in trace.notes), trace.notes
    assert {pid for pid, _ in trace.dumps} == set(trace.names)
    assert bool(trace.dumps) == (name != "empty")


@pytest.mark.parametrize("name", ["shop", "fleet"])
def test_totals_are_those_of_pprof(sink, name):
    """pprof has one number for each of the four sample types; Perfetto has what was allocated and what was freed."""
    profile = (sink / f"{name}.pb.gz").read_bytes()
    samples = protobuf_text.decode("pprof.proto", "perftools.profiles.Profile", gzip.decompress(profile))["sample"]
    objects, space, inuse_objects, inuse_space = (sum(s["value"][i] for s in samples) for i in range(4))
    allocated, freed, allocations, frees = map(sum, zip(*Reader(sink / f"{name}.perfetto-trace").dumps.values()))
    # Blocks from before the recording have no allocation in pprof and one here.
    assert (allocated - freed, allocations - frees) == (inuse_space, inuse_objects)
    assert allocated >= space and allocations >= objects


@pytest.mark.bpf
@pytest.mark.beside
def test_a_recording(tmp_path, started):
    """Each stack of a real program with what it allocated and what of it is left, as in the JSON of the same recording."""
    trace, out = tmp_path / "t.alys", tmp_path / "t.perfetto-trace"
    program = started.program("c_stacks").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    program.go().go().finish()
    assert tracer.wait() == 0
    assert alys("convert", "-q", "-f", "perfetto", trace, out).returncode == 0
    perfetto = Reader(out)
    assert perfetto.names == {program.pid: "c_stacks"}
    truth = collections.Counter()
    for event in json.loads(alys("convert", "-q", "-f", "json", trace, "-").stdout):
        if event["kind"] == "alloc":
            truth["bytes"] += event["size"]
            truth["calls"] += 1
    allocated, _, allocations, _ = map(sum, zip(*perfetto.dumps.values()))
    assert (allocated, allocations) == (truth["bytes"], truth["calls"])
    assert all(stack[0] in ("_start", "clone3") or "main" in stack for _, stack in perfetto.dumps), list(perfetto.dumps)[:3]
