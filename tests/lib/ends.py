# SPDX-License-Identifier: Apache-2.0
"""Programs for every way in which a process can end."""


ENDS = {
    "exit": ("raise SystemExit(0)", "exit, status 0"),
    "status": ("raise SystemExit(3)", "exit, status 3"),
    "crash": ("os.kill(os.getpid(), signal.SIGSEGV)", "crash, SIGSEGV"),
    "abort": ("os.abort()", "abort, SIGABRT"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "killed, SIGKILL"),
    "terminated": ("os.kill(os.getpid(), signal.SIGTERM)", "killed, SIGTERM"),
    # The crashing thread is not the last one to exit.
    "thread": ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); "
               "threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGBUS)).start(); time.sleep(60)", "crash, SIGBUS"),
}

SCRIPT = """
import os, resource, signal, sys, threading, time
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print("ready", flush=True)
sys.stdin.readline()
kept = [bytearray(2000 + i) for i in range(2000)]
%s
"""


def start(started, how):
    target = started.program("/usr/bin/python3", "-c", SCRIPT % ENDS[how][0]).wait_ready()
    target.said_end = ENDS[how][1]
    return target
