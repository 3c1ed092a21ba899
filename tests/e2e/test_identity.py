# SPDX-License-Identifier: Apache-2.0
"""What other systems know a process by (service, container, pod, unit, --label) is in everything that leaves alys-bpf."""

import json
import os
import re
import subprocess

import pytest

import conftest
import pprof_rules
import protobuf_text
from backend import Backend
from conftest import PROGS, ROOT, TIMEOUT, alys, pprof, wait_until
from served import served  # noqa: F401, a fixture
from web_driver import get

pytestmark = [pytest.mark.bpf, pytest.mark.beside]

CONTAINER = "0123456789abcdef" * 4
ODD = 'a"b\\c\n\x1b[31m\u20ac,=%'
EVERY = bytes(range(1, 256))  # 0 ends a text
CLEAN = "".join(chr(b) if 0x20 <= b < 0x7f else f"\\x{b:02x}" for b in EVERY)


def build_id(program):
    notes = subprocess.run(["readelf", "-n", PROGS / program], capture_output=True, text=True, check=True, timeout=TIMEOUT).stdout
    return re.search(r"Build ID: ([0-9a-f]{40})", notes)[1]


def labels_of(profile):
    """The labels that each sample has."""
    (found,) = {tuple((profile.strings[label.one(1)], profile.strings[label.one(2)]) for label in s.messages(3)) for s in profile.samples}
    return dict(found)


def rows_by(column, trace, focus):
    done = alys("report", "--by", column, "--show", "alloc", "--focus", focus, "-f", "json", trace)
    assert done.returncode == 0, done.stderr
    return {row[column]: (row["count"], row["bytes"]) for row in json.loads(done.stdout)["rows"]}


def unquoted(text):
    return re.sub(r'\\([\\"])', r"\1", text)


def test_labels_of_a_recording(tmp_path, started):
    """Labels of the command line win over the target's environment, and names become legal in pprof."""
    trace = tmp_path / "t.alys"
    program = started.program("c_stacks", env={"OTEL_SERVICE_NAME": "till", "OTEL_RESOURCE_ATTRIBUTES": "team=pay,pid=1,a.b=1,a_b=2"})
    tracer = started.tracer("--label", "team=stock", "--label", f"odd={ODD}", "-p", program.wait_ready().pid, "-o", trace).recording()
    program.go().go().finish()
    assert tracer.wait() == 0
    info = alys("info", trace).stdout
    assert "service.name till" in info and "team stock" in info and "\x1b" not in info
    out = tmp_path / "t.pb.gz"
    assert alys("convert", "-q", "-f", "pprof", trace, out).returncode == 0
    tags = pprof("-tags", "-sample_index=alloc_space", out)
    found = dict(re.findall(r"^ *(\w+): Total .*\n.*\): (.*)$", tags, re.M))
    assert {"service_name": "till", "team": "stock", "a_b": "1"}.items() <= found.items(), tags
    assert "pid" not in found and found["odd"].startswith('a"b\\c') and "\x1b" not in tags


def test_labels_with_every_byte(tmp_path, started):
    """Formats that are UTF-8 stay so, and nothing is lost."""
    trace = tmp_path / "t.alys"
    program = started.program("c_stacks", env={"OTEL_RESOURCE_ATTRIBUTES": "every=" + "".join(f"%{b:02X}" for b in EVERY) +
                                             ",zero=a%00,process.owner=till,process.pid=1"})
    tracer = started.tracer("-p", program.wait_ready().pid, "-o", trace).recording()
    program.go().go().finish()
    assert tracer.wait() == 0
    for name in ("pprof", "otlp"):
        assert alys("convert", "-q", "-f", name, trace, tmp_path / name).returncode == 0
    labels = labels_of(pprof_rules.Profile((tmp_path / "pprof").read_bytes()))
    assert labels["every"] == CLEAN and "zero" not in labels
    (resource,) = protobuf_text.decode("otlp.proto", "otlp.ProfilesData", (tmp_path / "otlp").read_bytes())["resource_profiles"]
    attributes = resource["resource"][0]["attributes"]
    found = {a["key"][0]: next(iter(a["value"][0].values()))[0] for a in attributes}
    assert len(found) == len(attributes) and found["process.owner"] == "till" and found["process.pid"] == program.pid
    assert found["every"].replace("\\'", "'").encode() == CLEAN.replace("\\", "\\\\").replace('"', '\\"').encode()
    assert found["process.executable.build_id.gnu"] == build_id("c_stacks")
    assert all(c.isprintable() or c == "\n" for c in alys("info", trace).stdout)


def test_a_report_by_container(tmp_path, started, group):
    """A row a container, and its sum is what the program in it allocated."""
    trace, truth = tmp_path / "t.alys", {}
    scopes = [group / f"docker-{digit * 64}.scope" for digit in "ab"]
    programs = [started.program("c_libc").wait_ready() for _ in scopes]
    for scope, program in zip(scopes, programs):
        scope.mkdir()
        (scope / "cgroup.procs").write_text(str(program.pid))
    try:
        tracer = started.tracer("-p", ",".join(str(p.pid) for p in programs), "-o", trace).recording()
        for digit, program in zip("ab", programs):
            program.go()
            site = program.truths()[0]["sites"]["site_malloc"]
            truth[digit * 64] = site["allocs"], site["bytes"]
        tracer.stop()
    finally:
        for scope in scopes:
            conftest.remove_group(scope)
    assert rows_by("container", trace, "site_malloc$") == truth


def test_a_report_by_service(tmp_path, started):
    """Processes of one service are a row; one that has no such name is known by its own."""
    trace, truth = tmp_path / "t.alys", {}
    names = ["till", "till", "stock", None]
    programs = [started.program("c_libc", env={"OTEL_SERVICE_NAME": name} if name else {}).wait_ready() for name in names]
    tracer = started.tracer("-p", ",".join(str(p.pid) for p in programs), "-o", trace).recording()
    for name, program in zip(names, programs):
        site = program.go().truths()[0]["sites"]["site_malloc"]
        count, size = truth.get(name or "c_libc", (0, 0))
        truth[name or "c_libc"] = count + site["allocs"], size + site["bytes"]
    tracer.stop()
    assert rows_by("service", trace, "site_malloc$") == truth


def test_a_report_by_thread(tmp_path, started):
    """Each of eight threads allocates blocks of a size of its own."""
    trace = tmp_path / "t.alys"
    program = started.program("c_threads").wait_ready()
    tracer = started.tracer("-p", program.pid, "-o", trace).recording()
    program.go().truths()
    tracer.stop()
    found = rows_by("thread", trace, "site_thread_malloc$")
    assert sorted(found.values()) == [(4000, 4000 * (16 + 8 * thread)) for thread in range(8)], found


def test_labels_of_a_conversion(tmp_path):
    """Labels that a trace is given later, in formats that have labels."""
    out = tmp_path / "t.pb.gz"
    assert alys("convert", "-q", "-f", "pprof", "--label", "team=pay", ROOT / "tests/golden/v1.alys", out).returncode == 0
    tags = pprof("-tags", "-sample_index=alloc_space", out)
    assert re.search(r"^ *team: Total .*\n.*\): pay$", tags, re.M), tags
    refused = alys("convert", "-f", "json", "--label", "team=pay", ROOT / "tests/golden/v1.alys", tmp_path / "t.json")
    assert refused.returncode == 2 and "--label is for -f pprof" in refused.stderr and not (tmp_path / "t.json").exists()


@pytest.mark.parametrize("words,said", [
    (("--label", "novalue"), "--label wants KEY=VALUE"),
    (("--label", "=x"), "--label wants KEY=VALUE"),
    (("--label", "k="), "--label wants KEY=VALUE"),
    (("--label", "k=" + 300 * "x"), "--label wants KEY=VALUE"),
    (("--label", "k=1", "--label", "k=2"), "--label k is given twice"),
    (("--label", "service_name=till"), "--label service_name: service_name is a label of alys-bpf or of the server itself"),
    (("--label", "build.id=1"), "--label build.id: build_id is a label of alys-bpf"),
    (("--label", "__delta__=1"), "(service.name=NAME names the service)"),
    ([w for i in range(20) for w in ("--label", f"k{i}=" + 250 * "x")], "all labels may take 2047 bytes together"),
])
def test_unusable_labels(words, said):
    done = alys("record", *words, "--", "true")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_labels_of_a_daemon(started, served, group):  # noqa: F811
    """Metrics, service discovery, pushes and status have the same labels. Of the environment, only OpenTelemetry's variables are read."""
    told = {"OTEL_SERVICE_NAME": "till", "OTEL_RESOURCE_ATTRIBUTES": "zone=b,team=stock", "PASSWORD": "hush"}
    scope = group / f"docker-{CONTAINER}.scope"
    scope.mkdir()
    backend = Backend()
    try:
        program = started.program("c_grow", env=told).wait_ready().go()
        (scope / "cgroup.procs").write_text(str(program.pid))
        server = served("-p", program.pid, "--push", f"http://127.0.0.1:{backend.port}", "--push-every", "1", "--label", "team=pay",
                        "--label", f"odd={ODD}", "--label", os.fsdecode(b"every=" + EVERY))
        wait_until(lambda: backend.taken)
        pushed = {label["name"]: label["value"] for label in backend.taken[0][2]["series"][0]["labels"]}
        listed = json.loads(get(f"{server.url}/sd").text)[0]["labels"]
        info = next(line for line in get(f"{server.url}/metrics").text.split("\n") if line.startswith("alys_target_info{"))
        of_metrics = {name: unquoted(value) for name, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', info)}
        for labels in (pushed, listed, of_metrics):
            assert (labels["service_name"], labels["container_id"], labels["team"]) == ("till", CONTAINER, "pay"), labels
            assert labels["zone"] == "b" and "hush" not in labels.values()
            assert labels["pid"] == str(program.pid) and labels["odd"].startswith("a") and "\x1b" not in labels["odd"]
            assert labels["exe"].endswith("/c_grow") and labels["build_id"] == build_id("c_grow") and labels["every"] == CLEAN
        url = f"{server.url}/debug/pprof/allocs?pid={program.pid}"
        assert labels_of(pprof_rules.check_answer(get(url)))["every"] == CLEAN
        tags = pprof("-tags", url)
        assert all(re.search(rf"^ *{name}: Total .*\n.*\): {value}$", tags, re.M) for name, value in (("container_id", CONTAINER), ("team", "pay"))), tags
        status = server.ctl("status").decode()
        assert f"container.id={CONTAINER}" in status and "service.name=till" in status and "hush" not in status and "team=pay" in status and "\x1b" not in status
        assert re.search(rf"  exe=/\S+/c_grow  build_id={build_id('c_grow')}$", status, re.M), status
    finally:
        backend.close()
        conftest.remove_group(scope)
