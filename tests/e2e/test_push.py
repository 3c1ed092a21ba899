"""--push against a server that takes profiles, refuses, hangs, goes and comes back. No root needed."""

import base64
import gzip
import http.server
import json
import os
import re
import socket
import subprocess
import threading
import time

import pytest

from conftest import pprof
from web_driver import Fake, build, get, wait_for


class Backend:
    """Answers as `how` says; keeps what it took."""

    def __init__(self, port=0):
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                backend.asked.append((time.monotonic(), self.path))
                status, headers, text = backend.how(self)
                if status == 200:
                    backend.taken.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(status)
                for k, v in headers.items():
                    self.send_header(k, v)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.asked, self.taken = [], []
        self.how = lambda request: (200, {}, b"{}")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *args: None  # whom it kept waiting has hung up
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def backend():
    one = Backend()
    yield one
    one.close()


@pytest.fixture
def pushing():
    running = []

    def start(url, *args):
        running.append(Fake("--push", url, "--every", "0.2", *args))
        return running[-1]

    yield start
    for one in running:
        said, _ = one.stop()
        assert said == "marks left 0\n"


def metric(server, name):
    found = re.search(rf"^{re.escape(name)} (\d+)$", get(f"{server.url}/metrics").text, re.M)
    return int(found.group(1))


def dropped(server, reason):
    return metric(server, f'alys_push_dropped_total{{reason="{reason}"}}')


def values(raw, path):
    """alloc_objects alloc_space inuse_objects inuse_space, summed."""
    data = base64.b64decode(raw, validate=True)
    gzip.decompress(data)
    path.write_bytes(data)
    text = pprof("-raw", path).split("Samples:\n")[1].split("Locations\n")[0]
    rows = [[int(n) for n in line.split(":")[0].split()] for line in text.splitlines()[1:]]
    return [sum(column) for column in zip(*rows)]


@pytest.mark.parametrize("later", [0, 30])
@pytest.mark.parametrize("kind", ["pyroscope", "parca"])
def test_profiles_arrive(backend, pushing, tmp_path, kind, later):
    url = f"http://127.0.0.1:{backend.port}/"
    server = pushing(url if kind == "pyroscope" else "parca+" + url, "--later", later)
    wait_for(lambda: len(backend.taken) >= 6)
    series = []
    for path, headers, body in backend.taken:
        assert headers["Content-Type"] == "application/json"
        assert path == ("/push.v1.PusherService/Push" if kind == "pyroscope" else "/profiles/writeraw")
        (one,) = body["series"]
        labels = one["labels"] if kind == "pyroscope" else one["labels"]["labels"]
        (sample,) = one["samples"]
        series.append(({k["name"]: k["value"] for k in labels}, sample["rawProfile"]))
    assert all(s[0]["__name__"] == "memory" for s in series)
    shop = [values(raw, tmp_path / "shop") for labels, raw in series if labels["pid"] == "4242"]
    assert {s[0]["service_name"] for s in series if s[0]["pid"] == "4242"} == {"shop"}
    assert "\x1b" not in "".join(s[0]["service_name"] for s in series)
    # The first says what was there; the others what came since, so that sums are whole.
    assert len(shop) >= 2
    assert sum(s[1] for s in shop) == shop[-1][3]
    assert metric(server, "alys_push_sent_total") >= 6
    assert dropped(server, "refused") == dropped(server, "queue-full") == dropped(server, "not-made") == 0


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


@pytest.mark.parametrize("url", ["ftp://127.0.0.1:1", "file:///etc/passwd", "parca+ftp://x", "127.0.0.1:4040", "http://", "http://a b", ""])
def test_addresses_that_are_refused(url):
    server = Fake("--push", url)
    said = server.stop()[1]
    assert server.proc.returncode == 1 and "--push wants" in said


def test_without_the_library(pushing):
    """It is loaded for --push alone, so that no other use needs it."""
    library = next(line.split()[-1] for line in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout.split("\n")
                   if "libcurl.so.4 " in line)
    hide = f"mount --bind /dev/null {library} && exec {build('webfake')}"
    # Root needs no user namespace, which not every machine has.
    own = "-m" if os.geteuid() == 0 else "-rm"
    done = subprocess.run(["unshare", own, "sh", "-c", hide + " --push http://127.0.0.1:1"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "--push needs libcurl.so.4" in done.stderr


def test_a_password_is_not_told(pushing):
    server = pushing("http://user:s3cret@127.0.0.1:1")
    wait_for(lambda: metric(server, "alys_push_retries_total") >= 1)
    assert "s3cret" not in get(f"{server.url}/metrics").text
    said = server.stop()[1]
    assert "--push" in said and "s3cret" not in said
