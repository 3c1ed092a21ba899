# SPDX-License-Identifier: Apache-2.0
"""`make deb` and `make tarball`."""

import subprocess

import pytest

from conftest import BUILD, make

PACKAGES = BUILD / "packages"


def run(*words, **options):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=True, timeout=300, **options).stdout


@pytest.fixture(scope="module")
def package():
    make("deb")
    return next(PACKAGES.glob("alys-bpf_*.deb"))


def test_lintian_finds_nothing(package):
    done = subprocess.run(["lintian", "--fail-on", "error,warning", str(package)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_has_what_make_install_has(package, tmp_path):
    run("dpkg-deb", "-R", package, tmp_path)
    assert "alys-bpf" in run(tmp_path / "usr/bin/alys-bpf", "--help")
    assert (tmp_path / "usr/bin/alys_converter").resolve() == tmp_path / "usr/bin/alys-bpf"
    for name in ("lib/systemd/system/alys-bpf.service", "usr/lib/sysusers.d/alys-bpf.conf",
                 "usr/share/bash-completion/completions/alys-bpf", "usr/share/zsh/vendor-completions/_alys-bpf",
                 "usr/share/fish/vendor_completions.d/alys-bpf.fish", "usr/share/man/man1/alys-bpf-record.1.gz"):
        assert (tmp_path / name).stat().st_size, name
    control = tmp_path / "DEBIAN"
    assert (control / "conffiles").read_text() == "/etc/alys-bpf/daemon.conf\n"
    assert "libbpf" in (control / "control").read_text()
    # The service is not started by the installation, and the user alys is made.
    scripts = (control / "postinst").read_text()
    assert "systemd-sysusers" in scripts and "deb-systemd-invoke" not in scripts


def test_the_tarball_builds_without_npm(tmp_path):
    make("tarball")
    run("tar", "-xf", next(PACKAGES.glob("*.tar.xz")), "-C", tmp_path)
    [tree] = tmp_path.iterdir()
    page = tree / "build/user/output/sink/html.o"
    run("make", "-s", "-C", tree, "BUILD=build", page.relative_to(tree), "NPM=false", "NODE=false")
    assert page.stat().st_size > (tree / "web/bundle/head.html").stat().st_size
