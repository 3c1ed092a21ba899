"""What `make install` puts where, and what the service may do."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, TIMEOUT

WANTED = ["usr/bin/alys-bpf", "usr/bin/alys_converter", "usr/share/man/man1/alys-bpf.1",
          "usr/share/bash-completion/completions/alys-bpf", "usr/share/zsh/site-functions/_alys-bpf",
          "usr/share/fish/vendor_completions.d/alys-bpf.fish", "lib/systemd/system/alys-bpf.service",
          "usr/lib/sysusers.d/alys-bpf.conf", "etc/alys-bpf/daemon.conf"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = tmp_path_factory.mktemp("install")
    done = subprocess.run(["make", "-s", "-C", ROOT, f"BUILD={BUILD}", "install", f"DESTDIR={root}", "PREFIX=/usr"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return root


def test_everything_is_there(installed):
    for path in WANTED:
        assert (installed / path).stat().st_size > 0, path
    assert os.readlink(installed / "usr/bin/alys_converter") == "alys-bpf"
    assert re.search(r"^\.TH ALYS-BPF 1 ", (installed / "usr/share/man/man1/alys-bpf.1").read_text(), re.M), "where it lies"
    assert "/usr/bin/alys-bpf daemon" in (installed / "lib/systemd/system/alys-bpf.service").read_text()
    help_text = subprocess.run([installed / "usr/bin/alys-bpf", "daemon", "--help"], capture_output=True, text=True,
                               timeout=TIMEOUT).stdout
    for line in (installed / "etc/alys-bpf/daemon.conf").read_text().splitlines():
        if line and not line.startswith("#"):
            assert f"--{line.split()[0]}" in help_text, line


@pytest.mark.parametrize("line, words", [
    ("alys-bpf graph --show ", "graph counts sizes"), ("alys-bpf report --show ", "live alloc peak temporary leaked freed"),
    ("alys-bpf --backtrace ", "none addr name full"), ("alys-bpf ctl --tim", "--timeout"),
])
def test_completion_knows_the_verb(installed, line, words):
    """Options of one name take other words elsewhere."""
    script = ('source "$0"; COMP_WORDS=($1); [[ $1 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
              '_alys_bpf; echo "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, installed / WANTED[3], line], capture_output=True, text=True, timeout=TIMEOUT, cwd=installed)
    assert done.stdout.split() == words.split(), done.stderr


def test_changed_configuration_stays(installed):
    conf = installed / "etc/alys-bpf/daemon.conf"
    conf.write_text("all\n")
    subprocess.run(["make", "-s", "-C", ROOT, f"BUILD={BUILD}", "install", f"DESTDIR={installed}", "PREFIX=/usr"],
                   check=True, timeout=600)
    assert conf.read_text() == "all\n"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_exposure_of_the_service(installed):
    unit = installed / "lib/systemd/system/alys-bpf.service"
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True,
                          text=True, timeout=TIMEOUT)
    score = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert score and float(score.group(1)) <= 3.5, done.stdout + done.stderr
