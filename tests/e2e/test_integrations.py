# SPDX-License-Identifier: Apache-2.0
"""docs/integrations.md: every command and configuration of the page, against the program it is for, or one that plays its side."""

import gzip
import json
import re
import socket
import subprocess
import urllib.parse

import pytest
import yaml

import pprof_rules
from backend import Backend
from browser_driver import need
from conftest import ROOT
from pages import Alloy, blocks, check_keys, commands, indented, section
from pushed import metric, pushing
from test_push import Parca
from test_push_otlp import Grpc, Request
from web_driver import get, wait_for

PAGE = ROOT / "docs/integrations.md"
TITLES = ["OpenTelemetry Collector", "Prometheus", "Pyroscope", "Grafana Alloy", "Parca"]


def daemon_options(title):
    """Of each daemon that the section starts."""
    found = commands(section(PAGE, title), "alys-bpf")
    assert found and all(words[1] == "daemon" for words in found)
    return [words[2:] for words in found]


def url_pushed(options):
    return urllib.parse.urlsplit(options[options.index("--push") + 1])


def parts(title):
    return [yaml.safe_load(text) for text in blocks(section(PAGE, title), "yaml")]


def configurations(title):
    """Those that are whole: the Collector's have a service."""
    return [found for found in parts(title) if title != "OpenTelemetry Collector" or "service" in found]


@pytest.mark.parametrize("page,command", [
    ("integrations", "sudo alys-bpf daemon --all --listen 6060"), ("http-and-push", "sudo alys-bpf daemon --all --listen 6060"),
    ("containers", "sudo alys-bpf daemon --all --listen 6060"), ("service", "make deb && sudo apt install ./build/packages/alys-bpf_*.deb"),
    ("exports", "alys-bpf convert srv.alys"),
])
def test_every_page_begins_with_a_command(page, command):
    """Those that test_containers.py, test_package.py and test_outputs.py execute."""
    title, empty, first, *_ = (ROOT / f"docs/{page}.md").read_text().splitlines()
    assert title.startswith("# ") and not empty and first.startswith(f"    {command}")


def test_every_section_begins_with_what_works():
    assert re.findall(r"^## (.*)$", PAGE.read_text(), re.M) == TITLES
    for title in TITLES:
        assert section(PAGE, title).lstrip("\n").startswith("    sudo alys-bpf daemon --all "), title


# --- what is pushed: the page's options, to servers of the tests ------------------------------------------------------

def moved(options, port, tmp_path):
    """The options for a server at this port, with files that exist here."""
    out = []
    for word in options:
        if "://" in word:
            parts = urllib.parse.urlsplit(word)
            word = parts._replace(scheme=parts.scheme.replace("https", "http"), netloc=f"127.0.0.1:{port}").geturl()
        elif word.startswith("/etc/alys-bpf/"):
            file = tmp_path / word.rsplit("/", 1)[1]
            file.write_text("INSTANCE:TOKEN\n")
            file.chmod(0o600)
            word = file
        if word != "--all":
            out.append(word)
    assert out[0] == "--push"
    return out[1:]


def arrived(server, options, pushing, tmp_path):
    pushed = pushing(*moved(options, server.port, tmp_path))
    wait_for(lambda: metric(pushed, "alys_push_sent_total") >= 3)
    assert pushed.stop()[1] == ""
    return list(server.taken)


def pushes(title, scheme):
    return [o for o in daemon_options(title) if "--push" in o and url_pushed(o).scheme == scheme]


@pytest.mark.parametrize("title,port", [("OpenTelemetry Collector", 4318), ("Pyroscope", 4040)])
def test_otlp_is_pushed(pushing, tmp_path, title, port):
    (options,) = pushes(title, "otlp+http")
    assert url_pushed(options).port == port
    server = Backend(decode=gzip.decompress)
    server.how = lambda request: (200, {"Content-Type": "application/x-protobuf"}, b"")
    try:
        assert {Request(data).of["service.name"] for _, _, data in arrived(server, options, pushing, tmp_path)} >= {"shop"}
    finally:
        server.close()


def test_otlp_is_pushed_by_grpc(pushing, tmp_path):
    (options,) = pushes("OpenTelemetry Collector", "otlp+grpc")
    server = Grpc()
    server.port = url_pushed(["--push", server.url]).port
    try:
        assert arrived(server, options, pushing, tmp_path)
    finally:
        server.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_pyroscope_is_pushed_to(pushing, tmp_path, scheme):
    (options,) = pushes("Pyroscope", scheme)
    server = Backend()
    try:
        for path, headers, body in arrived(server, options, pushing, tmp_path):
            assert path == "/push.v1.PusherService/Push" and pprof_rules.check_push(body)
            assert ("Authorization" in headers) == ("--push-user-file" in options) == (scheme == "https")
    finally:
        server.close()


def test_parca_is_pushed_to(pushing, tmp_path):
    (options,) = pushes("Parca", "parca+http")
    server = Parca()
    try:
        assert all(pprof_rules.check_write_raw(data) for data in arrived(server, options, pushing, tmp_path))
    finally:
        server.close()


# --- what is scraped: the page's configurations, from a daemon --------------------------------------------------------

@pytest.fixture
def scraped(daemon, growing):
    """A daemon as the scrapers' sections start it, of one program, and its address."""
    (options,) = {tuple(o) for title in TITLES for o in daemon_options(title) if "--push" not in o}
    assert options == ("--all", "--listen", "6060")
    program = growing()
    d = daemon("-p", program.pid, *(o.replace("6060", "0") for o in options if o != "--all"))
    d.until(lambda: program.pid in d.status()["table"])
    return d.status()["http"].strip("/").replace("http://127.0.0.1", "localhost"), str(program.pid)


def asked(url, address, **more):
    """The answer at this URL of the page, from the daemon at hand."""
    parts = urllib.parse.urlsplit(url)
    assert parts.netloc == "localhost:6060"
    query = dict(urllib.parse.parse_qsl(parts.query), **more)
    return get(parts._replace(netloc=address, query=urllib.parse.urlencode(query)).geturl())


def prometheus_scrapes(address, pid, tmp_path):
    (text,) = blocks(section(PAGE, "Prometheus"), "yaml")
    config = tmp_path / "prometheus.yml"
    config.write_text(text)
    done = subprocess.run(["promtool", "check", "config", config], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    queries = [line for line in indented(section(PAGE, "Prometheus")) if not line.startswith("sudo ")]
    assert len(queries) == 2
    # Only the addresses and intervals differ from the page.
    config.write_text(text.replace("localhost:6060", address).replace("15s", "1s"))
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    server = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data",
                               f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)

    def query(words):
        try:
            answer = get(f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(words)}", headers={"Connection": "close"})
            return json.loads(answer.body[answer.body.index(b"{"):answer.body.rindex(b"}") + 1])["data"]["result"]
        except (OSError, ValueError, KeyError, IndexError):
            return []

    try:
        wait_for(lambda: len([r for r in query("up") if r["value"][1] == "1"]) == 2)
        (found,) = wait_for(lambda: query('alys_target_live_bytes{job="alys-bpf-processes"}'))
        assert found["metric"]["pid"] == pid and found["metric"]["service_name"] and "exported_pid" not in found["metric"]
        assert query("alys_build_info{job=\"alys-bpf\"}")
        for one in queries:
            wait_for(lambda: query(one))
    finally:
        server.terminate()
        server.wait(60)


def collector_scrapes(address):
    """The pprof receiver: config.schema.yaml of receiver/pprofreceiver in opentelemetry-collector-contrib, 2026-08."""
    _, config = configurations("OpenTelemetry Collector")
    remote = config["receivers"]["pprof"]["remote"]
    check_keys(remote, {"endpoint": str, "collection_interval": "duration", "initial_delay": "duration", "timeout": "duration"})
    pprof_rules.check_answer(asked(remote["endpoint"], address))


def alloy_scrapes(address, pid):
    """discovery.http, pyroscope.scrape and pyroscope.write: the reference of Alloy 1.11, 2026-09."""
    (text,) = blocks(section(PAGE, "Grafana Alloy"), "alloy")
    tree = Alloy(text).tree
    assert set(tree) == {"discovery.http", "pyroscope.scrape", "pyroscope.write"}
    ((found, discovery),), ((_, scrape),), ((sink, write),) = tree["discovery.http"], tree["pyroscope.scrape"], tree["pyroscope.write"]
    check_keys(discovery, {"url": str, "refresh_interval": "duration"})
    check_keys(write["endpoint"][0][1], {"url": str})
    assert scrape["targets"] == f"discovery.http.{found}.targets" and scrape["forward_to"] == [f"pyroscope.write.{sink}.receiver"]
    ((_, profiling),) = scrape["profiling_config"]
    paths = {"profile.memory": "allocs", "profile.godeltaprof_memory": "delta_heap"}
    on = {"profile.memory", "profile.process_cpu", "profile.block", "profile.mutex", "profile.goroutine"}  # without a configuration
    for kind, ((_, body),) in profiling.items():
        assert kind in on | set(paths) and set(body) == {"enabled"}
        on = on | {kind} if body["enabled"] else on - {kind}
    answer = asked(discovery["url"], address)
    assert answer.headers["content-type"] == "application/json"
    (target,) = json.loads(answer.text)
    assert target["targets"] == [address] and target["labels"]["service_name"] and target["labels"]["__param_pid"] == pid
    assert on == {"profile.godeltaprof_memory"}
    for kind in on:
        pprof_rules.check_answer(get(f"http://{address}/debug/pprof/{paths[kind]}?pid={pid}"))


def parca_scrapes(address, pid):
    """pkg/config/config.go of Parca, which refuses other keys, as Prometheus' discovery does."""
    (config,) = configurations("Parca")
    kinds = {"memory", "block", "goroutine", "mutex", "process_cpu"}
    profile = {"enabled": bool, "path": str, "delta": bool}
    check_keys(config, {"object_storage": {"bucket": {"type": str, "config": {"*": str}}}, "scrape_configs": [{
        "job_name": str, "scrape_interval": "duration", "scrape_timeout": "duration",
        "http_sd_configs": [{"url": str, "refresh_interval": "duration"}],
        "profiling_config": {"pprof_config": {kind: profile for kind in kinds}}}]})
    (job,) = config["scrape_configs"]
    (sd,), asks = job["http_sd_configs"], job["profiling_config"]["pprof_config"]
    assert [kind for kind in kinds if asks.get(kind, {}).get("enabled", True)] == ["memory"]
    assert "scrape_timeout" not in job, "it must be longer than the interval, as the default is"
    assert json.loads(asked(sd["url"], address).text)[0]["labels"]["__param_pid"] == pid
    assert pprof_rules.check_answer(get(f"http://{address}{asks['memory']['path']}?pid={pid}")).default_type == "alloc_space"


@pytest.mark.bpf
@pytest.mark.beside
def test_scrapers_get_what_the_page_says(scraped, tmp_path):
    need("prometheus")
    address, pid = scraped
    collector_scrapes(address)
    alloy_scrapes(address, pid)
    parca_scrapes(address, pid)
    prometheus_scrapes(address, pid, tmp_path)


def test_the_collectors_processor_goes_by_what_is_sent():
    """Keys by the README of processor/k8sattributesprocessor in opentelemetry-collector-contrib."""
    (added,) = [found for found in parts("OpenTelemetry Collector") if "processors" in found]
    check_keys(added, {"processors": {"k8sattributes": {"pod_association": [{"sources": [{"from": str, "name": str}]}]}}})
    ((source,),) = (one["sources"] for one in added["processors"]["k8sattributes"]["pod_association"])
    assert source["from"] == "resource_attribute" and f"`{source['name']}`" in (ROOT / "docs/exports.md").read_text()


def test_the_collectors_configurations_are_whole():
    """Each part that a pipeline names is there, and takes profiles; the ports are those to which the page pushes."""
    receivers = {"otlp": {"protocols": {"http": {"endpoint": str}, "grpc": {"endpoint": str}}}, "pprof": {"remote": {"*": str}}}
    rules = {"receivers": receivers, "exporters": {"debug": {"verbosity": str}}, "service": {"pipelines": {"profiles": {"*": [str]}}}}
    for config in configurations("OpenTelemetry Collector"):
        check_keys(config, rules)
        pipeline = config["service"]["pipelines"]["profiles"]
        assert set(pipeline) == {"receivers", "exporters"}
        for part, names in pipeline.items():
            assert set(names) == set(config[part])
    otlp = configurations("OpenTelemetry Collector")[0]["receivers"]["otlp"]["protocols"]
    for scheme, protocol in (("otlp+http", "http"), ("otlp+grpc", "grpc")):
        (options,) = pushes("OpenTelemetry Collector", scheme)
        assert otlp[protocol]["endpoint"] == url_pushed(options).netloc
    assert "--feature-gates=+service.profilesSupport" in section(PAGE, "OpenTelemetry Collector")
