# SPDX-License-Identifier: Apache-2.0
"""--push otlp+http:// and otlp+grpc://, to servers that answer as the OTLP specification allows. No root needed."""

import concurrent.futures
import gzip

import pytest

import protobuf_text
from backend import Backend
from pushed import dropped, metric, pushing
from web_driver import Fake, wait_for

TYPES = ["inuse_space", "alloc_objects", "alloc_space", "inuse_objects"]
PROTOBUF = {"Content-Type": "application/x-protobuf"}


def field(number, value):
    """A protobuf field: a small number, text or bytes."""
    if isinstance(value, int):
        assert value < 128
        return bytes([number << 3, value])
    value = value.encode() if isinstance(value, str) else value
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def partly(rejected, why):
    """ExportProfilesServiceResponse with partial_success."""
    return field(1, field(1, rejected) + field(2, why))


def status(code, message, *details):
    """google.rpc.Status."""
    return field(1, code) + field(2, message) + b"".join(field(3, d) for d in details)


def retry_info(seconds):
    return field(1, "type.googleapis.com/google.rpc.RetryInfo") + field(2, field(1, field(1, seconds)))


class Grpc:
    """An OTLP server made of other people's gRPC; encrypted with a key and certificate."""

    def __init__(self, pair=None):
        grpc = pytest.importorskip("grpc")

        def export(data, context):
            self.asked.append(data)
            code, text, details, answer = self.how()
            if details:
                context.set_trailing_metadata((("grpc-status-details-bin", details),))
            if code:
                context.abort(getattr(grpc.StatusCode, code), text)
            self.taken.append((None, None, data))
            return answer

        service = grpc.method_handlers_generic_handler("opentelemetry.proto.collector.profiles.v1development.ProfilesService",
                                                       {"Export": grpc.unary_unary_rpc_method_handler(export)})
        self.asked, self.taken = [], []
        self.how = lambda: (None, "", b"", b"")
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=(service,))
        if pair:
            self.url = f"otlp+grpcs://127.0.0.1:{self.server.add_secure_port('127.0.0.1:0', grpc.ssl_server_credentials([pair]))}"
        else:
            self.url = f"otlp+grpc://127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def close(self):
        self.server.stop(0).wait()


@pytest.fixture
def collector():
    one = Backend(decode=gzip.decompress)
    one.how = lambda request: (200, PROTOBUF, b"")
    one.url = f"otlp+http://127.0.0.1:{one.port}"
    yield one
    one.close()


@pytest.fixture
def grpc_collector():
    one = Grpc()
    yield one
    one.close()


class Request:
    """A decoded ProfilesData of one process."""

    def __init__(self, data):
        tree = protobuf_text.decode("otlp.proto", "otlp.ProfilesData", data)
        (dictionary,), (resource,) = tree["dictionary"], tree["resource_profiles"]
        strings = dictionary["string_table"]
        self.of = {a["key"][0]: next(iter(a["value"][0].values()))[0] for a in resource["resource"][0]["attributes"]}
        (scope,) = resource["scope_profiles"]
        self.profiles = {strings[p["sample_type"][0]["type_strindex"][0]]: p for p in scope["profiles"]}
        assert len(self.profiles) == len(scope["profiles"]) == 4
        self.period_types = {strings[p["period_type"][0]["type_strindex"][0]] for p in scope["profiles"]}

    def total(self, kind):
        return sum(s["values"][0] for s in self.profiles[kind].get("samples", []))

    def duration(self, kind):
        return self.profiles[kind].get("duration_nano", [0])[0]

    def time(self, kind):
        return self.profiles[kind]["time_unix_nano"][0]


def check_arrival(server, url, pushing):
    pushed = pushing(url + "/", "--later", 10)
    wait_for(lambda: len(server.taken) >= 6)
    requests = [Request(data) for _, _, data in list(server.taken)]
    shop = [r for r in requests if r.of["process.pid"] == 4242]
    assert len(shop) >= 2 and all(r.of["service.name"] == "shop" for r in shop)
    assert all(set(r.profiles) == set(TYPES) and r.period_types == {"allocated_bytes"} for r in requests)
    # What was allocated is what came since the request before; what is in use is so at the end of that time.
    assert sum(r.total("alloc_space") for r in shop) == shop[-1].total("inuse_space") > 5000
    assert not any(r.duration("inuse_space") or r.duration("inuse_objects") for r in shop)
    for r in shop[1:]:
        assert 0 < r.duration("alloc_space") == r.duration("alloc_objects")
        assert r.time("inuse_space") == r.time("alloc_space") + r.duration("alloc_space")
    assert metric(pushed, "alys_push_sent_total") >= 6
    assert dropped(pushed, "refused") == dropped(pushed, "queue-full") == dropped(pushed, "not-made") == 0
    return pushed


def test_profiles_arrive(collector, pushing):
    assert check_arrival(collector, collector.url, pushing).stop()[1] == ""
    for path, headers, _ in collector.taken:
        assert path == "/v1development/profiles"
        assert (headers["Content-Type"], headers["Content-Encoding"]) == ("application/x-protobuf", "gzip")


def test_profiles_arrive_by_grpc(grpc_collector, pushing):
    assert check_arrival(grpc_collector, grpc_collector.url, pushing).stop()[1] == ""


def test_a_partial_success_is_counted_and_never_sent_again(collector, grpc_collector, pushing):
    answer = partly(3, "too many \x1b labels")
    collector.how = lambda request: (200, PROTOBUF, answer)
    grpc_collector.how = lambda: (None, "", b"", answer)
    for server in (collector, grpc_collector):
        pushed = pushing(server.url)
        wait_for(lambda: metric(pushed, "alys_push_rejected_profiles_total") >= 6)
        assert metric(pushed, "alys_push_retries_total") == dropped(pushed, "refused") == 0 < metric(pushed, "alys_push_failing")
        said = pushed.stop()[1]
        assert said.count("rejected 3 profiles of a request that it took: too many \\x1b labels") == said.count("\n") == 1, said
        assert len({data for _, _, data in server.taken}) == len(server.taken)


def test_a_warning_is_no_rejection(collector, pushing):
    collector.how = lambda request: (200, PROTOBUF, partly(0, "old version"))
    pushed = pushing(collector.url)
    wait_for(lambda: metric(pushed, "alys_push_sent_total") >= 4)
    assert metric(pushed, "alys_push_rejected_profiles_total") == 0
    assert pushed.stop()[1].count("took the profiles and says: old version") == 1


def test_what_is_refused_is_dropped_and_what_is_put_off_waits(collector, pushing):
    """Of 5xx, OTLP lists three that pass (test_put_off); other answers are for good."""
    final = [400, 401, 404, 408, 413, 500, 501]
    left = [*final, 429]
    why = status(3, "no \x1b thanks")
    collector.how = lambda request: (left.pop(0), PROTOBUF, why) if left else (200, PROTOBUF, b"")
    pushed = pushing(collector.url)
    wait_for(lambda: metric(pushed, "alys_push_sent_total") >= 2)
    assert dropped(pushed, "refused") == len(final) and metric(pushed, "alys_push_retries_total") == 1
    said = pushed.stop()[1]
    assert all(said.count(f"the server says {n} no \\x1b thanks") == 1 for n in final + [429]), said
    assert "--push-user-file" in next(line for line in said.split("\n") if " 401 " in line)


@pytest.mark.parametrize("code", [502, 503, 504])
def test_put_off(collector, pushing, code):
    left = [code]
    collector.how = lambda request: (left.pop() if left else 200, {}, b"")
    pushed = pushing(collector.url)
    wait_for(lambda: metric(pushed, "alys_push_sent_total") >= 2)
    assert metric(pushed, "alys_push_retries_total") == 1 and dropped(pushed, "refused") == 0


def test_throttling_says_how_long(collector, pushing):
    left = [(429, {"Retry-After": "3"})]
    collector.how = lambda request: (*(left.pop() if left else (200, {})), b"")
    pushed = pushing(collector.url)
    wait_for(lambda: metric(pushed, "alys_push_sent_total") >= 1)
    assert collector.asked[1][0] - collector.asked[0][0] >= 2.9


def test_exhausted_means_too_large_unless_it_passes(grpc_collector, pushing):
    """Only RetryInfo says that the same request may succeed later."""
    grpc_collector.how = lambda: ("RESOURCE_EXHAUSTED", "larger than max", b"", b"")
    pushed = pushing(grpc_collector.url)
    wait_for(lambda: dropped(pushed, "refused") >= 2)
    assert metric(pushed, "alys_push_retries_total") == 0
    grpc_collector.how = lambda: ("RESOURCE_EXHAUSTED", "slow down", status(8, "slow down", retry_info(1)), b"")
    wait_for(lambda: metric(pushed, "alys_push_retries_total") >= 1)
    refused = dropped(pushed, "refused")
    grpc_collector.how = lambda: (None, "", b"", b"")
    wait_for(lambda: metric(pushed, "alys_push_sent_total") >= 2)
    assert dropped(pushed, "refused") == refused
    assert "gRPC 8 larger than max" in pushed.stop()[1]


def test_a_web_server_is_no_collector(collector, pushing):
    for answer in ((200, {"Content-Type": "text/html"}, b"<!doctype html>"), (200, PROTOBUF, b"\xff\xff\xff")):
        collector.how = lambda request: answer
        pushed = pushing(collector.url)
        wait_for(lambda: dropped(pushed, "refused") >= 2)
        assert metric(pushed, "alys_push_sent_total") == 0
        assert pushed.stop()[1].count("the server answers, but not as OTLP") == 1


@pytest.mark.parametrize("url", ["otlp://127.0.0.1:4318", "otlp+http://", "otlp+ftp://x", "otlp+grpc://h/?q"])
def test_addresses_that_are_refused(url):
    server = Fake("--push", url)
    said = server.stop()[1]
    assert server.proc.returncode == 1 and "--push wants" in said
