#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The table of builds: how each is compiled, linked, post-processed and run. One program with known allocations per language."""

import concurrent.futures
import os
import sys
from dataclasses import dataclass, field

from builds import HERE, PLACE, made

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# Options of every build, whatever a row of the table says.
ALWAYS = f"-g -fno-builtin -D_GNU_SOURCE -I{HERE} -I{HERE.parent / 'prog'}"
# Debian's compiler, not one that a user has put first in PATH.
RUSTC = "/usr/bin/rustc --edition 2021 -g"


@dataclass
class Variant:
    name: str
    source: str
    compile: str
    link: str
    after: list = field(default_factory=list)  # commands; {out} is the program
    env: dict = field(default_factory=dict)
    named: bool = True  # functions have names
    bare: bool = False  # the C library has no unwind tables: the caller of strdup is unknown

    def commands(self, out):
        if self.source.endswith(".rs"):
            yield f"{self.compile} {self.link} -o {out} {HERE / self.source}"
        else:
            yield f"{self.compile} {ALWAYS} -c -o {out}.o {HERE / self.source}"
            yield f"{self.link} -o {out} {out}.o"
        yield from (command.format(out=out) for command in self.after)


def c(name, compile="gcc -O2", link="", **more):
    return Variant(name, "known.c", compile, f"{compile} {link}", **more)


def cc(name, compile="g++ -O2", link="", **more):
    return Variant("c++-" + name, "known.cc", compile, f"{compile} {link}", **more)


def rust(name, compile=f"{RUSTC} -O", link="", **more):
    return Variant("rust-" + name, "known.rs", compile, link, **more)


def preloaded(library, **more):
    return {"LD_PRELOAD": f"{LIBRARIES}/{library}", **more}


DEBUGLINK = ["objcopy --only-keep-debug {out} {out}.debug", "strip --strip-all {out}",
             "objcopy --add-gnu-debuglink={out}.debug {out}"]
LLD = "clang-14 -O2 -fPIE", "-pie -fuse-ld=lld"

VARIANTS = [
    # Optimization, and how it changes frames.
    *(c(f"gcc{level}", f"gcc {level}") for level in ("-O0", "-O1", "-O2", "-O3", "-Os")),
    *(c(f"clang{level}", f"clang-14 {level}") for level in ("-O0", "-O1", "-O2", "-O3")),
    c("gcc-frame-pointers", "gcc -O2 -fno-omit-frame-pointer"),
    c("gcc-no-frame-pointers", "gcc -O0 -fomit-frame-pointer"),
    c("clang-frame-pointers", "clang-14 -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"),
    c("cet", "gcc -O2 -fcf-protection=full"),
    c("no-cet", "gcc -O2 -fcf-protection=none"),
    c("gcc-lto", "gcc -O2 -flto"),
    c("clang-lto", "clang-14 -O2 -flto", "-fuse-ld=lld"),
    c("sanitized-stack", "gcc -O2 -fstack-protector-all -fstack-clash-protection -D_FORTIFY_SOURCE=2"),
    # Static or dynamic linking, and where code is placed.
    c("static", link="-static"),
    c("static-pie", "gcc -O2 -fPIE", "-static-pie"),
    c("no-pie", "gcc -O2 -fno-pie", "-no-pie"),
    c("musl", "musl-gcc -O2", bare=True),
    c("musl-static", "musl-gcc -O2", "-static", bare=True),
    c("image-base", "gcc -O2 -fno-pie", "-no-pie -Wl,-Ttext-segment=0x31200000"),
    c("prelinked-image-base", "gcc -O2 -fPIE", "-pie -Wl,-Ttext-segment=0x41200000"),
    c("lld-image-base", "clang-14 -O2 -fno-pie", "-no-pie -fuse-ld=lld -Wl,--image-base=0x51200000"),
    # Linkers, and how they lay out segments.
    *(c(f"{linker}", link=f"-fuse-ld={linker}") for linker in ("bfd", "gold")),
    *(c(f"{linker}", "clang-14 -O2", f"-fuse-ld={linker}") for linker in ("lld", "mold")),
    *(c(f"{linker}-static", "clang-14 -O2", f"-fuse-ld={linker} -static") for linker in ("gold", "lld", "mold")),
    *(c(f"bfd-{layout}", link=f"-Wl,-z,{layout}") for layout in ("separate-code", "noseparate-code")),
    *(c(f"lld-{layout}", LLD[0], f"{LLD[1]} -Wl,-z,{layout}")
      for layout in ("separate-code", "noseparate-code", "separate-loadable-segments")),
    *(c(f"mold-{layout}", "gcc -O2", f"-fuse-ld=mold -Wl,-z,{layout}") for layout in ("separate-code", "noseparate-code")),
    c("bfd-relr", link="-Wl,-z,pack-relative-relocs"),
    # glibc 2.36 refuses dynamic programs of lld and mold with such relocations.
    c("lld-relr", LLD[0], "-static-pie -fuse-ld=lld -Wl,--pack-dyn-relocs=relr"),
    c("lld-icf", LLD[0] + " -ffunction-sections", f"{LLD[1]} -Wl,--icf=all -Wl,--gc-sections"),
    c("no-plt", "gcc -O2 -fno-plt", "-Wl,-z,now"),
    c("lazy", link="-Wl,-z,lazy,-z,norelro"),
    # Where symbols and line numbers are stored.
    c("stripped", link="-s", named=False),
    c("split-dwarf", "gcc -O2 -gsplit-dwarf"),
    c("debuglink", after=DEBUGLINK),
    c("compressed-debug", "gcc -O2 -gz"),
    c("dwarf-4", "gcc -O2 -gdwarf-4"),
    c("no-debug", "gcc -O2 -g0", after=["strip --strip-debug {out}"]),
    # Other allocators, preloaded in place of the C library's.
    c("jemalloc", env=preloaded("libjemalloc.so.2")),
    c("tcmalloc", env=preloaded("libtcmalloc_minimal.so.4")),
    c("mimalloc", env=preloaded("libmimalloc.so.2.0")),
    c("memusage", env=preloaded("libmemusage.so", MEMUSAGE_OUTPUT="/dev/null")),

    cc("gcc-O0", "g++ -O0"),
    cc("gcc-O2"),
    cc("gcc-O3-lto", "g++ -O3 -flto"),
    cc("clang-O2", "clang++-14 -O2"),
    cc("lld", "clang++-14 -O2", "-fuse-ld=lld"),
    cc("mold", "g++ -O2", "-fuse-ld=mold"),
    cc("static", "g++ -O2", "-static"),
    cc("static-libstdc++", "g++ -O2", "-static-libstdc++ -static-libgcc"),
    cc("debuglink", after=DEBUGLINK),
    cc("jemalloc", env=preloaded("libjemalloc.so.2")),
    cc("tcmalloc", env=preloaded("libtcmalloc_minimal.so.4")),
    cc("mimalloc", env=preloaded("libmimalloc.so.2.0", KNOWN_NO_REFUSAL="1")),
    cc("memusage", env=preloaded("libmemusage.so", MEMUSAGE_OUTPUT="/dev/null")),

    rust("debug", RUSTC),
    rust("release"),
    rust("lto", f"{RUSTC} -O -C lto"),
    rust("abort", f"{RUSTC} -O -C panic=abort"),
    rust("dynamic", f"{RUSTC} -O -C prefer-dynamic"),
    rust("frame-pointers", f"{RUSTC} -O -C force-frame-pointers"),
    rust("static", f"{RUSTC} -O -C target-feature=+crt-static"),
    rust("lld", link="-C link-arg=-fuse-ld=lld"),
    rust("mold", link="-C link-arg=-fuse-ld=mold"),
    rust("jemalloc", env=preloaded("libjemalloc.so.2")),
]
NAMES = [v.name for v in VARIANTS]
assert len(NAMES) == len(set(NAMES))


SOURCES = [__file__, *HERE.glob("known.*"), HERE / "stand.h", HERE.parent / "prog/truth.h"]


def build(variant):
    out = PLACE / variant.name / "known"
    return made(out, SOURCES, variant.commands(out))


def build_all():
    """Builds in parallel; a failure is reported again by the test that needs the build."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(build, variant) for variant in VARIANTS]
    failed = [f"{job.exception()}" for job in jobs if job.exception()]
    sys.exit("\n".join(failed) if failed else 0)


if __name__ == "__main__":
    build_all()
