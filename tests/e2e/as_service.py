#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
`as_service.py UNIT COMMAND...` runs a command with the user, capabilities, system calls and limits that systemd gives to
the service of this unit file. If the user does not exist, it is nobody. Namespaces are not created.
"""

import ctypes
import os
import pwd
import re
import resource
import socket
import subprocess
import sys

NOBODY = 65534
ALLOW, REFUSE = 0x7fff0000, 0x00050000  # the latter with an errno
EPERM, ENOSYS = 1, 38
EQUAL, MASKED = 4, 7


class Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def settings(unit):
    """{key: all its values}; a ~ is for all values of a line."""
    found = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", open(unit).read(), re.M):
        less = "~" if value.startswith("~") else ""
        found.setdefault(key, []).extend(less + word for word in value.removeprefix("~").split())
    return found


def calls_of(name):
    """Names of the system calls in one of systemd's sets."""
    if not name.startswith("@"):
        return {name}
    text = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", name], capture_output=True, text=True, check=True).stdout
    words = [line.strip() for line in text.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    assert words, name
    return set().union(*map(calls_of, words))


def allowed_calls(unit):
    """One value after another is allowed, or, after a ~, taken away again."""
    calls = calls_of("@default")
    for word in unit["SystemCallFilter"]:
        calls = calls - calls_of(word[1:]) if word.startswith("~") else calls | calls_of(word)
    return calls


def bounded(unit):
    """System calls that are allowed with some arguments only: alternatives (argument, comparison, mask or value, value)."""
    families = [getattr(socket, name) for name in unit["RestrictAddressFamilies"]]
    return {
        "socket": [(0, EQUAL, family, 0) for family in families],
        "mmap": [(2, MASKED, 2 | 4, rights) for rights in (0, 2, 4)],
        "mprotect": [(2, MASKED, 4, 0)], "pkey_mprotect": [(2, MASKED, 4, 0)], "shmat": [(2, MASKED, 0o100000, 0)],
        "clone": [(0, MASKED, 0x7e020080, 0)], "unshare": [(0, MASKED, 0x7e020080, 0)], "setns": [],
    }


def filter_calls(unit):
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    lib.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Argument)]
    lib.seccomp_load.argtypes = [ctypes.c_void_p]
    refusal = {"EPERM": EPERM}[unit["SystemCallErrorNumber"][0]]
    book = lib.seccomp_init(REFUSE | refusal)
    some = bounded(unit)
    for name in allowed_calls(unit):
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            continue  # of another architecture
        if name == "clone3":  # its flags lie in memory
            assert not lib.seccomp_rule_add_array(book, REFUSE | ENOSYS, number, 0, None)
        elif name in some:
            for one in some[name]:
                assert not lib.seccomp_rule_add_array(book, ALLOW, number, 1, Argument(*one)), name
        else:
            assert not lib.seccomp_rule_add_array(book, ALLOW, number, 0, None), name
    assert not lib.seccomp_load(book)


def limit(unit):
    for key, what in (("LimitNOFILE", resource.RLIMIT_NOFILE), ("LimitMEMLOCK", resource.RLIMIT_MEMLOCK), ("LimitCORE", resource.RLIMIT_CORE)):
        word, most = unit[key][0], resource.getrlimit(what)[1]
        n = most if word == "infinity" else int(word)
        if most != resource.RLIM_INFINITY:
            n = min(n, most)
        resource.setrlimit(what, (n, n))
    os.umask(int(unit["UMask"][0], 8))


def account(unit):
    try:
        user = pwd.getpwnam(unit["User"][0])
        return user.pw_uid, user.pw_gid
    except KeyError:
        return NOBODY, NOBODY


def set_up(path, command):
    unit = settings(path)
    limit(unit)
    uid, gid = account(unit)
    os.setpriority(os.PRIO_PROCESS, 0, int(unit["Nice"][0]))
    assert unit["NoNewPrivileges"] == ["yes"] and unit["MemoryDenyWriteExecute"] == ["yes"] and unit["RestrictNamespaces"] == ["yes"]
    given, most = (",".join("+" + word[4:].lower() for word in unit[key]) for key in ("AmbientCapabilities", "CapabilityBoundingSet"))
    os.execvp("setpriv", ["setpriv", "--reuid", str(uid), "--regid", str(gid), "--clear-groups", "--bounding-set", "-all," + most,
                          "--inh-caps", "-all," + given, "--ambient-caps", given, "--no-new-privs",
                          sys.executable, __file__, "--filtered", path, *command])


if __name__ == "__main__":
    if sys.argv[1] == "--filtered":
        filter_calls(settings(sys.argv[2]))
        os.execvp(sys.argv[3], sys.argv[3:])
    set_up(sys.argv[1], sys.argv[2:])
