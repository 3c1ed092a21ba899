# SPDX-License-Identifier: Apache-2.0
"""`make deb`, `make image` and `make tarball`."""

import json
import subprocess

import pytest

from conftest import BUILD, TIMEOUT, make, wait_until
from pages import indented, section

PACKAGES = BUILD / "packages"
IMAGE = PACKAGES / "alys-bpf-image.tar"
# What a container runtime mounts.
MOUNTS = 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" && exec chroot "$0" alys-bpf "$@"'


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


def test_the_page_installs_and_enables_it(package, tmp_path):
    """The page's first commands: apt finds all that the package depends on, and systemd the unit. Neither changes this machine."""
    both, enable, *_ = indented((BUILD.parent / "docs/service.md").read_text())
    build, install = both.split(" && ")
    assert build == "make deb" and install.startswith("sudo apt install ./build/packages/")
    said = run("sh", "-c", install.replace("sudo apt install ", "apt-get -q --simulate install ").replace("./build", str(BUILD)))
    assert "Inst alys-bpf " in said and "Conf alys-bpf " in said
    run("dpkg-deb", "-x", package, tmp_path)
    run(*enable.replace("--now", f"--root={tmp_path}").split()[1:])
    assert (tmp_path / "etc/systemd/system/multi-user.target.wants/alys-bpf.service").is_symlink()


def test_the_page_of_containers_makes_it():
    """The image's path is the one that the page loads."""
    make_it, load, *_ = indented(section(BUILD.parent / "docs/containers.md", "In a container"))
    assert make_it == "make image" and load == f"docker load -i build/{IMAGE.relative_to(BUILD)}"


@pytest.fixture(scope="module")
def image(package, tmp_path_factory):
    """The image's files, as a container has them."""
    run("scripts/image", package, IMAGE, cwd=BUILD.parent)
    parts, root = tmp_path_factory.mktemp("image"), tmp_path_factory.mktemp("root")
    run("tar", "-xf", IMAGE, "-C", parts)
    run("tar", "-xf", parts / "layer.tar", "-C", root)
    return root


def test_container_tools_read_the_image(image):
    said = json.loads(run("skopeo", "inspect", "--config", f"docker-archive:{IMAGE}"))
    assert said["config"]["Entrypoint"] == ["/usr/bin/alys-bpf"] and said["os"] == "linux"
    assert said["architecture"] == run("dpkg", "--print-architecture").strip()


def test_the_image_is_slim(image):
    """The program is all that can be run, licenses and certificates are there, and no path leads out of it."""
    assert sorted(p.name for p in image.rglob("bin/*")) == ["alys-bpf", "alys_converter"]
    assert sum(p.lstat().st_size for p in image.rglob("*") if p.is_file()) < 40 << 20
    assert (image / "usr/share/doc/libdw1/copyright").stat().st_size
    assert "BEGIN CERTIFICATE" in (image / "etc/ssl/certs/ca-certificates.crt").read_text()


@pytest.mark.bpf
def test_the_image_records(image, started):
    program = started.program("c_grow").wait_ready().go()
    words = ["unshare", "--mount", "sh", "-c", MOUNTS, image]
    assert "uprobe.multi" in run(*words, "doctor")
    run(*words, "-p", program.pid, "-d", "1", "-o", "/tmp/t.alys")
    assert "grow" in run(*words, "report", "/tmp/t.alys")


@pytest.mark.bpf
def test_the_image_pushes(image, started):
    """libcurl is loaded when it is needed: the daemon starts with --push only if it can be."""
    program = started.program("c_grow").wait_ready().go()
    daemon = subprocess.Popen(["unshare", "--mount", "sh", "-c", MOUNTS, image, "daemon", "-p", str(program.pid),
                               "--push", "http://127.0.0.1:1", "--socket", "/tmp/ctl"], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: daemon.poll() is not None or (image / "tmp/ctl").exists())
    daemon.terminate()
    said = daemon.communicate(timeout=TIMEOUT)[1]
    assert daemon.returncode == 0, said


def test_the_tarball_builds_without_npm(tmp_path):
    make("tarball")
    run("tar", "-xf", next(PACKAGES.glob("*.tar.xz")), "-C", tmp_path)
    [tree] = tmp_path.iterdir()
    page = tree / "build/user/output/sink/html.o"
    run("make", "-s", "-C", tree, "BUILD=build", page.relative_to(tree), "NPM=false", "NODE=false")
    assert page.stat().st_size > (tree / "web/bundle/head.html").stat().st_size
