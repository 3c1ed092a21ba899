# SPDX-License-Identifier: Apache-2.0
"""A protobuf message as protoc decodes it, which is nobody's encoder here."""

import subprocess
from pathlib import Path

PROFILES = Path(__file__).resolve().parents[2] / "user/output/profiles"


def value_of(text):
    if text[0] == '"':
        return text[1:-1]
    return text == "true" if text in ("true", "false") else int(text)


def decode(proto, message, data):
    """As a tree: {field: [values]}. Fields with the default value are not in it."""
    text = subprocess.run(["protoc", f"--decode={message}", f"--proto_path={PROFILES}", proto], input=data, capture_output=True,
                          check=True, timeout=60).stdout.decode()
    top = {}
    path = [top]
    for line in map(str.strip, text.splitlines()):
        if line == "}":
            path.pop()
        elif line.endswith("{"):
            inner = {}
            path[-1].setdefault(line[:-2], []).append(inner)
            path.append(inner)
        else:
            key, value = line.split(": ", 1)
            path[-1].setdefault(key, []).append(value_of(value))
    return top
