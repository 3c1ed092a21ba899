# SPDX-License-Identifier: Apache-2.0
"""Other tracers with the interface of harness.Recording: the constructor starts, stop() ends, then resource use."""
import os
import shutil
import subprocess

from harness import OUT, Target, program


def _mapped(pid, name):
    with open(f"/proc/{pid}/maps") as maps:
        return next(line.split()[-1] for line in maps if name in line and "r-xp" in line)


class Tracer:
    """A tracing process; events, bytes and losses are None if it does not report them."""

    def __init__(self):
        self.events = self.lost = self.bytes = None

    def _reap(self):
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak_mb = usage.ru_maxrss / 1024
        return self


class Floor(Tracer):
    """
    Empty BPF programs at the sites that alys-bpf probes; Floor(pid, "refill"): at those where it samples refills. With "least" or
    "least-stacks" the least recorder, see floor/floor.bpf.c.
    """

    def __init__(self, pid, *where):
        super().__init__()
        self.process = subprocess.Popen([program("floor"), str(pid), *where], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the floor's programs did not attach")

    def stop(self):
        self.process.stdin.close()
        self._reap()
        if self.process.returncode:
            raise RuntimeError("the least recorder missed many calls")
        return self


# bpftrace prints both words only when its first and its last probe are attached, whatever its order.
SCRIPT = """
interval:ms:50 {{ printf("first\\n"); }}
uprobe:{lib}:{alloc} {{ @size[tid] = arg0; }}
uretprobe:{lib}:{alloc} /@size[tid]/ {{
	@bytes[ustack(10)] = sum(@size[tid]); @live[retval] = @size[tid]; delete(@size[tid]);
}}
{free}
interval:ms:50 {{ printf("last\\n"); }}
"""


class Bpftrace(Tracer):
    """The usual script: stores the size from entry to return, sums it by stack at the return, and keeps live blocks by address."""

    def __init__(self, pid, library="libc.so", alloc="malloc", free="free"):
        super().__init__()
        lib = _mapped(pid, library)
        forget = f"uprobe:{lib}:{free} {{ delete(@live[arg0]); }}" if free else ""
        script = SCRIPT.format(lib=lib, alloc=alloc, free=forget)
        self.process = subprocess.Popen(["bpftrace", "-p", str(pid), "-e", script], stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.STDOUT, env={**os.environ, "BPFTRACE_MAP_KEYS_MAX": "1000000"})
        seen = set()
        for line in self.process.stdout:
            seen.add(line.strip())
            if {"first", "last"} <= seen:
                return
        raise RuntimeError("bpftrace did not start: " + " ".join(seen))

    def stop(self):
        # Killed, because at a regular end it would print a million keys, which is not a cost of tracing.
        self.process.kill()
        return self._reap()


class Heaptrack(Tracer):
    """Starts the program with its library preloaded: most of its work is done inside the program."""

    def __init__(self, *argv):
        super().__init__()
        self.path = os.path.join(OUT, "heaptrack")
        self.target = Target(*argv, before=("heaptrack", "-o", self.path), stderr=subprocess.DEVNULL)
        self.process = self.target.process

    def stop(self):
        self.process.stdin.close()
        # heaptrack's interpreter process prints its statistics here when it has read everything.
        self.process.stdout.read()
        self._reap()
        self.cpu = None
        self.bytes = os.path.getsize(self.path + ".zst") if os.path.exists(self.path + ".zst") else None
        return self


class Dhat(Tracer):
    """The program on valgrind's synthetic CPU; there is no separate tracer process."""

    def __init__(self, *argv):
        super().__init__()
        path = os.path.join(OUT, "dhat.out")
        self.target = Target(*argv, before=("valgrind", "-q", "--tool=dhat", f"--dhat-out-file={path}"))
        self.process = self.target.process

    def stop(self):
        self.process.stdin.close()
        self._reap()
        self.cpu = None
        return self


def missing(tool):
    if shutil.which(tool):
        return False
    print(f"  {tool} is not installed: its row is left out, scripts/deps installs it")
    return True
