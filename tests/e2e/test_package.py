# SPDX-License-Identifier: Apache-2.0
"""`make deb`, `make image` and `make tarball`."""

import json
import re
import subprocess

import pytest

import emulated
from conftest import ALYS, BUILD, ROOT, TIMEOUT, make, wait_until
from pages import indented, section

PACKAGES = BUILD / "packages"
ARM64 = ROOT / emulated.ARM64 / "packages"
TRACE = ROOT / "tests/golden/layout/before.alys"
IMAGE = PACKAGES / "alys-bpf-image.tar"
# What a container runtime mounts.
MOUNTS = 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" && exec chroot "$0" alys-bpf "$@"'


def run(*words, **options):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=True, timeout=300, **options).stdout


@pytest.fixture(scope="module")
def package():
    make("deb")
    return next(PACKAGES.glob("alys-bpf_*.deb"))


@pytest.fixture(scope="module")
def foreign():
    """The package of arm64, made here."""
    emulated.build("qemu-aarch64")
    make("ARCH=arm64", f"BUILD={emulated.ARM64}", "deb")
    return next(ARM64.glob("alys-bpf_*_arm64.deb"))


@pytest.mark.parametrize("which", ["package", "foreign"])
def test_lintian_finds_nothing(which, request):
    done = subprocess.run(["lintian", "--fail-on", "error,warning", str(request.getfixturevalue(which))], capture_output=True, text=True,
                          check=False)
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


def unpacked(package, image, tmp_path_factory):
    """The files of a package's image, as a container has them."""
    run("scripts/image", package, image, cwd=BUILD.parent)
    parts, root = tmp_path_factory.mktemp("image"), tmp_path_factory.mktemp("root")
    run("tar", "-xf", image, "-C", parts)
    run("tar", "-xf", parts / "layer.tar", "-C", root)
    return root


@pytest.fixture(scope="module")
def image(package, tmp_path_factory):
    return unpacked(package, IMAGE, tmp_path_factory)


@pytest.fixture(scope="module")
def foreign_image(foreign, tmp_path_factory):
    return unpacked(foreign, ARM64 / IMAGE.name, tmp_path_factory)


@pytest.mark.parametrize("which, folder, architecture", [("image", PACKAGES, None), ("foreign_image", ARM64, "arm64")])
def test_container_tools_read_the_image(which, folder, architecture, request):
    request.getfixturevalue(which)
    said = json.loads(run("skopeo", "inspect", "--config", f"docker-archive:{folder / IMAGE.name}"))
    assert said["config"]["Entrypoint"] == ["/usr/bin/alys-bpf"] and said["os"] == "linux"
    assert said["architecture"] == (architecture or run("dpkg", "--print-architecture").strip())


def dependencies(package):
    return {re.match(r"\s*([^ ]+)", name).group(1) for name in run("dpkg-deb", "-f", package, "Depends").split(",")}


def files_of(package):
    return [line.split()[5:] for line in run("dpkg-deb", "-c", package).splitlines()]


def test_the_package_of_arm64(package, foreign):
    """It has the same files, and depends on the same libraries, but for what decodes machine code."""
    assert run("dpkg-deb", "-f", foreign, "Architecture") == "arm64\n"
    assert files_of(foreign) == files_of(package)
    one, other = dependencies(package), dependencies(foreign)
    assert {name.rstrip(".0123456789") for name in one ^ other} == {"libzydis", "libcapstone"} and len(one) == len(other)


@pytest.mark.parametrize("words", [["--version"], ["info", TRACE], ["report", TRACE], ["report", "-f", "json", TRACE]], ids=lambda words: words[0])
def test_the_program_of_arm64_has_its_libraries(foreign_image, words):
    """With those that its package depends on and no others. It reads traces of x86-64 as this machine's program does."""
    program = foreign_image / "usr/bin/alys-bpf"
    assert run("qemu-aarch64", "-L", foreign_image, program, *words) == run(ALYS, *words)


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
