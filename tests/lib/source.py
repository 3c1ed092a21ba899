# SPDX-License-Identifier: Apache-2.0
"""Compiles programs given as text."""

import subprocess


def build(folder, source, *command, name="program"):
    code = folder / f"{name}.{'cc' if '++' in command[0] else 'c'}"
    code.write_text(source)
    out = folder / name
    subprocess.run([*command, "-w", "-o", out, code], check=True)
    return out
