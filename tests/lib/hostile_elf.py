# SPDX-License-Identifier: Apache-2.0
"""Malformed and oversized ELF files, made from a small library and sparse ranges."""
import struct
import subprocess

GIB = 1 << 30
SHDR = struct.Struct("<IIQQQQIIQQ")
PHDR = struct.Struct("<IIQQQQQQ")
SYM = struct.Struct("<IBBHQQ")
TYPE, OFFSET, SIZE = 1, 4, 5
SYMTAB, STRTAB = 2, 3

CODE = """
char heap[65536]; unsigned long used;
void *malloc(unsigned long n) { used += n; return heap + used % 60000; }
void free(void *p) { (void)p; }
int puts(const char *);
int tell(void) { return 1 + puts("honest"); }
"""


class Image:
    """The bytes of a library with parsed headers; everything past its end is a sparse range."""

    def __init__(self, library):
        self.bytes = bytearray(library.read_bytes())
        self.size = len(self.bytes)
        self.shoff, = struct.unpack_from("<Q", self.bytes, 40)
        self.phoff, = struct.unpack_from("<Q", self.bytes, 32)
        self.phnum, _, self.shnum, self.names = struct.unpack_from("<HHHH", self.bytes, 56)

    def section(self, i):
        return list(SHDR.unpack_from(self.bytes, self.shoff + i * SHDR.size))

    def put_section(self, i, fields):
        SHDR.pack_into(self.bytes, self.shoff + i * SHDR.size, *fields)

    def named(self, name):
        at = self.section(self.names)[OFFSET]
        for i in range(1, self.shnum):
            start = at + self.section(i)[0]
            if self.bytes[start:self.bytes.index(0, start)] == name.encode():
                return i
        raise KeyError(name)

    def hole(self, size=GIB):
        """Offset of a sparse range of this many bytes."""
        at = self.size
        self.size += size
        return at

    def grow(self, *names):
        for name in names:
            i = self.named(name)
            fields = self.section(i)
            fields[OFFSET], fields[SIZE] = self.hole(), GIB
            self.put_section(i, fields)

    def write(self, path):
        with open(path, "wb") as f:
            f.write(self.bytes)
            f.truncate(self.size)
        path.chmod(0o755)
        return path


def library(folder, name="honest.so"):
    source = folder / "honest.c"
    source.write_text(CODE)
    made = folder / name
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-Wl,--build-id,-z,lazy", "-o", made, source], check=True)
    return made


def many_headers(image):
    """65535 program headers and a million sections, all in sparse ranges."""
    struct.pack_into("<Q", image.bytes, 32, image.hole(4 << 20))
    struct.pack_into("<Q", image.bytes, 40, image.hole(64 << 20))
    struct.pack_into("<HHHH", image.bytes, 56, 0xfffe, 64, 0xffff, 1)


def overlapping(image):
    at = image.hole()
    for i in range(1, image.shnum):
        fields = image.section(i)
        fields[OFFSET], fields[SIZE] = at, GIB
        image.put_section(i, fields)


def huge_notes(image):
    for i in range(image.phnum):
        at = image.phoff + i * PHDR.size
        fields = list(PHDR.unpack_from(image.bytes, at))
        if fields[0] == 4:
            fields[2], fields[5] = image.hole(), GIB
            PHDR.pack_into(image.bytes, at, *fields)
    image.grow(".note.gnu.build-id")


def compressed(image):
    """Sections of ten compressed bytes that claim to be a gigabyte."""
    for name in (".debug_info", ".debug_line", ".debug_str"):
        i = image.named(name)
        fields = image.section(i)
        fields[2] |= 0x800
        struct.pack_into("<IIQQ", image.bytes, fields[OFFSET], 1, 0, GIB, 1)
        image.put_section(i, fields)


VARIANTS = {
    "symtab": lambda image: image.grow(".symtab", ".strtab"),
    "dynsym": lambda image: image.grow(".dynsym", ".dynstr"),
    "frames": lambda image: image.grow(".eh_frame", ".eh_frame_hdr"),
    "relocations": lambda image: image.grow(".rela.dyn", ".rela.plt"),
    "debug": lambda image: image.grow(".debug_info", ".debug_line", ".debug_str", ".debug_abbrev"),
    "notes": huge_notes,
    "headers": many_headers,
    "overlapping": overlapping,
    "compressed": compressed,
}


def make(folder, variant, name=None):
    folder.mkdir(exist_ok=True)
    image = Image(library(folder))
    VARIANTS[variant](image)
    return image.write(folder / (name or f"{variant}.so"))


def make_dense(folder, name="dense.so", symbols=2_000_000):
    """A huge number of real symbols, which take long to process."""
    folder.mkdir(exist_ok=True)
    image = Image(library(folder))
    i = image.named(".symtab")
    fields = image.section(i)
    first = image.bytes[fields[OFFSET]:fields[OFFSET] + fields[SIZE]]
    names = b"\0" + b"a_symbol_of_a_long_name_that_is_none_of_ours\0"
    strings = image.named(".strtab")
    entry = SYM.pack(1, 0x12, 0, 1, 0x1000, 16)
    data = bytes(first[:SYM.size]) + entry * symbols
    fields[OFFSET], fields[SIZE] = len(image.bytes), len(data)
    image.put_section(i, fields)
    fields = image.section(strings)
    fields[OFFSET], fields[SIZE] = len(image.bytes) + len(data), len(names)
    image.put_section(strings, fields)
    image.bytes += data + names
    image.size = len(image.bytes)
    return image.write(folder / name)
