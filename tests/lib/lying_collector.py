# SPDX-License-Identifier: Apache-2.0
"""A libgc that does not tell the truth."""
import os
import re
import shutil
import subprocess


def lying_collector(folder):
    """An environment with a libgc whose GC_size returns a wrong value."""
    library = folder / "libgc.so.1"
    shutil.copy(os.path.realpath("/usr/lib/x86_64-linux-gnu/libgc.so.1"), library)
    code = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    at = int(re.search(r"^(\w+) T GC_size(@@\w+)?$", code, re.M).group(1), 16)
    with open(library, "r+b") as f:
        f.seek(at)
        f.write(bytes.fromhex("b878563412c3"))  # mov $0x12345678,%eax; ret
    return {"LD_LIBRARY_PATH": str(folder)}
