# SPDX-License-Identifier: Apache-2.0
"""Free ports, and control sockets of daemons."""

import socket

from conftest import TIMEOUT


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def talk(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(str(path))
    s.settimeout(TIMEOUT)
    return s
