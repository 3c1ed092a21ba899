# SPDX-License-Identifier: Apache-2.0
"""alys-bpf within a PID namespace of its own, as in a container: processes have the namespace's numbers, and counts are exact."""

import subprocess

import pytest

from conftest import ALYS, PROGS, STRAIGHT, TIMEOUT, Daemon, Program, Tracer, alys, assert_law, events_of, site_of, wait_until

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


def run(*words):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=TIMEOUT, env=STRAIGHT, check=False)


def below(*words):
    """The command in a new PID namespace."""
    return ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *map(str, words)]


@pytest.fixture
def within():
    """Words before a command that shall run in a namespace which several commands share."""
    begun = subprocess.Popen(below("sh", "-c", "echo $$; exec sleep infinity"), stdout=subprocess.PIPE, text=True)
    assert begun.stdout.readline() == "1\n"
    first = run("pgrep", "-P", begun.pid).stdout.strip()
    yield ["nsenter", "--target", first, "--pid", "--mount"]
    begun.kill()
    begun.communicate()


def number_of(within, name):
    return int(run(*within, "pgrep", "-x", name).stdout)


def counts(trace, folder):
    """{site: {tgid: allocations}}"""
    found = {}
    for event in events_of(trace, folder):
        if event["kind"] == "alloc":
            of_site = found.setdefault(site_of(event), {})
            of_site[event["tgid"]] = of_site.get(event["tgid"], 0) + 1
    return found


def test_a_launched_program(tmp_path):
    trace = tmp_path / "t.alys"
    done = run(*below(ALYS, "-q", "-o", trace, "--", PROGS / "c_short"))
    assert done.returncode == 0, done
    [rounds] = counts(trace, tmp_path)["site_short"].values()
    assert rounds == 20000
    assert_law(trace)


def test_a_running_program_and_its_children(within, tmp_path):
    """With --follow, children are found by the numbers that the kernel reports."""
    trace = tmp_path / "t.alys"
    program = Program([*within, PROGS / "c_fork"]).wait_ready()
    tracer = Tracer(["--follow", "-p", number_of(within, "c_fork"), "-o", trace], launcher=within).recording()
    truths = program.go().truths(3)
    assert program.finish() == 0 and tracer.wait() == 0, tracer.text
    seen = counts(trace, tmp_path)
    for truth in truths:
        for name, site in truth["sites"].items():
            assert seen.get(name, {}).get(truth["pid"], 0) == site["allocs"], (name, truth, alys("info", trace).stdout)
    assert_law(trace)


def test_a_daemon_sees_the_namespace(within, tmp_path):
    """--all means the namespace's programs, and none of the host's."""
    program = Program([*within, PROGS / "c_grow"]).wait_ready().go()
    daemon = Daemon(tmp_path, "--all", "--sample", "bytes:64k", launcher=within).wait_ready()
    number = number_of(within, "c_grow")
    daemon.until(lambda: number in daemon.status()["table"])
    wait_until(lambda: "site_grow_fast" in daemon.top(str(number)))
    assert max(daemon.status()["table"]) < 1000 and daemon.status()["table"][number] == "c_grow"
    daemon.ctl("stop")
    assert daemon.proc.wait(TIMEOUT) == 0, daemon.log()
    program.kill()


def test_processes_below_are_refused(within, tmp_path):
    """The kernel has no number of ours for them."""
    with subprocess.Popen([*within, *below(PROGS / "c_grow")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as lower:
        assert lower.stdout.readline() == b"ready\n"
        done = run(*within, ALYS, "-p", number_of(within, "c_grow"), "-d", "1", "-o", tmp_path / "t.alys")
        lower.stdin.close()
    assert done.returncode == 1 and "PID namespace below this one" in done.stderr and len(done.stderr.splitlines()) == 1, done


@pytest.mark.parametrize("words", [["-p", "1", "-o", "t.alys"], ["daemon", "-p", "1", "--socket", "s"]])
def test_another_namespaces_proc_is_refused(tmp_path, words):
    """Its numbers match none of the kernel's, so every event would be lost."""
    done = subprocess.run(["unshare", "--pid", "--fork", ALYS, *words], capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 1 and "/proc shows the processes of another PID namespace" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())
