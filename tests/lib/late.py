# SPDX-License-Identifier: Apache-2.0
"""A recorder whose reader of records is late."""
import ctypes
import os
import time
from contextlib import contextmanager

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207  # <sys/ptrace.h>
WALL = 0x40000000  # waitpid(2)

libc = ctypes.CDLL(None, use_errno=True)


def ptrace(request, tid):
    if libc.ptrace(ctypes.c_long(request), ctypes.c_long(tid), None, None):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextmanager
def late_reader(pid):
    """
    Its first thread, which handles records, stands still, as when it waits for a disk. Its other threads run on: that which moves
    records comes with the first reading.
    """
    end = time.monotonic() + 60
    while len(os.listdir(f"/proc/{pid}/task")) < 2:
        assert time.monotonic() < end, "nothing is read"
        time.sleep(0.01)
    ptrace(PTRACE_SEIZE, pid)
    try:
        ptrace(PTRACE_INTERRUPT, pid)
        os.waitpid(pid, WALL)
        yield
    finally:
        ptrace(PTRACE_DETACH, pid)
