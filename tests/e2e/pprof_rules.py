# SPDX-License-Identifier: Apache-2.0
"""Rules by which Parca, Pyroscope and Grafana Alloy reject or misread profiles.

Parses profile.proto itself, to be independent of our encoder and stricter than `go tool pprof`."""

import base64
import collections
import gzip
import re
import time

MEGABYTE = 1 << 20


def varint(data, at):
    """A signed 64-bit varint, and the offset behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (value - (1 << 64) if value >> 63 else value), at


def fields(data):
    """(number, value) of each field of a protobuf message; a value is a number or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = divmod(tag, 8)
        assert wire in (0, 2), f"field {number} has wire type {wire}"
        value, at = varint(data, at)
        if wire == 2:
            assert at + value <= len(data), f"field {number} is longer than its message"
            value, at = data[at:at + value], at + value
        yield number, value


class Message:
    def __init__(self, data):
        self.data = data
        self.of = collections.defaultdict(list)
        for number, value in fields(data):
            self.of[number].append(value)

    def one(self, number):
        return self.of[number][-1] if self.of[number] else 0

    def messages(self, number):
        return [Message(v) for v in self.of[number]]

    def numbers(self, number):
        """Repeated numbers, packed or not."""
        for value in self.of[number]:
            if isinstance(value, int):
                yield value
                continue
            at = 0
            while at < len(value):
                one, at = varint(value, at)
                yield one


class Profile:
    def __init__(self, body):
        assert body[:2] == b"\x1f\x8b", "a profile is gzipped"
        raw = gzip.decompress(body)
        self.size = len(raw)
        m = Message(raw)
        self.strings = [s.decode() for s in m.of[6]]  # which refuses what is no UTF-8, as Pyroscope does
        self.types = [(self.strings[t.one(1)], self.strings[t.one(2)]) for t in m.messages(1)]
        self.samples, self.mappings, self.locations, self.functions = (m.messages(n) for n in (2, 3, 4, 5))
        self.time_ns, self.duration_ns = m.one(9), m.one(10)
        self.period_type = [(self.strings[t.one(1)], self.strings[t.one(2)]) for t in m.messages(11)]
        self.period = m.one(12)
        self.default_type = self.strings[m.one(14)]
        self.comments = [self.strings[i] for i in m.numbers(13)]

    def values(self, name):
        """{(addresses, label numbers): value}: Alloy distinguishes samples by these."""
        column = [t for t, _ in self.types].index(name)
        address = {i + 1: loc.one(3) for i, loc in enumerate(self.locations)}
        found = collections.Counter()
        for s in self.samples:
            key = (tuple(address[i] for i in s.numbers(1)), tuple((self.strings[k.one(1)], k.one(3)) for k in s.messages(3)))
            found[key] += list(s.numbers(2))[column]
        return found

    def total(self, name):
        return sum(self.values(name).values())


def check_parca(p):
    """Ids count from 1 without gaps, and all references are valid."""
    assert p.strings[0] == ""
    known = lambda m, *numbers: all(0 <= m.one(n) < len(p.strings) for n in numbers)
    for kind in (p.mappings, p.locations, p.functions):
        assert [m.one(1) for m in kind] == list(range(1, len(kind) + 1))
    assert all(known(m, 5, 6) for m in p.mappings) and all(known(f, 2, 3, 4) for f in p.functions)
    for loc in p.locations:
        assert 0 <= loc.one(2) <= len(p.mappings)
        assert all(1 <= line.one(1) <= len(p.functions) for line in loc.messages(4))
    for s in p.samples:
        assert len(list(s.numbers(2))) == len(p.types)
        assert all(1 <= i <= len(p.locations) for i in s.numbers(1))
        assert all(label.one(1) and known(label, 1, 2, 4) for label in s.messages(3))
    # A profile covers the time that it states, in milliseconds. One with a duration is a delta, and deltas are added up.
    assert p.time_ns > 0


def check_pyroscope(p):
    """Pyroscope's default limits."""
    assert -3600 < p.time_ns / 1e9 - time.time() < 600, "outside of the ingestion window"
    assert p.size <= 4 * MEGABYTE and len(p.samples) <= 16000
    assert all(len(list(s.numbers(1))) <= 1000 and len(s.messages(3)) <= 100 for s in p.samples)
    assert all(len(s.encode()) <= 65535 for s in p.strings)
    assert not [t for t, _ in p.types if "-" in t]
    # Sample types of a heap; the names of its series are made from them.
    assert p.types == [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
    assert p.period_type == [("space", "bytes")] and p.period > 0
    # Negative values are dropped.
    assert all(min(s.numbers(2)) >= 0 for s in p.samples)
    # String labels become series, so all samples of a process have the same ones.
    labels = {tuple((label.one(1), label.one(2)) for label in s.messages(3) if label.one(2)) for s in p.samples}
    assert len(labels - {()}) <= 1, labels


def check_answer(answer):
    """Rules of scrapers for an answer."""
    assert answer.status == 200 and answer.body
    assert answer.headers["content-type"].startswith("application/octet-stream")
    p = Profile(answer.body)
    check_parca(p)
    check_pyroscope(p)
    return p


def check_labels(labels):
    """Rules for a series' labels: [(name, value)]."""
    names = [name for name, _ in labels]
    assert len(set(names)) == len(names) <= 30
    assert all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name) and len(name) <= 1024 for name in names)
    assert all(0 < len(value.encode()) <= 2048 for _, value in labels)
    assert {"__name__", "service_name"} <= set(names)
    return dict(labels)


def check_push(body):
    """Pyroscope's PushRequest, as its JSON: labels, and the profile."""
    assert set(body) == {"series"} and len(body["series"]) == 1
    (one,) = body["series"]
    assert set(one) == {"labels", "samples"} and all(set(pair) == {"name", "value"} for pair in one["labels"])
    labels = check_labels([(pair["name"], pair["value"]) for pair in one["labels"]])
    # Without it the server takes each alloc_* for a cumulative value and subtracts the previous one.
    assert labels["__name__"] == "memory" and labels["__delta__"] == "false"
    ((key, raw),) = one["samples"][0].items()
    assert key == "rawProfile" and len(one["samples"]) == 1
    p = Profile(base64.b64decode(raw, validate=True))
    check_pyroscope(p)
    return labels, p


def check_write_raw(data):
    """Parca's WriteRawRequest: labels, and the profile."""
    request = Message(data)
    assert set(request.of) == {2}
    (series,) = request.messages(2)
    assert set(series.of) == {1, 2}
    (label_set,) = series.messages(1)
    labels = check_labels([(pair.one(1).decode(), pair.one(2).decode()) for pair in label_set.messages(1)])
    (sample,) = series.messages(2)
    assert set(sample.of) == {1}
    p = Profile(sample.one(1))
    check_parca(p)
    return labels, p
