# SPDX-License-Identifier: Apache-2.0
"""The stack walk on aarch64: Debian's kernel on an emulated machine, real probes, each stack compared with libdw's (tests/bpf/walk_test)."""

import functools
import re
import shlex

import pytest

import emulated

CASES = {
    "callers": "--every 40 --time 60 --at-least 100 --complete 100 -- PROG/callers 8",
    "protected": "--every 40 --time 60 --at-least 100 --complete 100 -- PROG/callers.protected 8",
    "truncated": "--max 50 --every 40 --time 60 --at-least 100 --ended 2:300 -- PROG/callers 8",
    # Behind the function's own frame record.
    "site": "--site malloc --every 40 --time 60 --at-least 100 --complete 100 -- PROG/callers 8",
    "site-protected": "--site malloc --every 40 --time 60 --at-least 100 --complete 100 -- PROG/callers.protected 8",
    # An odd number: signals come in turn to the usual stack and to another one. Then what was interrupted is beyond the copy of it.
    "signals": "--file PROG/signals --symbol hit --every 31 --time 60 --at-least 100 --complete 100 -- PROG/signals 8",
    "signals-protected": "--file PROG/signals.protected --symbol hit --every 31 --time 60 --at-least 100 --complete 100 "
                         "-- PROG/signals.protected 8",
    "resolving": "--file PROG/chosen.so --symbol hit --every 100 --time 60 --at-least 100 --complete 100 -- PROG/resolving 8",
    # libdw stops at the trampoline of a pending return probe: at least 10 stacks must have one.
    "pending": "--size 4243 --every 20 --pending PROG/pending --time 30 --frames 126 --at-least 10 -- PROG/pending 60",
    "paged": "--sleep --size 4242 --time 60 --frames 46 --end 0 --at-least 100 -- PROG/paged 6 150 1",
}
# The older kernel has the same walk, but its programs may not sleep.
RUN = {"6.1": ["callers", "site", "signals-protected", "pending"], "6.12": list(CASES)}
PROGRAMS = ["callers", "callers.protected", "signals", "signals.protected", "resolving", "chosen.so", "pending",
            "paged"]


def boot(kernel, out):
    """Leaves in `out` what each case printed, and how it ended."""
    folder = emulated.ARM64 / "tests" / "bpf"
    script = "".join(f"/{folder}/walk_test {CASES[name].replace('PROG', f'/{folder}/prog')} >/out/{shlex.quote(name)} 2>&1\n"
                     f"echo status $? >>/out/{shlex.quote(name)}\n" for name in RUN[kernel])
    return emulated.boot(kernel, out, script, [folder / "walk_test", *(folder / "prog" / name for name in PROGRAMS)])


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """Each is booted once."""
    return functools.cache(lambda kernel: boot(kernel, tmp_path_factory.mktemp("machine")))


@pytest.mark.heavy
@pytest.mark.parametrize("kernel, case", [pytest.param(kernel, case, marks=[pytest.mark.long] * (kernel == "6.1"))
                                          for kernel in emulated.KERNELS for case in RUN[kernel]])
def test_walks_like_libdw(machines, kernel, case):
    text = (machines(kernel) / case).read_text()
    assert text.endswith("status 0\n"), text[-4000:]
    equal, differ, beyond = (int(re.search(rf", (\d+) {word}", text).group(1)) for word in ("equal", "differ", "beyond the copy"))
    assert differ == 0 and equal >= 10, text[:4000]
    assert beyond > 10 or not case.startswith("signals"), text[:4000]
