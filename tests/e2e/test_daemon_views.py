# SPDX-License-Identifier: Apache-2.0
"""A real daemon's HTTP server and push: the numbers match the programs' own."""

import base64
import json
import os
import re
import subprocess
import threading
import time
from pathlib import Path

import pytest

import pprof_rules
from backend import Backend, values
from browser_driver import drive, need
from conftest import ALYS, TIMEOUT, Daemon, children_of, family, pprof
from served import functions, metrics, served  # noqa: F401 (a fixture)
from web_driver import get, wait_for

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


def total(found, prefix):
    return sum(n for name, n in found.items() if name.startswith(prefix + "{"))


def test_the_list_has_the_size_that_the_kernel_says(growing, served):
    """RSS and start time of a traced process."""
    target = growing()
    server = served("-p", target.pid)

    def cell(label):
        found = re.search(rf'data-label="{label}">([^<]*)</td>', get(f"{server.url}/").text)
        return found[1] if found and found[1] not in ("", "–") else None

    text = wait_for(lambda: cell("RSS"))
    number, unit = re.fullmatch(r"([\d.]+) ([KM]iB)", text).groups()
    said = float(number) * {"KiB": 1, "MiB": 1024}[unit]
    now = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{target.pid}/status").read_text())[1])
    # The heap only grows, and the view is a few seconds old.
    assert 500 < said <= now * 1.1, (said, now)
    assert re.fullmatch(r"\d+ (s|min)", cell("counted for"))


def test_go_tool_pprof_of_a_running_program(growing, served):
    need("go")
    target = growing()
    server = served("-p", target.pid)
    heap = f"{server.url}/debug/pprof/heap?pid={target.pid}"
    allocs = f"{server.url}/debug/pprof/allocs?pid={target.pid}"
    wait_for(lambda: functions(heap, "inuse_space").get("site_grow_slow", 0) > 128 << 10)
    live = functions(heap, "inuse_space")
    assert 8 < live["site_grow_fast"] / live["site_grow_slow"] < 32
    assert live.get("site_churn", 0) < 64 << 10
    before = functions(allocs, "alloc_space")
    assert before["site_churn"] > 10 * before["site_grow_fast"] > 0
    window = functions(f"{allocs}&seconds=2", "alloc_space")
    after = functions(allocs, "alloc_space")
    # It lies between the two.
    assert 0 < window["site_churn"] <= (after["site_churn"] - before["site_churn"]) * 1.001
    assert target.proc.poll() is None


def test_deltas_add_up(growing, served, tmp_path):
    need("go")
    target = growing()
    server = served("-p", target.pid)
    allocs, deltas = f"{server.url}/debug/pprof/allocs?pid={target.pid}", f"{server.url}/debug/pprof/delta_heap?pid={target.pid}"
    answers = []
    for url in (deltas, deltas, allocs, deltas, allocs):
        time.sleep(1)
        path = tmp_path / str(len(answers))
        path.write_bytes(get(url).body)
        answers.append(path)
    first, second, least, third, most = (functions(path, "alloc_space")["site_churn"] for path in answers)
    assert min(first, second, third) > 0
    assert least * 0.999 <= first + second + third <= most * 1.001


def test_scrapers_find_what_they_want(growing, served):
    """Requests per process, as Parca and Alloy send them: profiles have the time of the request, and timed ones run in parallel."""
    targets = [growing(), growing()]
    server = served(*(word for t in targets for word in ("-p", t.pid)))
    series = {str(t.pid) for t in targets}
    wait_for(lambda: {g["labels"]["__param_pid"] for g in json.loads(get(f"{server.url}/sd").text)} == series)
    for path in ("allocs", "heap", "delta_heap"):
        for pid in series:
            pprof_rules.check_answer(get(f"{server.url}/debug/pprof/{path}?pid={pid}"))
    for pid in series:
        url = f"{server.url}/debug/pprof/allocs?pid={pid}"
        wait_for(lambda: pprof_rules.check_answer(get(url)).total("inuse_space"))
        begun = time.time_ns()
        first = pprof_rules.check_answer(get(url))
        assert begun - 10**10 < first.time_ns < time.time_ns() + 10**10
        wait_for(lambda: pprof_rules.check_answer(get(url)).time_ns > first.time_ns)
        later = pprof_rules.check_answer(get(url))
        assert first.duration_ns == later.duration_ns == 0
        before, after = first.values("alloc_space"), later.values("alloc_space")
        assert all(after[k] >= n for k, n in before.items())
    answers = []
    asking = [threading.Thread(target=lambda pid=pid: answers.append(get(f"{server.url}/debug/pprof/allocs?pid={pid}&seconds=2")))
              for pid in series]
    for one in asking:
        one.start()
    for one in asking:
        one.join(TIMEOUT)
    windows = [pprof_rules.check_answer(a) for a in answers]
    assert len(windows) == 2 and all(w.duration_ns >= 2e9 and w.total("alloc_space") > 0 for w in windows)


def test_deltas_after_switching_off_and_on(growing, served, tmp_path):
    need("go")
    target = growing()
    server = served("-p", target.pid)
    url, allocs = (f"{server.url}/debug/pprof/{what}?pid={target.pid}" for what in ("delta_heap", "allocs"))
    churned = lambda path: functions(path, "alloc_space").get("site_churn", 0)
    wait_for(lambda: churned(allocs) > 0)
    assert get(url).status == 200
    server.ctl("off")
    server.ctl("on")
    wait_for(lambda: churned(allocs) > 0)
    after = tmp_path / "after"
    after.write_bytes(get(url).body)
    assert 0 < churned(after) <= churned(allocs) * 1.001


def test_at_most_so_many_stacks(growing, served):
    need("go")
    target = growing()
    server = served("-p", target.pid)
    allocs = f"{server.url}/debug/pprof/allocs?pid={target.pid}"
    wait_for(lambda: set(functions(allocs, "alloc_space")) > {"site_churn", "site_grow_fast", "site_grow_slow"})
    whole = functions(allocs, "alloc_space")
    cut = functions(f"{allocs}&samples=2", "alloc_space")
    leaves = {name: n for name, n in cut.items() if n}
    assert len(leaves) == 2 and "site_churn" in leaves
    assert sum(leaves.values()) >= sum(whole.values())
    assert "at most 2 stacks are told apart" in pprof("-comments", f"{allocs}&samples=2")
    assert "told apart" not in pprof("-comments", allocs)


def test_metrics_hold_the_law(growing, served):
    target = growing()
    server = served("-p", target.pid)
    wait_for(lambda: total(metrics(server), "alys_hits_total") > 1000)
    text = get(f"{server.url}/metrics").text
    if subprocess.run(["which", "promtool"], capture_output=True).returncode == 0:
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=TIMEOUT)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    server.ctl("off")
    found = metrics(server)
    hits = total(found, "alys_hits_total")
    assert hits > 1000
    assert hits == sum(total(found, f"alys_events_{k}_total") for k in ("recorded", "skipped", "lost"))
    assert found["alys_recording"] == 0
    assert "Switched off" in get(f"{server.url}/").text
    server.ctl("on")
    live = f'alys_target_live_bytes{{pid="{target.pid}",comm="c_grow"}}'
    wait_for(lambda: metrics(server, f"?pid={target.pid}").get(live, 0) > 100 << 10)
    found = metrics(server)
    assert found["alys_recording"] == 1 and found["alys_targets"] == 1


def test_losses_are_those_of_their_processes(started, served, tmp_path):
    """With a ring that is too small, every output has each process' own losses, and they add up to the total."""
    need("go")
    targets = [started.program("c_busy").wait_ready().go() for _ in range(2)]
    server = served("--ring", "4k", "--sample", "bytes:16", *(w for t in targets for w in ("-p", t.pid)))
    stages = lambda text: {name: int(n) for name, n in re.findall(r"((?:ring|pending|sampled)-full[a-z-]*|no-return|unreadable) (\d+)", text)}
    wait_for(lambda: all(metrics(server, "").get(f'alys_target_lost_total{{pid="{t.pid}",comm="c_busy"}}', 0) > 100
                         for t in targets))
    server.ctl("off")
    told = server.ctl("status").decode()
    whole = stages(re.search(r"^account .*", told, re.M).group())
    table = {int(pid): (int(recorded), int(lost)) for pid, recorded, lost in
             re.findall(r"^ +(\d+)  c_busy .* (\d+) +(\d+)  \S+Z  ", told, re.M)}
    assert set(table) == {t.pid for t in targets}, told
    assert sum(lost for _, lost in table.values()) == sum(whole.values()) > 200, told
    for pid, (recorded, lost) in table.items():
        found = metrics(server, f"?pid={pid}")
        of = lambda name: found[f'alys_target_{name}_total{{pid="{pid}",comm="c_busy"}}']
        assert (of("hits"), of("recorded"), of("lost")) == (recorded + lost, recorded, lost)
        path = tmp_path / f"{pid}.pb.gz"
        path.write_bytes(server.ctl("snapshot", pid))
        own, rest = re.search(r"^(hits .*)\n(of all processes.*)$", pprof("-comments", path), re.M).groups()
        assert own.startswith(f"hits {recorded + lost} = recorded {recorded} + skipped 0 + lost {lost} (ring-full-"), own
        assert sum(stages(own).values()) == lost and stages(rest) == whole


def test_stacks_that_hold_nothing_are_forgotten(started, served, tmp_path):
    """Also in a process that lives on: its thousandth request must cost no more memory than its first."""
    need("go")
    target = started.program("c_stacks").wait_ready().go()
    server = served("-p", target.pid, "--sample", "bytes:1", "--idle-stacks", "2s")
    note = lambda name: metrics(server).get(f'alys_note{{name="{name}"}}', 0)
    burst = lambda: (target.proc.stdin.write(b"x"), target.proc.stdin.flush())
    allocs = f"{server.url}/debug/pprof/allocs?pid={target.pid}"

    def seen_again():
        burst()
        time.sleep(0.5)
        path = tmp_path / "again"
        path.write_bytes(get(allocs).body)
        return functions(path, "alloc_space").get("site_seldom", 0) > 500 * 1000

    wait_for(lambda: note("stacks") >= 1)
    burst()
    wait_for(lambda: note("stacks") > 512)
    wait_for(lambda: 0 < note("stacks-kept") < 20)
    whole = functions(allocs, "alloc_space")
    assert "site_seldom" not in whole
    assert sum(whole.values()) - whole["site_often"] >= 511 * 1000, "what they allocated is not forgotten"
    wait_for(seen_again)
    assert note("stacks") > 1024
    assert target.finish() == 0


def test_pages_and_the_report(growing, served, tmp_path):
    target = growing()
    server = served("-p", target.pid)
    wait_for(lambda: functions(f"{server.url}/debug/pprof/heap?pid={target.pid}", "inuse_space").get("site_grow_fast"))
    seen = drive(tmp_path, f"{server.url}/", """
    const out = { rows: await page.$$eval("tbody tr", (rows) => rows.map((r) => r.innerText)) };
    await page.click("text=report");
    await page.waitForFunction(() => document.documentElement.dataset.shown);
    out.sites = await page.locator("#table").innerText();
    return out;
    """, foreign=True)
    assert len(seen["rows"]) == 1 and seen["rows"][0].startswith("c_grow") and f"\t{target.pid}\t" in seen["rows"][0]
    assert "site_grow_fast" in seen["sites"]


def test_processes_come_and_go(started, growing, served):
    one = growing()
    server = served("--exe", "*/tests/prog/c_grow")
    pids = lambda: {g["labels"]["__param_pid"] for g in json.loads(get(f"{server.url}/sd").text)}
    wait_for(lambda: str(one.pid) in pids())
    two = growing()
    wait_for(lambda: str(two.pid) in pids())
    assert get(f"{server.url}/debug/pprof/heap?pid={two.pid}").status == 200
    two.finish()
    wait_for(lambda: str(two.pid) not in pids())
    gone = get(f"{server.url}/debug/pprof/heap?pid={two.pid}")
    assert gone.status == 404 and "not traced" in gone.text
    assert get(f"{server.url}/report?pid={two.pid}").status == 404
    assert get(f"{server.url}/debug/pprof/heap?pid={one.pid}").status == 200


def test_pushes(growing, served, tmp_path):
    need("go")
    backend = Backend()
    try:
        target = growing()
        server = served("-p", target.pid, "--push", f"http://127.0.0.1:{backend.port}", "--push-every", "1")
        wait_for(lambda: len(backend.taken) >= 4)
        for _, _, body in list(backend.taken):
            labels, _ = pprof_rules.check_push(body)
            assert (labels["service_name"], labels["pid"]) == ("c_grow", str(target.pid))
        sums = [values(b["series"][0]["samples"][0]["rawProfile"], tmp_path / "pushed") for _, _, b in list(backend.taken)]
        assert sums[-1][3] > sums[0][3], "in use grows"
        path = tmp_path / "whole"
        path.write_bytes(get(f"{server.url}/debug/pprof/allocs?pid={target.pid}").body)
        whole = values(base64.b64encode(path.read_bytes()), path)
        assert 0 < sum(s[1] for s in sums) <= whole[1] * 1.001, "allocations are those of each second"
        assert metrics(server)["alys_push_sent_total"] >= 4
    finally:
        backend.close()


def holds_internet(pid):
    """True if the process has a TCP socket."""
    inodes = {line.split()[9] for name in ("tcp", "tcp6") if Path(f"/proc/{pid}/net/{name}").exists()
              for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]}
    held = set()
    for fd in children_of(f"/proc/{pid}/fd"):
        try:
            held.add(os.readlink(fd))
        except OSError:  # it is closed already
            pass
    return bool({f"socket:[{i}]" for i in inodes} & held)


def test_only_who_has_no_rights_talks(served):
    server = served("--off", "--push", "http://127.0.0.1:1")
    assert server.collector() != server.proc.pid
    for what in (holds_internet, lambda pid: "libcurl" in Path(f"/proc/{pid}/maps").read_text()):
        assert [pid for pid in family(server.proc.pid) if what(pid)] == [server.collector()]


def test_nobody_listens_unless_told(tmp_path):
    silent = Daemon(tmp_path, "--off").wait_ready()
    try:
        assert "http" not in silent.log()
        assert not [pid for pid in family(silent.proc.pid) if holds_internet(pid)]
    finally:
        silent.kill()


@pytest.mark.parametrize("words,said", [
    (("--listen", "0.0.0.0:0"), "--listen-insecure"),
    (("--listen", "somewhere"), "--listen wants /PATH of a unix socket, PORT"),
    (("--push", "ftp://h"), "--push wants"),
    (("--every", "0"), "--every wants a time"),
    (("--push-every", "0.0000000001"), "--push-every wants a time"),
])
def test_wrong_words(tmp_path, words, said):
    done = subprocess.run([ALYS, "daemon", "--off", "--socket", tmp_path / "ctl", *words], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode != 0 and said in done.stderr


def test_a_port_in_use(served, tmp_path):
    server = served("--off")
    done = subprocess.run([ALYS, "daemon", "--off", "--socket", tmp_path / "other", "--listen", server.url[7:]], capture_output=True,
                          text=True, timeout=TIMEOUT)
    assert done.returncode != 0 and "is in use by another program" in done.stderr
    assert get(f"{server.url}/-/ready").status == 200, "the first one is unmoved"


def test_what_is_lost_explains_itself(started, served):
    """The page names stages and processes, without a script; the sum is what the ledger has lost."""
    target = started.program("c_busy").wait_ready().go()
    server = served("--ring", "4k", "--sample", "bytes:16", "-p", target.pid)
    wait_for(lambda: metrics(server).get(f'alys_target_lost_total{{pid="{target.pid}",comm="c_busy"}}', 0) > 100)
    server.ctl("off")
    found, page = metrics(server), get(f"{server.url}/").text
    losses = re.search(r'<details id="losses">(.*?)</details>', page, re.S).group(1)
    number = lambda text: int(text.replace(",", "").replace("\u202f", "").replace(" ", ""))
    stages = {name: number(n) for n, name in re.findall(r"<li>([\d, \u202f]+) ([a-z-]+)<small>", losses)}
    assert stages == {stage: n for stage, n in ((re.search(r'stage="(.*)"', name).group(1), n) for name, n in found.items()
                                                if name.startswith("alys_events_lost_total")) if n}
    whose, how = re.search(rf"<li>{target.pid} c_busy: ([\d, \u202f]+) <small>(.*?)</small>", losses).groups()
    assert number(whose) == found[f'alys_target_lost_total{{pid="{target.pid}",comm="c_busy"}}']
    assert sum(int(n) for n in re.findall(r" (\d+)(?:,|$)", how)) == number(whose)


def test_metrics_of_profiles_and_of_time(started, served, tmp_path):
    """Profiles written, failed and present, and the share of time in which it was on."""
    target = started.program("c_grow").wait_ready().go()
    folder = tmp_path / "profiles"
    server = served("-p", target.pid, "--profile-dir", folder, "--every", "1h")
    assert metrics(server)['alys_profiles_total{result="written"}'] == 0
    wait_for(lambda: metrics(server, f"?pid={target.pid}").get(f'alys_target_recorded_total{{pid="{target.pid}",comm="c_grow"}}', 0))
    server.ctl("rotate")
    wait_for(lambda: metrics(server)['alys_profiles_total{result="written"}'] == 1)
    found = metrics(server)
    assert found["alys_profile_files"] == 1 and found['alys_profiles_total{result="failed"}'] == 0
    assert found["alys_profile_files_bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert 0 < found["alys_recording_ratio"] <= 1 and found["alys_recording_seconds_total"] > 0
    server.ctl("off")
    off = metrics(server)
    time.sleep(0.2)
    later = metrics(server)
    assert later["alys_recording_seconds_total"] == off["alys_recording_seconds_total"]
    assert later["alys_recording_ratio"] < off["alys_recording_ratio"]
    # The directory goes away under it.
    server.ctl("on")
    wait_for(lambda: metrics(server, f"?pid={target.pid}").get(f'alys_target_recorded_total{{pid="{target.pid}",comm="c_grow"}}', 0))
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    server.ctl("rotate")
    wait_for(lambda: metrics(server)['alys_profiles_total{result="failed"}'] >= 1)
