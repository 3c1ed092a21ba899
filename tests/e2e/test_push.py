# SPDX-License-Identifier: Apache-2.0
"""--push to servers that accept, reject, hang, disappear and return. No root needed."""

import concurrent.futures
import os
import re
import socket
import subprocess
import threading
import time

import pytest

import pprof_rules
from backend import Backend, values
from pushed import dropped, metric, pushing
from web_driver import Fake, build, get, wait_for


class Parca:
    """Accepts what Parca accepts, with Debian's gRPC library, so that the wire format is checked independently."""

    def __init__(self, port=0, how=lambda: (None, "")):
        grpc = pytest.importorskip("grpc")

        def write_raw(data, context):
            self.asked.append(time.monotonic())
            code, text = self.how()
            if code:
                context.abort(getattr(grpc.StatusCode, code), text)
            self.taken.append(data)
            return b""

        service = grpc.method_handlers_generic_handler("parca.profilestore.v1alpha1.ProfileStoreService",
                                                       {"WriteRaw": grpc.unary_unary_rpc_method_handler(write_raw)})
        self.asked, self.taken = [], []
        self.how = how
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=(service,), options=(("grpc.so_reuseport", 0),))
        self.port = self.server.add_insecure_port(f"127.0.0.1:{port}")
        self.url = f"parca+http://127.0.0.1:{self.port}"
        self.server.start()

    def close(self):
        self.server.stop(0).wait()


@pytest.fixture
def parca():
    one = Parca()
    yield one
    one.close()


@pytest.fixture
def backend():
    one = Backend()
    yield one
    one.close()


@pytest.mark.parametrize("later", [0, 30])
def test_profiles_arrive(backend, pushing, tmp_path, later):
    server = pushing(f"http://127.0.0.1:{backend.port}/", "--later", later)
    wait_for(lambda: len(backend.taken) >= 6)
    series = []
    for path, headers, body in list(backend.taken):
        assert headers["Content-Type"] == "application/json" and path == "/push.v1.PusherService/Push"
        labels, profile = pprof_rules.check_push(body)
        series.append((labels, profile, body["series"][0]["samples"][0]["rawProfile"]))
    shop = [values(raw, tmp_path / "shop") for labels, _, raw in series if labels["pid"] == "4242"]
    assert {s[0]["service_name"] for s in series if s[0]["pid"] == "4242"} == {"shop"}
    assert "\x1b" not in "".join(s[0]["service_name"] for s in series)
    # The first has what was there before; the others have what came since, so that sums are complete.
    assert len(shop) >= 2
    assert sum(s[1] for s in shop) == shop[-1][3]
    assert metric(server, "alys_push_sent_total") >= 6
    assert dropped(server, "refused") == dropped(server, "queue-full") == dropped(server, "not-made") == 0


def test_who_is_small_for_a_while_is_not_sent_twice(backend, pushing):
    """Only some processes are sent per round; one with allocations drops out and comes back repeatedly."""
    server = pushing(f"http://127.0.0.1:{backend.port}", "--many", 100)
    shop = lambda: [p for labels, p in (pprof_rules.check_push(body) for _, _, body in list(backend.taken)) if labels["pid"] == "4242"]
    wait_for(lambda: len(shop()) >= 6)
    assert server.stop()[0] == "marks left 0\n"
    assert sum(p.total("alloc_space") for p in shop()) == shop()[-1].total("inuse_space")


@pytest.mark.parametrize("later", [0, 30])
def test_profiles_arrive_at_parca(parca, pushing, later):
    """Each profile is complete and has no duration: Parca takes a profile with a duration for a delta, in-use values included."""
    server = pushing(parca.url + "/", "--later", later)
    wait_for(lambda: len(parca.taken) >= 6)
    series = [pprof_rules.check_write_raw(data) for data in list(parca.taken)]
    assert {(labels["__name__"], labels["service_name"]) for labels, _ in series if labels["pid"] == "4242"} == {("memory", "shop")}
    assert "\x1b" not in "".join(labels["service_name"] for labels, _ in series)
    shop = [p for labels, p in series if labels["pid"] == "4242"]
    assert not [p for p in shop if p.duration_ns]
    assert len(shop) >= 2 and len({p.time_ns for p in shop}) == len(shop)
    assert all(p.total("alloc_space") == p.total("inuse_space") > 5000 for p in shop)
    assert metric(server, "alys_push_sent_total") >= 6
    assert dropped(server, "refused") == dropped(server, "queue-full") == dropped(server, "not-made") == 0


def test_parca_that_is_away_refuses_and_comes_back(pushing):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    server = pushing(f"parca+http://127.0.0.1:{port}")
    wait_for(lambda: metric(server, "alys_push_retries_total") >= 1)
    one = Parca(port, lambda: ("UNAVAILABLE", "not now"))
    try:
        wait_for(lambda: len(one.asked) >= 2)
        assert metric(server, "alys_push_sent_total") == 0 == dropped(server, "refused")
        one.how = lambda: (None, "")
        wait_for(lambda: metric(server, "alys_push_sent_total") >= 3)
        one.how = lambda: ("INVALID_ARGUMENT", "location id is \x07not sequential")
        wait_for(lambda: dropped(server, "refused") >= 2)
        said = server.stop()[1]
        assert said.count("--push") == 3 and "gRPC 3 location id is \\x07not sequential" in said, said
    finally:
        one.close()


def test_a_web_server_is_no_backend(backend, pushing):
    """An HTML page does not confirm a push, nor does a plain HTTP answer confirm one by gRPC: neither counts as sent."""
    backend.how = lambda request: (200, {"Content-Type": "text/html; charset=utf-8"}, b"<!doctype html>")
    server = pushing(f"http://127.0.0.1:{backend.port}")
    wait_for(lambda: dropped(server, "refused") >= 2)
    assert metric(server, "alys_push_sent_total") == 0
    assert "not as Pyroscope" in server.stop()[1]
    server = pushing(f"parca+http://127.0.0.1:{backend.port}")
    wait_for(lambda: metric(server, "alys_push_retries_total") + dropped(server, "refused") >= 1)
    assert metric(server, "alys_push_sent_total") == 0
    assert "--push" in server.stop()[1]


def test_a_server_that_is_away_and_comes_back(pushing, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    server = pushing(f"http://127.0.0.1:{port}")
    wait_for(lambda: metric(server, "alys_push_waiting") >= 8)
    assert metric(server, "alys_push_sent_total") == 0 and metric(server, "alys_push_retries_total") >= 1
    one = Backend(port)
    try:
        wait_for(lambda: metric(server, "alys_push_waiting") <= 2)
        shop = [values(b["series"][0]["samples"][0]["rawProfile"], tmp_path / "shop") for _, _, b in one.taken
                if b["series"][0]["labels"][2]["value"] == "4242"]
        assert sum(s[1] for s in shop) == shop[-1][3], "nothing is missing, and it came in order"
        said = server.stop()[1]
        assert said.count("--push") == 1, said
    finally:
        one.close()


def test_a_bounded_queue(pushing):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    server = pushing(f"http://127.0.0.1:{port}", "--queue", "5000")
    wait_for(lambda: dropped(server, "queue-full") >= 5)
    assert metric(server, "alys_push_waiting_bytes") <= 5000
    one = Backend(port)
    try:
        wait_for(lambda: metric(server, "alys_push_sent_total") >= 3)
    finally:
        one.close()


def test_refused_for_good(backend, pushing):
    backend.how = lambda request: (422, {}, b"too \x1b[31mmany samples")
    server = pushing(f"http://127.0.0.1:{backend.port}")
    wait_for(lambda: dropped(server, "refused") >= 4)
    assert metric(server, "alys_push_retries_total") == 0
    said = server.stop()[1]
    assert "422 too \\x1b[31mmany samples" in said and said.count("--push") == 1


def test_each_cause_is_told_once(backend, pushing):
    """Also of a server that takes some profiles and refuses others."""
    left = [500, 422, 413, 200] * 3
    backend.how = lambda request: (left.pop() if left else 200, {}, b"no %d" % len(left))
    server = pushing(f"http://127.0.0.1:{backend.port}")
    wait_for(lambda: metric(server, "alys_push_retries_total") >= 3)
    assert dropped(server, "refused") == 6
    assert re.findall(r"says (\d+)", server.stop()[1]) == ["413", "422", "500"]


@pytest.mark.parametrize("status,headers,least", [(503, {}, 0.7), (429, {"Retry-After": "3"}, 2.9)])
def test_put_off(backend, pushing, status, headers, least):
    backend.how = lambda request: (status, headers, b"later")
    server = pushing(f"http://127.0.0.1:{backend.port}")
    wait_for(lambda: len(backend.asked) >= 3)
    times = [when for when, _ in backend.asked[:3]]
    assert times[1] - times[0] >= least
    if not headers:
        assert times[2] - times[1] >= 1.4, "backs off"
    backend.how = lambda request: (200, {}, b"")
    wait_for(lambda: metric(server, "alys_push_sent_total") >= 4)
    assert dropped(server, "refused") == 0


def test_a_server_that_hangs_holds_nobody_up(backend, pushing):
    held = threading.Event()
    backend.how = lambda request: (held.wait(60), (200, {}, b""))[1]
    server = pushing(f"http://127.0.0.1:{backend.port}")
    wait_for(lambda: backend.asked)
    assert get(f"{server.url}/-/healthy", timeout=20).status == 200
    begun = time.monotonic()
    server.stop()
    held.set()
    assert time.monotonic() - begun < 20  # of the 60 s that the answer takes, and the 30 s that are waited for one


def test_the_last_ones_leave_at_the_end(backend, pushing):
    backend.how = lambda request: (time.sleep(0.05), (200, {}, b""))[1]
    server = pushing(f"http://127.0.0.1:{backend.port}")
    wait_for(lambda: metric(server, "alys_push_sent_total") >= 2)
    server.stop()
    assert backend.taken


def test_ends_with_profiles_in_the_making(backend, pushing):
    server = pushing(f"http://127.0.0.1:{backend.port}", "--later", 1000)
    wait_for(lambda: metric(server, "alys_push_sent_total") >= 3)
    assert server.stop()[0] == "marks left 0\n"


@pytest.mark.parametrize("url", ["ftp://127.0.0.1:1", "file:///etc/passwd", "parca+ftp://x", "127.0.0.1:4040", "http://", "http://a b", ""])
def test_addresses_that_are_refused(url):
    server = Fake("--push", url)
    said = server.stop()[1]
    assert server.proc.returncode == 1 and "--push wants" in said


def test_without_the_library(pushing):
    """libcurl is loaded only for --push, so nothing else needs it."""
    library = next(line.split()[-1] for line in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout.split("\n")
                   if "libcurl.so.4 " in line)
    hide = f"mount --bind /dev/null {library} && exec {build('webfake')}"
    # Root needs no user namespace, which not every machine has.
    own = "-m" if os.geteuid() == 0 else "-rm"
    done = subprocess.run(["unshare", own, "sh", "-c", hide + " --push http://127.0.0.1:1"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "--push needs libcurl.so.4" in done.stderr


def test_a_password_in_the_url_is_refused():
    """A password in the URL would be visible in `ps`."""
    server = Fake("--push", "http://user:s3cret@127.0.0.1:4040")
    said = server.stop()[1]
    assert server.proc.returncode == 1 and "--push-user-file" in said and "s3cret" not in said


def test_encryption_is_not_given_up(backend, pushing):
    """A server whose certificate is not valid gets no profile."""
    server = pushing(f"https://127.0.0.1:{backend.port}")
    wait_for(lambda: metric(server, "alys_push_retries_total") >= 1)
    assert not backend.asked and metric(server, "alys_push_sent_total") == 0
