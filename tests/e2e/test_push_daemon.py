# SPDX-License-Identifier: Apache-2.0
"""--push of a real daemon, which has given up its rights before it sends anything."""

import gzip

import pytest

import protobuf_text
from authority import Authority, context_of
from backend import Backend

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
TOKEN = "tok-1234567890"


@pytest.fixture
def collector(tmp_path):
    authority = Authority(tmp_path)
    one = Backend(decode=gzip.decompress, tls=context_of(*authority.server()))
    one.how = lambda request: (200, {"Content-Type": "application/x-protobuf"}, b"")
    one.authority = authority
    yield one
    one.close()


def resource_of(data):
    (resource,) = protobuf_text.decode("otlp.proto", "otlp.ProfilesData", data)["resource_profiles"]
    return {a["key"][0]: next(iter(a["value"][0].values()))[0] for a in resource["resource"][0]["attributes"]}


def test_a_collector_that_is_there_and_goes_away(daemon, growing, collector, tmp_path):
    """Secrets arrive and are in no output; when the server is away, profiles on disk go on."""
    token, kept, program = tmp_path / "token", tmp_path / "kept", growing()
    token.write_text(f"Authorization: Bearer {TOKEN}\n")
    token.chmod(0o600)
    d = daemon("-p", program.pid, "--push", f"otlp+https://127.0.0.1:{collector.port}", "--push-every", 0.2, "--push-header-file", token,
               "--push-ca", collector.authority.certificate, "--profile-dir", kept, "--every", 0.2)
    d.until(lambda: len(collector.taken) >= 3)
    assert {headers["Authorization"] for _, headers, _ in collector.taken} == {f"Bearer {TOKEN}"}
    found = resource_of(collector.taken[-1][2])
    assert found["process.pid"] == program.pid and found["service.name"] == found["process.executable.name"]
    assert f"build_id={found['process.executable.build_id.gnu']}\n" in d.ctl("status").decode()
    d.until(lambda: " sent to OTLP" in d.status()["push"])
    collector.how = lambda request: (503, {}, f"busy, {request.headers['Authorization']}".encode())
    d.until(lambda: "at last: the server says 503 busy, [secret]: " in d.status()["push"])
    assert "refused 0, not made 0" in d.status()["push"]
    written = len(list(kept.iterdir()))
    d.until(lambda: len(list(kept.iterdir())) >= written + 3)
    shown = d.ctl("status").decode()
    d.end()
    assert TOKEN not in d.log() + shown and d.log().count("--push: ") == 1, d.log()


def test_a_secret_is_read_again_at_a_reload(daemon, growing, collector, tmp_path):
    """A file that has become unusable does not end the daemon: it goes on as before."""
    token, conf, program = tmp_path / "token", tmp_path / "conf", growing()
    token.write_text("X-Token: first\n")
    token.chmod(0o600)
    conf.write_text(f"pid {program.pid}\npush otlp+https://127.0.0.1:{collector.port}\npush-every 0.2\npush-header-file {token}\n"
                    f"push-ca {collector.authority.certificate}\npush-header X-Team: till\n")
    d = daemon("--config", conf)
    sent = lambda: [(headers["X-Token"], headers["X-Team"]) for _, headers, _ in list(collector.taken)]
    d.until(lambda: ("first", "till") in sent())
    token.write_text("X-Token: second\n")
    d.proc.send_signal(1)
    d.until(lambda: ("second", "till") in sent())
    token.chmod(0o644)
    d.proc.send_signal(1)
    d.until(lambda: "holds a secret that other users can read (mode 0644)" in d.log())
    taken = len(collector.taken)
    d.until(lambda: len(collector.taken) >= taken + 2)
    assert "options unchanged: --push-header-file: " in d.log() and sent()[-1] == ("second", "till")
    d.end()


def allocated(data):
    """In bytes, by a pushed profile."""
    tree = protobuf_text.decode("otlp.proto", "otlp.ProfilesData", data)
    (dictionary,), (resource,) = tree["dictionary"], tree["resource_profiles"]
    names = dictionary["string_table"]
    (profile,) = [p for p in resource["scope_profiles"][0]["profiles"] if names[p["sample_type"][0]["type_strindex"][0]] == "alloc_space"]
    return sum(s["values"][0] for s in profile.get("samples", []))


def test_the_last_of_a_process_is_pushed(daemon, growing, collector, tmp_path):
    """What came between the last round and its end. All pushes together are what the last profile on disk has."""
    kept, program = tmp_path / "kept", growing()
    d = daemon("-p", program.pid, "--sample", "bytes:1", "--max-overhead", "0", "--push", f"otlp+https://127.0.0.1:{collector.port}",
               "--push-every", 3, "--push-ca", collector.authority.certificate, "--profile-dir", kept)
    d.until(lambda: len(collector.taken) >= 2)
    assert program.finish() == 0
    d.until(lambda: list(kept.glob("*-exit.pb.gz")))
    (last,) = kept.glob("*-exit.pb.gz")
    truth = sum(s["value"][1] for s in protobuf_text.decode("pprof.proto", "perftools.profiles.Profile",
                                                            gzip.decompress(last.read_bytes()))["sample"])
    d.until(lambda: sum(allocated(data) for _, _, data in list(collector.taken)) >= 0.999 * truth)
    sent = len(collector.taken)
    d.end()
    assert len(collector.taken) == sent
    assert sum(allocated(data) for _, _, data in collector.taken) == pytest.approx(truth, rel=0.001) and truth > 0
