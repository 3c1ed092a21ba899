# SPDX-License-Identifier: Apache-2.0
"""The HTTP server under attack by one user's clients still answers other users. No tracing needed."""

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from browser_driver import ROOT, need
from conftest import pprof
from web_driver import TIMEOUT, Answer, get, own_servers, wait_for

NOBODY, ATTACKER = 65534, 65533
# For other clients: far more than an answer takes on a busy machine, far less than the limit for idle connections (10 s).
SOON = 5
root = pytest.mark.skipif(os.geteuid() != 0, reason="other users are played by root")


@pytest.fixture
def own():
    with own_servers(complaints=False) as start:
        yield start


@pytest.fixture(autouse=True)
def descriptors():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


class As:
    """Creates sockets as another user, who is their owner in the kernel's table of TCP sockets."""

    def __init__(self, uid):
        self.uid = uid

    def __enter__(self):
        os.seteuid(self.uid)

    def __exit__(self, *_):
        os.seteuid(0)


@pytest.fixture(params=["tcp", "unix"])
def served(request, own, tmp_path):
    """A server and a function that connects to it."""
    def start(*args):
        if request.param == "tcp":
            server = own(*args)
            server.connect = lambda: socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)
            return server
        folder = Path(tempfile.mkdtemp(dir="/tmp"))
        request.addfinalizer(lambda: shutil.rmtree(folder))
        folder.chmod(0o755)
        server = own("--listen", folder / "http", *args)
        (folder / "http").chmod(0o666)
        server.connect = lambda: connect_to(folder / "http")
        return server

    return start


def connect_to(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(str(path))  # which waits while others arrive
    s.settimeout(TIMEOUT)
    return s


def request(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def ask(server, path, timeout=TIMEOUT):
    with server.connect() as s:
        s.settimeout(timeout)
        s.sendall(request(path))
        return Answer(b"".join(iter(lambda: s.recv(65536), b"")))


def attack(server, n, data=b""):
    held = []
    with As(ATTACKER):
        for _ in range(n):
            held.append(server.connect())
            try:
                held[-1].sendall(data)
            except OSError:  # it has had to make room already
                pass
    return held


def close(held):
    for s in held:
        s.close()


ATTACKS = {
    "idle": b"",
    "slow": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ",
    "window": request("/debug/pprof/heap?seconds=300"),
    "snapshot": request("/debug/pprof/heap"),
    "report": request("/report?pid=4242"),
    "never reads": request("/metrics"),
}


@root
@pytest.mark.parametrize("what", ATTACKS)
def test_an_innocent_client_beside(served, what):
    """Twice as many connections of one user as there are slots: another user's requests are answered at once."""
    server = served("--later", 500)
    held = attack(server, 300, ATTACKS[what])
    with As(NOBODY):
        for path in ("/-/healthy", "/-/ready", "/metrics", "/sd", "/"):
            begun = time.monotonic()
            assert ask(server, path).status == 200, path
            assert time.monotonic() - begun < SOON, path
        assert ask(server, "/debug/pprof/heap?pid=4242&seconds=1").status == 200
        assert ask(server, "/debug/pprof/heap?pid=4242").status == 200
    # The attacker itself still gets /-/healthy.
    with As(ATTACKER):
        assert ask(server, "/-/healthy", timeout=SOON).status == 200
    close(held)


@root
def test_innocent_clients_stay(served):
    """An attacker does not displace others' timed profiles and idle connections."""
    server = served()
    with As(NOBODY):
        idle, window = server.connect(), server.connect()
        window.sendall(request("/debug/pprof/heap?pid=4242&seconds=2"))
    held = attack(server, 300, ATTACKS["slow"]) + attack(server, 50, ATTACKS["window"])
    idle.sendall(request("/-/healthy"))
    for s in (idle, window):
        assert Answer(b"".join(iter(lambda: s.recv(65536), b""))).status == 200
    close([*held, idle, window])


def notes(server):
    return {name: float(n) for name, n in re.findall(r'^alys_note{name="([^"]*)"} (\S+)$', ask(server, "/metrics").text, re.M)}


def test_work_ends_with_its_caller(served):
    """Requests of disconnected clients are cancelled."""
    server = served("--later", 10 * TIMEOUT * 1000)
    held = []
    for _ in range(20):
        s = server.connect()
        s.sendall(ATTACKS["snapshot"])
        held.append(s)
    wait_for(lambda: notes(server)["answers-to-come"] == 20)
    close(held[5:])
    wait_for(lambda: notes(server)["answers-to-come"] == 5)
    close(held)
    wait_for(lambda: notes(server)["answers-to-come"] == 0)


def heads():
    get = "GET /metrics{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n"
    for n in (115, 150, 250, 1000, 2000):
        yield get.format("?" + "&".join(["a=b"] * n), "")
        yield get.format("", "Cookie: " + "; ".join(["a=b"] * n) + "\r\n")
    for text in ("&" * 200, "&" * 4000, "a" * 8100, "%41=%42&" * 150, "=" * 7000):
        yield get.format("?" + text, "")
    for line in ("a: b\r\n", "a:\n", "a: b\r\n c\r\n", "Cookie: a=b; c=d\r\n", "Host: x\r\n"):
        for n in (90, 110, 130, 1000):
            yield get.format("", line * n)
    yield "\r\n" * 100 + get.format("?" + "&" * 200, "")
    yield "G" * 100000
    yield "GET /" + "x" * 100000


def test_requests_of_many_parts(served):
    """Very many parameters, headers and cookies: an answer or a refusal, at once, and other clients do not wait."""
    server = served()
    for head in heads():
        with server.connect() as s:
            try:
                s.sendall(head.encode())
                got = b"".join(iter(lambda: s.recv(65536), b""))
            except ConnectionError:  # it was refused before all was sent
                got = b"HTTP/1.1 431 "
        assert Answer(got).status in (200, 400, 414, 431), (head[:100], got[:100])
        assert ask(server, "/-/healthy").status == 200


def test_local_socket_is_the_groups(own, tmp_path):
    """Only the group may connect, and the socket goes with the server. curl fetches from it, and go tool pprof reads the result."""
    path = tmp_path / "http"
    server = own("--listen", path)
    assert path.stat().st_mode & 0o7 == 0 and server.address == str(path)
    done = subprocess.run(["curl", "-sS", "--fail", "--unix-socket", path, "http://localhost/-/ready"], capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert (done.returncode, done.stdout) == (0, "ready\n"), done.stderr
    need("go")
    subprocess.run(["curl", "-sS", "--fail", "--unix-socket", path, "-o", tmp_path / "heap.pb.gz",
                    "http://localhost/debug/pprof/heap?pid=4242"], check=True, timeout=TIMEOUT)
    assert "Page.render" in pprof("-top", tmp_path / "heap.pb.gz")
    server.stop()
    assert not path.exists()


def test_a_proxy_makes_a_port_of_it(own, tmp_path):
    """As README.md says, for clients without unix sockets. Pages of other sites cannot use the port, either."""
    need("systemd-socket-activate")
    need("go")
    server = own("--listen", tmp_path / "http")
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    proxy = subprocess.Popen(["systemd-socket-activate", "-l", f"127.0.0.1:{port}", "/lib/systemd/systemd-socket-proxyd", server.address],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: is_served(url))
        assert "Page.render" in pprof("-top", f"{url}/debug/pprof/heap?pid=4242")
        assert json.loads(get(f"{url}/sd").text)[0]["targets"] == [f"127.0.0.1:{port}"]
        assert get(f"{url}/metrics", headers={"Host": "evil.example"}).status == 403
    finally:
        proxy.terminate()
        proxy.wait(TIMEOUT)


def is_served(url):
    try:
        return get(f"{url}/-/ready").status == 200
    except OSError:
        return False


def test_a_port_only_where_it_is_asked_for():
    """The installed service listens at its unix socket only."""
    listens = [line for line in (ROOT / "dist/daemon.conf").read_text().splitlines() if line.startswith("listen")]
    assert listens == ["listen /run/alys-bpf/http"]
