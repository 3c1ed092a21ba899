# SPDX-License-Identifier: Apache-2.0
"""Decodes protobuf messages with protoc, independently of our encoders."""

import subprocess
from pathlib import Path

PROFILES = Path(__file__).resolve().parents[2] / "user/output/profiles"


def value_of(text):
    if text[0] == '"':
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    return text if text[0].isalpha() else int(text)  # the name of an enum's value, or a number


def decode(proto, message, data):
    """Returns a tree: {field: [values]}. Fields with default values are absent."""
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
