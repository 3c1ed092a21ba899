# SPDX-License-Identifier: Apache-2.0
"""How fast the machine is, for tests that would take too long on a slow one."""

import os
import time

SYSTEM_CALL_NS = 700  # usual are 60 to 250, with Python's own part


def why_slow():
    """Emulated machines and thousands of starts take five times as long where each entry to the kernel goes through a hypervisor."""
    took = []
    for _ in range(9):
        began = time.monotonic_ns()
        for _ in range(2000):
            os.getppid()
        took.append((time.monotonic_ns() - began) / 2000)
    return f"a system call takes {min(took):.0f} ns on this machine, and is to take {SYSTEM_CALL_NS} at most" if min(took) > SYSTEM_CALL_NS else None
