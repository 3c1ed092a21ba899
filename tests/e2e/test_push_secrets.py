# SPDX-License-Identifier: Apache-2.0
"""--push with TLS, headers and passwords: who gets them, and where they never show."""

import base64
import gzip
import os
from pathlib import Path

import pytest

from authority import Authority, context_of
from backend import Backend
from pushed import dropped, metric, pushing
from test_push_otlp import Grpc
from web_driver import Fake, get, wait_for

TOKEN = "tok-1234567890"
PASSWORD = "s3cret-of-shop"


def secret(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def served():
    running = []

    def start(**how):
        running.append(Backend(**how))
        return running[-1]

    yield start
    for one in running:
        one.close()


def test_servers_are_trusted_by_the_given_authority(authority, served, pushing):
    key, certificate = authority.server()
    for scheme, decode in (("https", None), ("otlp+https", gzip.decompress)):
        server = served(tls=context_of(key, certificate), **({"decode": decode} if decode else {}))
        pushed = pushing(f"{scheme}://127.0.0.1:{server.port}", "--push-ca", authority.certificate)
        wait_for(lambda: metric(pushed, "alys_push_sent_total") >= 3)
        assert server.taken and pushed.stop()[1] == ""


def test_grpc_servers_are_trusted_by_the_given_authority(authority, pushing):
    key, certificate = authority.server()
    server = Grpc((key.read_bytes(), certificate.read_bytes()))
    try:
        pushed = pushing(server.url, "--push-ca", authority.certificate)
        wait_for(lambda: metric(pushed, "alys_push_sent_total") >= 3)
        assert pushed.stop()[1] == ""
    finally:
        server.close()


@pytest.mark.parametrize("name,days,known,why", [
    ("IP:127.0.0.1", -1, True, "certificate has expired"),
    ("DNS:elsewhere.test", 30, True, "subject name matches"),
    ("IP:127.0.0.1", 30, False, "unable to get local issuer certificate"),
])
def test_a_server_that_cannot_prove_who_it_is_gets_nothing(authority, served, pushing, tmp_path, name, days, known, why):
    server = served(tls=context_of(*authority.server(name, days)))
    trust = ("--push-ca", authority.certificate) if known else ()
    token = secret(tmp_path / "token", f"Authorization: Bearer {TOKEN}\n")
    pushed = pushing(f"https://127.0.0.1:{server.port}", "--push-header-file", token, *trust)
    wait_for(lambda: metric(pushed, "alys_push_retries_total") >= 2)
    assert not server.asked and metric(pushed, "alys_push_sent_total") == 0 and metric(pushed, "alys_push_waiting") >= 1
    said = pushed.stop()[1]
    assert said.count("\n") == 1 and why in said and "--push-ca FILE names its authority" in said, said


def test_secrets_are_sent_and_never_told(served, pushing, tmp_path):
    """The server repeats all that it was sent, as a careless one does."""
    headers = []

    def echo(request):
        headers.append(dict(request.headers))
        basic = base64.b64decode(headers[-1]["Authorization"].split()[1]).decode()
        return 401, {}, f"who is {basic}, {headers[-1]}".encode()

    server = served()
    server.how = echo
    user = secret(tmp_path / "user", f"shop:{PASSWORD}\n")
    more = secret(tmp_path / "headers", f"# comment\nX-Api-Key: {TOKEN}\n\nX-Plain: two words\n")
    pushed = pushing(f"http://127.0.0.1:{server.port}", "--push-user-file", user, "--push-header-file", more, "--push-header", "X-Team: till")
    wait_for(lambda: dropped(pushed, "refused") >= 2)
    encoded = base64.b64encode(f"shop:{PASSWORD}".encode()).decode()
    sent = headers[0]
    assert (sent["Authorization"], sent["X-Api-Key"], sent["X-Plain"], sent["X-Team"]) == (f"Basic {encoded}", TOKEN, "two words", "till")
    command = Path(f"/proc/{pushed.proc.pid}/cmdline").read_text()
    shown = get(f"{pushed.url}/metrics").text
    said = pushed.stop()[1]
    for text in (said, shown, command):
        assert not [s for s in (PASSWORD, TOKEN, encoded) if s in text], text
    assert "says 401 who is shop:[secret]" in said and "--push-user-file" in said, said


def test_redirects_lead_no_secret_elsewhere(served, pushing, tmp_path):
    server, other = served(), served()
    server.how = lambda request: (307, {"Location": f"http://localhost:{other.port}/"}, b"")
    token = secret(tmp_path / "token", f"Authorization: Bearer {TOKEN}\n")
    pushed = pushing(f"http://127.0.0.1:{server.port}", "--push-header-file", token)
    wait_for(lambda: dropped(pushed, "refused") >= 2)
    assert not other.asked
    assert "says 307 : this profile is dropped; redirects are not followed" in pushed.stop()[1]


def test_secrets_in_the_clear_are_warned_of(pushing, tmp_path):
    user = secret(tmp_path / "user", f"shop:{PASSWORD}\n")
    for host in ("192.0.2.1", "localhost.elsewhere.test", "127.elsewhere.test"):
        assert "secrets are sent unencrypted" in pushing(f"http://{host}:9", "--push-user-file", user).stop()[1]
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert "unencrypted" not in pushing(f"http://{host}:9", "--push-user-file", user).stop()[1]


def refusal(*args):
    """What it says when it does not start."""
    server = Fake("--push", "http://127.0.0.1:1", *args)
    said = server.stop()[1]
    assert server.proc.returncode == 1 and said.count("\n") == 1 and TOKEN not in said, said
    return said


@pytest.mark.parametrize("option", ["--push-header-file", "--push-user-file", "--push-ca"])
def test_files_that_others_control_are_refused(tmp_path, option):
    file = secret(tmp_path / "token", f"a:{TOKEN}\n")
    file.chmod(0o622)
    assert f"{file} can be changed by other users (mode 0622)" in refusal(option, file)
    file.chmod(0o600)
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (open_to_all / "link").symlink_to(file)
    assert f"{open_to_all} can be changed by other users (mode 0777)" in refusal(option, open_to_all / "link")
    (tmp_path / "through").symlink_to(open_to_all)
    assert f"{open_to_all} can be changed" in refusal(option, tmp_path / "through" / ".." / "open" / "link")
    assert option in refusal(option, open_to_all / "link")


@pytest.mark.parametrize("option", ["--push-header-file", "--push-user-file"])
def test_secrets_that_others_can_read_are_refused(tmp_path, option):
    file = secret(tmp_path / "token", f"a:{TOKEN}\n")
    for mode in (0o644, 0o604, 0o601):
        file.chmod(mode)
        assert f"{file} holds a secret that other users can read (mode {mode:04o}): `chmod 600` it" in refusal(option, file)


@pytest.mark.bpf
@pytest.mark.beside
@pytest.mark.parametrize("option", ["--push-header-file", "--push-user-file", "--push-ca"])
def test_files_of_a_targets_user_are_refused(tmp_path, option):
    file = secret(tmp_path / "token", f"a:{TOKEN}\n")
    os.chown(file, 65534, 65534)
    assert f"{file} belongs to user 65534, who could change what is sent" in refusal(option, file)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 0)
    secret(theirs / "token", f"a:{TOKEN}\n")
    assert f"{theirs} belongs to user 65534" in refusal(option, theirs / "token")
    link = tmp_path / "link"
    link.symlink_to(secret(tmp_path / "fine", f"a:{TOKEN}\n"))
    os.lchown(link, 65534, 0)
    assert f"{link} belongs to user 65534" in refusal(option, link)


def test_files_that_are_not_what_they_should_be(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for option in ("--push-header-file", "--push-user-file", "--push-ca"):
        assert "No such file" in refusal(option, tmp_path / "none")
        assert "is a directory" in refusal(option, tmp_path)
        assert "symbolic links" in refusal(option, loop)
    for text in ("no header", "Name", ": value", "Name: ", "Host: x", "ok: 1\nNa me: x", "a: b\x01"):
        said = refusal("--push-header-file", secret(tmp_path / "file", f"{text}\n{TOKEN}\n"))
        assert f"line {text.count(chr(10)) + 1} of " in said and "NAME: VALUE" in said
    for text in ("", "user", ":password", f"a:{TOKEN}\nb:c\n", "a:b\x01"):
        assert "wants one line, USER:PASSWORD" in refusal("--push-user-file", secret(tmp_path / "file", text))
    assert "no certificate in PEM form" in refusal("--push-ca", secret(tmp_path / "file", TOKEN))


def test_secrets_on_the_command_line_are_refused():
    for header in ("Authorization: Bearer x", "authorization:x", "X-Api-Key: x", "Cookie: x", "private-token: x"):
        assert "put the line into a file for --push-header-file" in refusal("--push-header", header)
    for header in ("x", "a b: c", "a:", "a: b\nc: d", "a: b\r"):
        assert "--push-header wants 'NAME: VALUE'" in refusal("--push-header", header)
    assert "set by the protocol" in refusal("--push-header", "Content-Type: text/plain")


def test_an_authority_without_encryption_is_refused(authority):
    assert "--push-ca is for URLs with https" in refusal("--push-ca", authority.certificate)
