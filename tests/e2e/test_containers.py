# SPDX-License-Identifier: Apache-2.0
"""docs/containers.md and dist/kubernetes/daemonset.yaml: what they ask for is enough, and doctor says what is missing."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from conftest import ALYS, TIMEOUT, alys, law, remove_group, wait_until
from pages import check_keys, commands, indented, section
from sockets import free_port
from web_driver import get

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/containers.md"
MANIFEST = ROOT / "dist/kubernetes/daemonset.yaml"
CONTAINER, POD = "89abcdef01234567" * 4, "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"


@pytest.fixture(scope="module")
def pod():
    return yaml.safe_load(MANIFEST.read_text())["spec"]["template"]["spec"]


def limited(names):
    """The command's beginning for root with these capabilities only, as a container has them."""
    caps = ",".join(["-all", *("+" + name.lower() for name in names)])
    return ["setpriv", "--bounding-set", caps, "--inh-caps", "-all", "--no-new-privs"]


def test_the_manifest_asks_for_what_the_service_has(pod):
    unit = (ROOT / "dist/alys-bpf.service.in").read_text()
    container = pod["containers"][0]
    security = container["securityContext"]
    assert {"CAP_" + name for name in security["capabilities"]["add"]} == set(re.search("CapabilityBoundingSet=(.*)", unit)[1].split())
    assert security["capabilities"]["drop"] == ["ALL"] and not security["allowPrivilegeEscalation"]
    assert pod["hostPID"] and "privileged" not in security
    assert set(re.findall(r"--cap-add=(\w+)", PAGE.read_text())) == set(security["capabilities"]["add"])
    assert set(re.findall(r"--security-opt=(\w+)=unconfined", PAGE.read_text())) == {"seccomp", "apparmor"}
    assert security["seccompProfile"]["type"] == security["appArmorProfile"]["type"] == "Unconfined"
    # Each volume is mounted, and each mount has a volume; $(NAME) in arguments is a variable of the container.
    assert {v["name"] for v in pod["volumes"]} == {m["name"] for m in container["volumeMounts"]}
    assert set(re.findall(r"\$\((\w+)\)", " ".join(container["args"]))) == {v["name"] for v in container["env"]}


def test_the_manifest_is_a_daemonset():
    """Names and types of the fields: Kubernetes' API reference 1.34, apps/v1. A selector must match the template's labels."""
    labels, field = {"*": str}, {"name": str, "valueFrom": {"fieldRef": {"fieldPath": str}}}
    probe, amounts = {"httpGet": {"path": str, "port": str}}, {"cpu": str, "memory": str}
    security = {"runAsUser": int, "readOnlyRootFilesystem": bool, "allowPrivilegeEscalation": bool,
                "appArmorProfile": {"type": str}, "seccompProfile": {"type": str}, "capabilities": {"drop": [str], "add": [str]}}
    container = {"name": str, "image": str, "imagePullPolicy": str, "args": [str], "env": [field],
                 "ports": [{"name": str, "containerPort": int}], "readinessProbe": probe, "livenessProbe": probe,
                 "resources": {"requests": amounts, "limits": amounts}, "securityContext": security,
                 "volumeMounts": [{"name": str, "mountPath": str}]}
    pod = {"hostPID": bool, "automountServiceAccountToken": bool, "tolerations": [{"operator": str}], "containers": [container],
           "volumes": [{"name": str, "emptyDir": {}}]}
    manifest = yaml.safe_load(MANIFEST.read_text())
    check_keys(manifest, {"apiVersion": str, "kind": str, "metadata": {"name": str, "labels": labels},
                          "spec": {"selector": {"matchLabels": labels},
                                   "template": {"metadata": {"labels": labels}, "spec": pod}}})
    assert (manifest["apiVersion"], manifest["kind"]) == ("apps/v1", "DaemonSet")
    assert manifest["spec"]["selector"]["matchLabels"].items() <= manifest["spec"]["template"]["metadata"]["labels"].items()
    named = manifest["spec"]["template"]["spec"]["containers"][0]
    assert {named[p]["httpGet"]["port"] for p in ("readinessProbe", "livenessProbe")} == {p["name"] for p in named["ports"]}


def test_every_section_begins_with_a_command():
    text = PAGE.read_text()
    first = [indented(text)[0], indented(section(PAGE, "In a container"))[0], indented(section(PAGE, "Kubernetes"))[0]]
    assert first == ["sudo alys-bpf daemon --all --listen 6060", "make image", "kubectl apply -f dist/kubernetes/daemonset.yaml"]
    assert all(s.lstrip("\n").startswith("    ") for s in re.split(r"^#+ .*$", text, flags=re.M)[1:])
    assert (ROOT / first[2].split()[-1]) == MANIFEST


@pytest.fixture(params=["manifest", "page"])
def launched(request, pod):
    """The command of the manifest with its capabilities, and that of the page for the host."""
    if request.param == "page":
        return [], commands(PAGE.read_text().split("\n## ")[0], "alys-bpf")[0][1:]
    container = pod["containers"][0]
    return limited(container["securityContext"]["capabilities"]["add"]), container["args"]


@pytest.mark.bpf
def test_the_commands(pod, launched, started, group, tmp_path):
    """Paths of the manifest's probes answer, and a pod's process has the pod's labels."""
    container = pod["containers"][0]
    launcher, args = launched
    scope = group / f"kubepods-burstable-pod{POD.replace('-', '_')}.slice"
    scope.mkdir()
    inner = scope / f"cri-containerd-{CONTAINER}.scope"
    inner.mkdir()
    port = free_port()
    words = [w.replace("$(NODE_NAME)", "node-7").replace("$(NODE_IP)", "127.0.0.1").replace("6060", str(port)).replace(":4318", ":1")
             for w in args]
    program = started.program("c_grow").wait_ready().go()
    (inner / "cgroup.procs").write_text(str(program.pid))
    daemon = subprocess.Popen([*launcher, ALYS, *words, "--socket", tmp_path / "ctl"],
                              stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: daemon.poll() is not None or listens(f"{url}{container['readinessProbe']['httpGet']['path']}"))
        assert get(f"{url}{container['livenessProbe']['httpGet']['path']}").status == 200
        of_pid = lambda: [t["labels"] for t in json.loads(get(f"{url}/sd").text) if t["labels"]["pid"] == str(program.pid)]
        wait_until(of_pid)
        labels = of_pid()[0]
        assert (labels["container_id"], labels["k8s_pod_uid"]) == (CONTAINER, POD)
        assert labels.get("k8s_node_name") == ("node-7" if launcher else None)
    finally:
        daemon.terminate()
        daemon.communicate(timeout=TIMEOUT)
        program.kill()
        inner.rmdir()
        scope.rmdir()
    assert daemon.returncode == 0


CROWD = 700


def contained(scope):
    """A shell in a container's group of its own, which allocates for each line that it reads."""
    scope.mkdir()
    return subprocess.Popen(["sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec sh -c "while read -r x; do last=$x; done"', scope],
                            stdin=subprocess.PIPE)


def read_lines(shell):
    shell.stdin.write(b"a line to keep\n" * 50)
    shell.stdin.flush()


@pytest.mark.bpf
@pytest.mark.heavy
def test_many_containers(daemon, group):
    """Containers with ids of their own come and go: each is found by its id, /metrics stays short, and memory does not grow with them."""
    d = daemon("--cgroup", group, "--listen", "0", "--sample", "bytes:16", "--max-memory", "96M")
    url = "http://" + d.status()["http"].strip("/").removeprefix("http://")
    found = lambda: [t["labels"]["container_id"] for t in json.loads(get(f"{url}/sd").text)]
    used = []
    for turn in range(3):
        ids = sorted(f"{turn * CROWD + i:064x}" for i in range(CROWD))
        shells = [contained(group / f"docker-{one}.scope") for one in ids]
        d.until(lambda: d.status()["processes"].startswith(f"{CROWD} traced"))
        # Lines again for those whose samples were lost on a busy machine.
        wait_until(lambda: not [read_lines(shells[ids.index(one)]) for one in set(ids) - set(found())])
        assert sorted(found()) == ids
        assert get(f"{url}/metrics").text.count("\nalys_target_info{") == 100
        used.append(own_memory(d))
        for shell in shells:
            shell.communicate(timeout=TIMEOUT)
        wait_until(lambda: not found())
        for one in ids:
            remove_group(group / f"docker-{one}.scope")
    assert used[2] < used[1] + 4 and used[2] < 96, used
    law(d)
    d.end()


def own_memory(d):
    """In MiB, as status says."""
    return float(re.match(r"([\d.]+) MiB", d.status()["memory"])[1])


def listens(url):
    try:
        return get(url).status == 200
    except OSError:
        return False


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_without_rights(pod, tmp_path):
    words = [w for w in pod["containers"][0]["args"] if not w.startswith("$(")]
    done = subprocess.run([*limited([]), ALYS, *words, "--socket", tmp_path / "ctl"], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "not allowed" in done.stderr or "capab" in done.stderr.lower(), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_doctor_names_what_a_container_lacks(pod, tmp_path):
    asked = lambda *words: subprocess.run([*words, ALYS, "doctor"], capture_output=True, text=True, timeout=TIMEOUT)
    lacks = asked(*limited([]))
    assert lacks.returncode == 1 and re.search(r"^rights +no +root without the capabilities.*CAP_BPF", lacks.stdout, re.M), lacks
    enough = pod["containers"][0]["securityContext"]["capabilities"]["add"]
    assert re.search(r"^rights +yes", asked(*limited(enough)).stdout, re.M)
    for name in ("SYS_PTRACE", "DAC_READ_SEARCH", "CHECKPOINT_RESTORE"):
        rest = [one for one in enough if one not in (name, "SYS_ADMIN")]
        shown = asked(*limited(rest)).stdout
        assert re.search(rf"^rights +no +.* cannot be opened without CAP_{name}$", shown, re.M), shown
        assert (name == "CHECKPOINT_RESTORE") == bool(re.search("^map_files +no ", shown, re.M)), shown
    own = asked("unshare", "--pid", "--fork", "--mount-proc")
    assert own.returncode == 0 and re.search(r"^PID namespace +yes +a container's own: .*hostPID: true", own.stdout, re.M), own
    elsewhere = asked("unshare", "--pid", "--fork")
    assert elsewhere.returncode == 1 and re.search(r"^PID namespace +no +/proc shows", elsewhere.stdout, re.M), elsewhere
    bare = asked("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "-")
    assert bare.returncode == 1 and re.search(r"^BTF +no +no /sys: mount it", bare.stdout, re.M), bare
    locked = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/kernel/security && '
              'echo "none integrity [confidentiality]" >/sys/kernel/security/lockdown && exec "$@"', "-")
    assert re.search(r"^lockdown +no +confidentiality: ", asked(*locked).stdout, re.M)
    recording = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "-", ALYS, "-p", "1", "-o",
                                tmp_path / "t.alys"], capture_output=True, text=True, timeout=TIMEOUT)
    assert recording.returncode == 1 and "/sys/kernel/btf/vmlinux" in recording.stderr, recording
    assert re.search(r"^PID namespace +yes", alys("doctor").stdout, re.M)
