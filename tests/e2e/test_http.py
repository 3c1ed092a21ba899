# SPDX-License-Identifier: Apache-2.0
"""The daemon's HTTP server with go tool pprof, Prometheus, browsers and hostile clients. No root needed."""

import json
import os
import random
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import pprof_rules
from browser_driver import drive, need
from conftest import pprof
from web_driver import TIMEOUT, Fake, build, get, own_servers, raw, wait_for


@pytest.fixture(scope="module")
def fake():
    one = Fake()
    yield one
    said, complained = one.stop()
    assert said == "marks left 0\n" and not complained


@pytest.fixture
def own():
    """A server with other options, for one test."""
    with own_servers(complaints=True) as start:
        yield start


# --- profiles --------------------------------------------------------------------------------------

@pytest.mark.parametrize("later", [0, 50])
def test_go_tool_pprof_fetches_a_heap(own, later):
    need("go")
    server = own("--later", later)
    top = pprof("-top", "-sample_index=inuse_space", f"{server.url}/debug/pprof/heap?pid=4242")
    rows = {line.split()[5]: line.split()[0] for line in top.splitlines() if re.match(r"^ +[0-9.]+k?B? ", line)}
    assert set(rows) == {"Page.render", "Cart.add", "main"} and rows["Cart.add"] == "1kB"
    assert "Type: inuse_space" in top
    evil = pprof("-top", f"{server.url}/debug/pprof/allocs?pid=4243")
    assert "Type: alloc_space" in evil and "Page.render" not in evil
    both = pprof("-top", f"{server.url}/debug/pprof/heap")
    assert "Page.render" in both and "evil" in both


@pytest.mark.parametrize("later", [0, 50])
def test_go_tool_pprof_fetches_a_window(own, later):
    need("go")
    server = own("--later", later)
    time.sleep(1)
    begun = time.monotonic()
    top = pprof("-top", "-sample_index=alloc_space", "-seconds", "2", f"{server.url}/debug/pprof/allocs?pid=4242")
    assert 1.9 < time.monotonic() - begun < 10
    # 1000 bytes every 50 ms, and nothing from before.
    assert "Cart.add" not in top
    total = float(re.search(r"of ([0-9.]+)kB total", top).group(1))
    assert 20 < total < 60


def samples(body, path):
    path.write_bytes(body)
    text = pprof("-raw", path).split("Samples:\n")[1].split("Locations\n")[0]
    return [[int(n) for n in line.split(":")[0].split()] for line in text.splitlines()[1:]]


@pytest.mark.parametrize("later", [0, 50])
def test_delta_heap_counts_from_the_last_time(own, later, tmp_path):
    need("go")
    server = own("--later", later)
    url = f"{server.url}/debug/pprof/delta_heap?pid=4242"
    first = samples(get(url).body, tmp_path / "first")
    time.sleep(1)
    second = samples(get(url).body, tmp_path / "second")
    grown, still = second
    assert first[0][1] > 4000 and still[:2] == [0, 0] and still[2:] == [1, 1024]
    assert grown[0] * 1000 == grown[1] and 10 <= grown[0] <= 60
    assert grown[3] == first[0][3] + grown[1], "in use is as of the end"
    other = samples(get(f"{server.url}/debug/pprof/delta_heap?pid=4243").body, tmp_path / "other")
    assert other == [[1, 512, 1, 512]]


def test_what_alloy_wants_of_an_answer(fake):
    answer = get(f"{fake.url}/debug/pprof/allocs?pid=4242")
    assert answer.status == 200 and answer.headers["content-type"].startswith("application/octet-stream")
    assert answer.body[:2] == b"\x1f\x8b"
    gone = get(f"{fake.url}/debug/pprof/allocs?pid=99")
    assert gone.status == 404 and gone.text == "process 99 is not traced\\x1b\n"
    assert get(f"{fake.url}/debug/pprof/heap?pid=99&seconds=1").status == 404
    assert get(f"{fake.url}/debug/pprof/delta_heap?pid=99").status == 404
    assert "/debug/pprof/heap" in get(f"{fake.url}/debug/pprof/profile").text


def test_scrapers_find_what_they_want(own):
    """As Parca and Alloy do it: the targets that /sd names, each path with its parameters, and how they judge the answers."""
    server = own("--later", 10)
    groups = json.loads(get(f"{server.url}/sd").text)
    pids = [g["labels"]["__param_pid"] for g in groups]
    assert pids == ["4242", "4243"]
    for g in groups:
        pprof_rules.check_labels([("__name__", "memory"), *g["labels"].items()])
    for pid in pids:
        for path in ("allocs", "heap", "delta_heap"):
            p = pprof_rules.check_answer(get(f"{server.url}/debug/pprof/{path}?pid={pid}"))
            assert p.default_type == ("alloc_space" if path == "allocs" else "inuse_space")
    first, later = (pprof_rules.check_answer(get(f"{server.url}/debug/pprof/allocs?pid=4242")) for _ in range(2))
    window = pprof_rules.check_answer(get(f"{server.url}/debug/pprof/allocs?pid=4242&seconds=1&seconds=1"))
    last = pprof_rules.check_answer(get(f"{server.url}/debug/pprof/allocs?pid=4242"))
    # Whole profiles have a date and no duration; Alloy subtracts the allocations of the previous one.
    assert len({p.time_ns for p in (first, later, last)}) == 3 and not first.duration_ns and not last.duration_ns
    for name in ("alloc_objects", "alloc_space"):
        before, after = first.values(name), last.values(name)
        assert before.keys() <= after.keys() and all(after[k] >= n for k, n in before.items())
    assert window.duration_ns >= 1e9
    assert 0 < window.total("alloc_space") <= last.total("alloc_space") - later.total("alloc_space")
    assert window.total("inuse_space") > 5000, "in use is no difference"


@pytest.fixture
def go_program(tmp_path):
    need("go")
    subprocess.run(["go", "build", "-o", tmp_path / "program", Path(__file__).parent / "go_program.go"], check=True, timeout=5 * TIMEOUT,
                   env={**os.environ, "GOCACHE": str(tmp_path / "cache"), "GOPATH": str(tmp_path / "go"), "GO111MODULE": "off"})
    proc = subprocess.Popen([tmp_path / "program"], stdout=subprocess.PIPE, text=True)
    yield "http://" + proc.stdout.readline().strip()
    proc.kill()
    proc.wait()


def test_profiles_are_those_of_a_go_program(go_program, own):
    """The same requests to both servers give answers of the same form."""
    server = own()

    def facts(url):
        begun = time.time()
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            assert answer.headers["Content-Type"] == "application/octet-stream"
            p = pprof_rules.Profile(answer.read())
        pprof_rules.check_parca(p)
        assert begun - 10 < p.time_ns / 1e9 < time.time() + 10 and p.total("alloc_space") > 0
        # Without -sample_index the last type is shown first; in this version of Go, a difference has lost its default type.
        first = None if "seconds" in url else p.default_type or p.types[-1][0]
        return p.types, first, p.period_type, p.duration_ns > 10**9, p.duration_ns == 0

    for path in ("heap", "allocs", "heap?gc=1", "allocs?debug=0", "allocs?seconds=2", "allocs?seconds=2&seconds=9"):
        assert facts(f"{server.url}/debug/pprof/{path}") == facts(f"{go_program}/debug/pprof/{path}"), path
    for path in ("heap?seconds=x", "allocs?seconds=-1", "heap?seconds=1&debug=1"):
        for url in (go_program, server.url):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{url}/debug/pprof/{path}", timeout=TIMEOUT)
            assert refused.value.code == 400


def test_a_window_outlasts_every_patience(own):
    """Alloy's requests take 14 seconds by default; idle connections are closed after 10."""
    server = own()
    p = pprof_rules.check_answer(get(f"{server.url}/debug/pprof/allocs?pid=4242&seconds=14"))
    assert p.duration_ns >= 14e9


def ask_for_windows(server, n):
    request = f"GET /debug/pprof/heap?seconds=300 HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode()
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(n)]
    for s in held:
        s.sendall(request)
    return held


def test_windows_of_all_processes_at_once(own):
    server = own("--later", 10)
    held = ask_for_windows(server, 14)
    answers = []
    threads = [threading.Thread(target=lambda pid=pid: answers.append(get(f"{server.url}/debug/pprof/allocs?pid={pid}&seconds=2")))
               for pid in (4242, 4243)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [pprof_rules.check_answer(a).duration_ns >= 2e9 for a in answers] == [True, True]
    for s in held:
        s.close()


def test_windows_have_a_limit_and_gone_clients_free_them(own):
    server = own()
    held = ask_for_windows(server, 16)
    wait_for(lambda: get(f"{server.url}/debug/pprof/heap?seconds=1", timeout=5).status == 429)
    refused = get(f"{server.url}/debug/pprof/heap?seconds=300")
    assert refused.status == 429 and refused.headers["retry-after"] == "5" and "ask again" in refused.text
    assert get(f"{server.url}/debug/pprof/heap").status == 200, "whole profiles are served meanwhile"
    held.pop().close()
    wait_for(lambda: get(f"{server.url}/debug/pprof/heap?seconds=1").status == 200)
    for s in held:
        s.close()


def test_deltas_of_many_processes(own):
    """Each has its own baseline; none replaces another's."""
    server = own("--many", 150)
    delta = lambda pid: pprof_rules.check_answer(get(f"{server.url}/debug/pprof/delta_heap?pid={pid}"))
    assert delta(4243).total("alloc_space") == 512
    for pid in range(10000, 10150):
        assert delta(pid).total("alloc_space") == 0
    assert delta(4243).total("alloc_space") == 0


def test_ipv6(own):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    server = own("--listen", "[::1]:0")
    answer = urllib.request.urlopen(f"{server.url}/sd", timeout=TIMEOUT)
    assert re.fullmatch(r"\[::1\]:\d+", server.address)
    assert {t for g in json.load(answer) for t in g["targets"]} == {server.address}
    done = subprocess.run([build("webfake"), "--listen", server.address], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and f"{server.address} is in use" in done.stderr


def sockets(server):
    """The number of sockets that the server has, including the listening one."""
    n = 0
    for fd in os.listdir(f"/proc/{server.proc.pid}/fd"):
        try:
            n += os.readlink(f"/proc/{server.proc.pid}/fd/{fd}").startswith("socket:")
        except OSError:  # it is closed already
            pass
    return n


def test_ends_while_clients_wait(own):
    server = own("--later", 3000)
    answers = []
    assert get(f"{server.url}/debug/pprof/delta_heap").status == 200  # so that there is a mark to count from
    wait_for(lambda: sockets(server) == 1)
    threads = [threading.Thread(target=lambda u=u: answers.append(get(server.url + u).status))
               for u in ("/debug/pprof/heap?seconds=300", "/report?pid=4242", "/debug/pprof/delta_heap")]
    for t in threads:
        t.start()
    wait_for(lambda: sockets(server) == 4)
    time.sleep(1)
    begun = time.monotonic()
    said, _ = server.stop()
    assert time.monotonic() - begun < 30  # of the 300 s that the window has
    for t in threads:
        t.join(10)
    assert 503 in answers and len(answers) == 3
    assert said == "marks left 0\n"


# --- Prometheus ------------------------------------------------------------------------------------

def test_promtool_likes_the_metrics(fake):
    need("promtool")
    answer = get(f"{fake.url}/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for text in (answer.text, get(f"{fake.url}/metrics?pid=4242").text):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert get(f"{fake.url}/metrics?pid=1").status == 404
    hits, recorded, skipped, lost = (sum(float(n) for n in re.findall(rf"^alys_{name}_total{{.*}} (\S+)$", answer.text, re.M))
                                   for name in ("hits", "events_recorded", "events_skipped", "events_lost"))
    assert hits and hits == recorded + skipped + lost


def prometheus(config, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    (tmp_path / "prometheus.yml").write_text(config)
    proc = subprocess.Popen(["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                             f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    return proc, port


def test_prometheus_scrapes_the_daemon_and_each_process(fake, tmp_path):
    need("prometheus")
    proc, port = prometheus(f"""
global: {{ scrape_interval: 1s, scrape_timeout: 1s }}
scrape_configs:
  - job_name: daemon
    static_configs: [{{ targets: ["{fake.address}"] }}]
  - job_name: processes
    http_sd_configs: [{{ url: "{fake.url}/sd", refresh_interval: 1s }}]
""", tmp_path)

    def query(text):
        try:
            answer = get(f"http://127.0.0.1:{port}/api/v1/query?query={text}", headers={"Connection": "close"})
            return json.loads(answer.body[answer.body.index(b"{"):answer.body.rindex(b"}") + 1])["data"]["result"]
        except (OSError, ValueError, KeyError, IndexError):
            return []

    try:
        wait_for(lambda: len(query("alys_target_live_bytes")) == 4)
        build = query("alys_build_info")
        assert len(build) == 1 and build[0]["metric"]["job"] == "daemon"
        each = [r["metric"] for r in query("alys_target_live_bytes") if r["metric"]["job"] == "processes"]
        assert {(m["exported_pid"], m["pid"]) for m in each} == {("4242", "4242"), ("4243", "4243")}
        assert {m["service_name"] for m in each} >= {"shop"}
        wait_for(lambda: len([r for r in query("up") if r["value"][1] == "1"]) == 3)
    finally:
        proc.terminate()
        proc.wait(10)


def test_sd_is_what_discovery_wants(fake):
    answer = get(f"{fake.url}/sd", headers={"Host": f"localhost:{fake.port}"})
    groups = json.loads(answer.text)
    assert answer.headers["content-type"] == "application/json"
    assert [g["labels"]["__param_pid"] for g in groups] == ["4242", "4243"]
    assert all(g["targets"] == [f"localhost:{fake.port}"] for g in groups)
    assert all(isinstance(v, str) for g in groups for v in g["labels"].values())


def test_many_processes_do_not_mean_many_series(own):
    server = own("--many", 2000)
    assert get(f"{server.url}/metrics").text.count("alys_target_live_bytes{") == 100
    assert len(json.loads(get(f"{server.url}/sd").text)) == 2002
    assert "and 1502 more" in get(f"{server.url}/").text


# --- pages -----------------------------------------------------------------------------------------

def test_pages_in_a_browser(fake, tmp_path):
    seen = drive(tmp_path, f"{fake.url}/", """
    const out = { title: await page.title(), state: await page.locator("#state").innerText(),
                  notice: await page.locator("#notice").innerText(),
                  rows: await page.$$eval("tbody tr", (rows) => rows.map((r) => r.innerText)),
                  lines: await page.$$eval("polyline", (l) => l.length),
                  paper: await page.evaluate(() => getComputedStyle(document.querySelector("table")).borderCollapse) };
    await page.click("text=report");
    await page.waitForFunction(() => document.documentElement.dataset.shown);
    out.report = await page.title();
    out.sites = await page.locator("#table").innerText();
    return out;
    """, foreign=True)
    assert seen["title"] == "alys-bpf: live heaps" and "2 processes" in seen["state"]
    assert "<256M>" in seen["notice"]
    assert len(seen["rows"]) == 2 and seen["rows"][0].startswith("shop") and "4242" in seen["rows"][0] and "<script>" in seen["rows"][1]
    assert seen["lines"] == 1 and seen["paper"] == "collapse", "the style is there"
    assert "heap report" in seen["report"].lower() and "Cart.add" in seen["sites"]


def test_the_list_of_processes_is_sorted_by_its_columns(fake, tmp_path):
    """By mouse and keyboard, without a script; the order stays when the page reloads."""
    seen = drive(tmp_path, f"{fake.url}/", """
    const state = async () => ({ pids: await page.$$eval("tbody tr", (rows) => rows.map((r) => r.cells[1].innerText)),
        sort: await page.$$eval("th[aria-sort]", (all) => Object.fromEntries(all.map((h) => [h.innerText.trim(), h.getAttribute("aria-sort")]))) });
    const out = { first: await state() };
    await page.click("th >> text=RSS");
    out.rss = await state();
    await page.focus("th#rss a");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    out.turned = await state();
    out.refresh = await page.getAttribute("meta[http-equiv=refresh]", "content");
    await page.click("th >> text=program");
    out.program = await state();
    await page.focus("th#program a");
    await page.keyboard.press("Tab");
    out.next = await page.evaluate(() => document.activeElement.textContent);
    return out;
    """, foreign=True)
    assert seen["first"]["pids"] == ["4242", "4243"] and seen["first"]["sort"]["live"] == "descending"
    assert seen["rss"]["pids"] == ["4243", "4242"] and seen["rss"]["sort"] == {**dict.fromkeys(seen["first"]["sort"], "none"), "RSS": "descending"}
    assert seen["turned"]["pids"] == ["4242", "4243"] and seen["turned"]["sort"]["RSS"] == "ascending"
    assert seen["program"]["sort"]["program"] == "ascending" and seen["next"] == "PID"
    assert seen["refresh"] == "10", "without an address: that of the order at hand"
    refused = get(f"{fake.url}/?sort=nonsense")
    assert refused.status == 400 and "sort wants a column: live, program" in refused.text


def test_the_list_says_how_large_and_since_when(fake):
    page = get(f"{fake.url}/").text
    rows = dict(re.findall(r"(?s)<tr><td>([^ ]+) .*?</td>(.*?)</tr>", page))
    shop = re.sub(r"<[^>]*>", " ", rows["shop"])
    assert re.search(r" 3\.0 MiB .* 12 min ", shop, re.S), shop
    assert re.search(r"0 to \d+(\.\d)? [KM]iB, last 295 s|0 to .*, last 5 min", shop), "the scale of the line, and of its time"


@pytest.mark.parametrize("width", [390, 1200])
def test_names_stay_whole_on_a_phone(fake, tmp_path, width):
    seen = drive(tmp_path, f"{fake.url}/", """
    await page.setViewportSize({ width: args.width, height: 844 });
    return page.evaluate(() => {
      const [, , live, rss, rate, lately, since, recorded, lost] = document.querySelector("tbody tr").cells;
      live.innerHTML = "1023.9 MiB <small>± 1023.9 MiB</small>";
      lately.querySelector("small").textContent = "0 to 1023.9 MiB, last 295 s";
      for (const [cell, widest] of [[rss, "1023.9 MiB"], [rate, "1023.9 MiB/s"], [since, "100 d"], [recorded, "999,999,999"], [lost, "99,999,999"]])
        cell.textContent = widest;
      const box = (e) => { const { top, width, right } = e.getBoundingClientRect(); return { top, width, right }; };
      const [row] = document.querySelectorAll("tbody tr");
      return { wide: document.documentElement.scrollWidth, name: box(row.cells[0]), others: Array.from(row.cells).slice(1).map(box),
               label: getComputedStyle(row.cells[2], "::before").content };
    });
    """, foreign=True, width=width)
    assert seen["wide"] <= width and seen["name"]["width"] >= 200
    if width == 390:
        assert all(cell["top"] > seen["name"]["top"] and cell["right"] <= width for cell in seen["others"])
        assert seen["name"]["width"] > 300 and seen["label"] not in ("none", "normal")
    else:
        assert all(cell["top"] == seen["name"]["top"] for cell in seen["others"]) and seen["label"] in ("none", "normal")


@pytest.mark.parametrize("path", ["/", "/debug/pprof/", "/report?pid=4242", "/metrics", "/style.css", "/nowhere"])
def test_headers_that_keep_browsers_in_bounds(fake, path):
    headers = get(fake.url + path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert not [h for h in headers if h.startswith("access-control")]


def test_the_report_names_its_script(fake):
    page = get(f"{fake.url}/report?pid=4242").text
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'", policy) and "script-src 'unsafe-inline'" not in policy


# --- who may ask, and how --------------------------------------------------------------------------

@pytest.mark.parametrize("host,status", [
    ("127.0.0.1", 200), ("localhost:1", 200), ("[::1]", 200), ("evil.example", 403), ("127.0.0.1.evil.example", 403),
    ("10.0.0.1", 403), ("", 403), (None, 400)])
def test_forged_hosts(fake, host, status):
    assert get(f"{fake.url}/metrics", headers={"Host": host}).status == status


def test_two_hosts_are_one_too_many(fake):
    answer = raw(fake.port, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
    assert answer.status == 400


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_only_reading(fake, method):
    answer = get(f"{fake.url}/metrics", method=method, headers={"Content-Length": "0"})
    assert answer.status in (405, 400), answer.status
    if answer.status == 405:
        assert answer.headers["allow"] == "GET, HEAD"


def test_head_has_no_body(fake):
    answer = get(f"{fake.url}/metrics", method="HEAD")
    assert answer.status == 200 and not answer.body and int(answer.headers["content-length"]) > 1000


@pytest.mark.parametrize("site,mode,status", [
    ("cross-site", "no-cors", 403), ("same-site", "cors", 403), ("cross-site", "navigate", 200), ("same-origin", "cors", 200),
    ("none", "navigate", 200)])
def test_pages_of_other_sites(fake, site, mode, status):
    assert get(f"{fake.url}/metrics", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}).status == status


@pytest.mark.parametrize("query", ["seconds=301", "seconds=0", "seconds=-1", "seconds=x", "pid=x", "pid=0", "pid=1&pid=2", "debug=1"])
def test_parameters_out_of_bounds(fake, query):
    answer = get(f"{fake.url}/debug/pprof/heap?{query}")
    assert answer.status == 400 and answer.text.endswith("\n") and len(answer.text) > 20


def test_sizes(fake):
    assert get(f"{fake.url}/metrics", headers={"X": "a" * 6000}).status == 200
    assert get(f"{fake.url}/metrics", headers={"X": "a" * 9000}).status in (413, 431)
    assert get(f"{fake.url}/{'a' * 9000}").status in (413, 414, 431)
    assert raw(fake.port, b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n").status in (0, 400, 405)
    body = raw(fake.port, f"POST / HTTP/1.1\r\nHost: {fake.address}\r\nContent-Length: 99999999\r\n\r\n".encode())
    assert body.status == 405
    assert get(f"{fake.url}/-/healthy").status == 200


def test_garbage(own):
    """Malformed requests, some without end: each is rejected or answered, and no connection remains."""
    server = own()
    dice = random.Random(7)
    good = f"GET /debug/pprof/heap?pid=4242&samples=3 HTTP/1.1\r\nHost: {server.address}\r\nAccept: */*\r\n\r\n".encode()
    fds = len(os.listdir(f"/proc/{server.proc.pid}/fd"))
    for _ in range(300):
        data = bytearray(good)
        for _ in range(dice.randrange(1, 8)):
            at = dice.randrange(len(data))
            data[at:at + dice.randrange(3)] = bytes([dice.randrange(256)])
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except TimeoutError:
                raise
            except OSError:  # it has hung up already
                pass
    assert get(f"{server.url}/-/healthy").status == 200
    wait_for(lambda: len(os.listdir(f"/proc/{server.proc.pid}/fd")) <= fds + 1)


def test_slow_clients_are_sent_away(own):
    """A client that sends one byte a second is never idle for ten seconds, and is disconnected all the same."""
    server = own()
    begun = time.monotonic()
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(32)]
    alive = set(clients)
    text = iter(f"GET / HTTP/1.1\r\nHost: {server.address}\r\nX: ".encode() + b"a" * 200)
    while alive and time.monotonic() - begun < 60:
        byte = bytes([next(text)])
        for c in list(alive):
            try:
                c.sendall(byte)
                c.settimeout(0.001)
                if not c.recv(1):
                    alive.discard(c)
            except TimeoutError:
                pass
            except OSError:
                alive.discard(c)
        time.sleep(0.5)
    assert not alive and time.monotonic() - begun > 9
    assert get(f"{server.url}/-/healthy").status == 200
    timeouts = re.search(r"^alys_http_timeouts_total (\d+)$", get(f"{server.url}/metrics").text, re.M)
    assert int(timeouts.group(1)) == 32
    for c in clients:
        c.close()


def test_more_clients_than_places(own):
    server = own()
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(140)]
    assert get(f"{server.url}/-/healthy", timeout=25).status == 200
    for c in idle:
        c.close()
    fds = len(os.listdir(f"/proc/{server.proc.pid}/fd"))
    for _ in range(200):
        assert get(f"{server.url}/-/healthy").status == 200
    wait_for(lambda: len(os.listdir(f"/proc/{server.proc.pid}/fd")) <= fds)


def test_addresses_that_are_refused(fake):
    def refused(*args):
        done = subprocess.run([build("webfake"), *args], capture_output=True, text=True, timeout=20)
        assert done.returncode == 1
        return done.stderr

    assert f"{fake.address} is in use by another program" in refused("--listen", fake.address)
    assert "--listen-insecure" in refused("--listen", "0.0.0.0:0")
    assert "--listen wants /PATH" in refused("--listen", "nonsense")


def test_insecure_means_any_host(own):
    server = own("--insecure", "--listen", "0.0.0.0:0")
    assert get(f"http://127.0.0.1:{server.port}/-/healthy", headers={"Host": "metrics.example:80"}).status == 200
    assert get(f"http://127.0.0.1:{server.port}/-/healthy", headers={"Host": "a b"}).status == 403


def test_curl_is_content(fake):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    done = subprocess.run(["curl", "-sS", "--fail", f"{fake.url}/-/ready"], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (0, "ready\n")
