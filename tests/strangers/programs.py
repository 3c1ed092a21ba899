# SPDX-License-Identifier: Apache-2.0
"""The table of Debian programs; runs one with counter.c preloaded, generates load, and reads the counts."""

import collections
import os
import select
import socket
import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from builds import HERE, PLACE, made
from conftest import TIMEOUT

Counts = collections.namedtuple("Counts", "allocs bytes reallocs realloc_bytes frees")


def counter():
    out, source = PLACE / "counter/counter.so", HERE / "counter.c"
    return made(out, [source], [f"gcc -O2 -g -Wall -Wextra -Werror -fno-builtin -shared -fPIC -o {out} {source}"])


def cgo():
    """Builds a Go program with cgo: Debian has no useful one that links the C library."""
    out, source = PLACE / "cgo/cgo", HERE / "cgo.go"
    return made(out, [source], [f"go build -o {out} {source}"], {"CGO_ENABLED": "1", "GOCACHE": str(PLACE / "gocache")})


def counts_below(folder):
    """{process: counts}, over all programs that it executed; without processes that allocated nothing."""
    found = collections.defaultdict(lambda: Counts(0, 0, 0, 0, 0))
    for path in Path(folder).iterdir():
        counted = Counts(*struct.unpack("=6Q", path.read_bytes())[:5])
        pid = int(path.name.split(".")[0])
        found[pid] = Counts(*map(sum, zip(found[pid], counted)))
    return {pid: counted for pid, counted in found.items() if any(counted)}


class Counted:
    """A program with counter.c preloaded, which waits before main."""

    def __init__(self, argv, folder, env=None, user=None, pause=0, **popen):
        self.folder = folder
        self.heard, say = os.pipe()
        hear, self.told = os.pipe()
        env = {**os.environ, **(env or {}), "LD_PRELOAD": str(counter()), "COUNTER_DIR": str(folder),
               "COUNTER_PIPES": f"{hear},{say}", "COUNTER_PAUSE": str(pause)}
        self.proc = subprocess.Popen([str(a) for a in argv], env=env, user=user, pass_fds=(hear, say),
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **popen)
        self.pid = self.proc.pid
        os.close(hear)
        os.close(say)

    def hears(self, word):
        """Starts a thread that reads stderr until the program says that it is ready."""
        ready, _, _ = select.select([self.heard], [], [], TIMEOUT)
        line = os.read(self.heard, 64).decode() if ready else ""
        assert line.startswith(word), f"{self.proc.args}: {line!r} instead of {word}: {self.proc.poll()}"
        return int(line.split()[1])

    def go(self):
        os.write(self.told, b"g")

    def finish(self):
        """(status, stderr); reads the pipe to its end."""
        _, text = self.proc.communicate(timeout=TIMEOUT)
        return self.proc.returncode, text.decode(errors="replace")

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.communicate()
        for fd in (self.heard, self.told):
            os.close(fd)


@dataclass
class Guest:
    name: str
    argv: list                                # with placeholders {dir}, {numbers}, {page} for what `supplies` made
    env: dict = field(default_factory=dict)
    input: str = None                         # a file for its stdin, with placeholders
    user: str = None
    drive: object = None                      # for a server: sends it requests, then ends it
    options: list = field(default_factory=list)
    statuses: tuple = (0,)
    every: int = 4096                         # bytes between samples


def supplies(folder):
    """Generates the programs' input files."""
    (folder / "numbers.json").write_text(
        "[" + ",".join(f'{{"id":{i},"name":"item {i % 97}","tags":["a{i % 7}","b{i % 11}"]}}' for i in range(300)) + "]")
    (folder / "numbers.txt").write_text("".join(f"{i} line {i * i % 1009} of {i % 13}\n" for i in range(4000)))
    (folder / "other.txt").write_text("".join(f"{i} line {i * i % 1013} of {i % 13}\n" for i in range(4000)))
    (folder / "page.html").write_text("<html><body><table>" + "".join(
        f"<tr><td>{i}</td><td><b>cell {i % 97}</b> <a href='#{i}'>link</a></td></tr>" for i in range(150)) + "</table></body></html>")
    (folder / "unit.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n" + "".join(
        f"int f{i}(int a) {{ return a * {i} + abs(a); }}\n" for i in range(8)))
    (folder / "rows.sql").write_text(
        "create table t(a integer, b text, c text);\n"
        "insert into t select i, i || ' words', (i * 7919) % 1009 from generate_series(1, 1000) g(i);\n"
        "select count(*) from (select c, count(*), max(b) from t group by c order by 2, 3) x;\n"
        "select count(*) from t a join t b on a.c = b.c;\n")
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;\n"
        "events { worker_connections 64; }\n"
        f"http {{ access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};\n"
        f"uwsgi_temp_path {folder}; scgi_temp_path {folder};\n"
        f"server {{ listen unix:{folder}/nginx.sock; root {folder}; }} }}\n")


def talk(path, words, ends):
    """Sends a request to a server's socket, which may not exist yet, and reads until the answer ends as given."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(TIMEOUT)
                s.connect(str(path))
                s.sendall(words)
                heard = b""
                while not heard.endswith(ends):
                    piece = s.recv(65536)
                    if not piece:
                        break
                    heard += piece
                return heard
        except (FileNotFoundError, ConnectionRefusedError):
            assert time.monotonic() < end, f"{path}: nobody answers"
            time.sleep(0.05)


def drive_nginx(folder, counted):
    for i in range(150):
        name = ("page.html", "numbers.txt", "nothing")[i % 3]
        answer = talk(folder / "nginx.sock", f"GET /{name} HTTP/1.0\r\nX-Long: {'x' * (i * 20)}\r\n\r\n".encode(), b"\0")
        assert answer.startswith(b"HTTP/1.1 "), answer[:100]
    counted.proc.terminate()


def drive_redis(folder, counted):
    words = [f"set key:{i} {'v' * (i % 900)}" for i in range(600)] + [f"lpush list:{i % 17} {i}" for i in range(600)]
    words += [f"hset hash:{i % 5} field{i} value{i}" for i in range(300)] + [f"del key:{i}" for i in range(0, 600, 2)]
    talk(folder / "redis.sock", ("\r\n".join([*words, "ping"]) + "\r\n").encode(), b"+PONG\r\n")
    talk(folder / "redis.sock", b"shutdown nosave\r\n", b"\0")


PYTHON = """
import json, re, threading
def work(n):
    table = {f"key {i}": [i] * (i % 20) for i in range(n)}
    return len(json.dumps(table)) + len(re.findall("k", repr(table)))
several = [threading.Thread(target=work, args=(200,)) for _ in range(3)]
[t.start() for t in several]
work(400)
[t.join() for t in several]
"""
PERL = 'my %h; for my $r (1..3) { $h{"key $_"} = [map { "v$_" x 9 } 1..8] for 1..300; delete $h{"key $_"} for 1..300 }'
RUBY = 'h = {}; 1000.times { |i| h["key #{i}" * 3] = ["v" * (i % 300), i.to_s * 20] }; ' \
       'Thread.new { 500.times { |i| "x" * (i % 999) } }.join; h.clear; GC.start'
PHP = '$h = []; for ($i = 0; $i < 1500; $i++) { $h["key $i"] = str_repeat("v", $i % 400); } ksort($h); echo strlen(json_encode($h));'
NODE = 'const b = []; for (let i = 0; i < 300; i++) b.push(Buffer.alloc(5000 + i)); ' \
       'const z = require("zlib"); for (let i = 0; i < 10; i++) z.deflateSync(b[i]); JSON.stringify(b.length)'
AWK = '{ count[$3]++; text[$1 % 500] = text[$1 % 500] $2 $3 } END { n = asorti(count, keys); for (i in text) s += length(text[i]); print n, s }'
LUA = 'local t = {} for r = 1, 3 do for i = 1, 1000 do t[i] = { name = "item " .. i, part = string.rep("x", i % 300) } end ' \
      't = {} collectgarbage() end'
GUILE = '(let loop ((i 0) (kept (quote ()))) (if (< i 1000) (loop (+ i 1) (cons (make-string 300 #\\x) kept)))) ' \
        '(call-with-output-string (lambda (port) (let loop ((i 0)) (if (< i 2000) (begin (display i port) (loop (+ i 1)))))))'
SQLITE = ("create table t(a, b, c); with recursive g(i) as (select 1 union all select i + 1 from g where i < 3000) "
          "insert into t select i, i || ' words', (i * 7919) % 1009 from g; create index k on t(c, b); "
          "select c, count(*), group_concat(b) from t group by c order by 2, 3; select count(*) from t x join t y using (c);")
BASH = 'for i in {1..150}; do name="item $i"; all+=("${name/item/thing}"); done; for i in 1 2 3; do last=$(echo "${all[@]:0:50}" | tr a b); done'

GUESTS = [
    Guest("python3", ["/usr/bin/python3", "-c", PYTHON], {"PYTHONMALLOC": "malloc"}),
    Guest("perl", ["perl", "-e", PERL]),
    Guest("ruby", ["ruby", "-e", RUBY]),
    Guest("php", ["php", "-n", "-r", PHP], {"USE_ZEND_ALLOC": "0"}),
    Guest("node", ["node", "-e", NODE], every=65536),
    Guest("redis", ["redis-server", "--port", "0", "--unixsocket", "{dir}/redis.sock", "--save", "", "--dir", "{dir}"],
          drive=drive_redis),
    Guest("nginx", ["nginx", "-c", "{dir}/nginx.conf", "-p", "{dir}"], drive=drive_nginx),
    Guest("postgres", ["/usr/lib/postgresql/15/bin/postgres", "--single", "-D", "{dir}/cluster", "-j", "postgres"],
          input="{dir}/rows.sql", user="postgres"),
    Guest("sqlite3", ["sqlite3", ":memory:", SQLITE]),
    Guest("xz", ["xz", "-T2", "-3", "--block-size=64KiB", "-k", "-c", "{dir}/numbers.txt"], every=64),  # few small blocks
    Guest("w3m", ["w3m", "-dump", "-T", "text/html", "{dir}/page.html"], {"HOME": "{dir}"}, options=["--allocator", "libc"]),
    Guest("jq", ["jq", "-c", "group_by(.name) | map({(.[0].name): map(.tags[0]) | unique})", "{dir}/numbers.json"]),
    Guest("gawk", ["gawk", AWK, "{dir}/numbers.txt"]),
    Guest("guile", ["guile-3.0", "--no-auto-compile", "-c", GUILE], options=["--allocator", "libc"]),
    Guest("cgo", [cgo]),
    Guest("lua", ["lua5.4", "-e", LUA]),
    Guest("git", ["git", "--no-pager", "diff", "--no-index", "--patience", "{dir}/numbers.txt", "{dir}/other.txt"],
          {"HOME": "{dir}"}, statuses=(1,)),
    Guest("gcc", ["gcc", "-O2", "-c", "-o", "{dir}/unit.o", "{dir}/unit.c"], options=["--follow"]),
    Guest("bash", ["bash", "-c", BASH], options=["--follow"]),
]


def start(guest, folder, counts, **more):
    """Starts the program on the files that `supplies` made in the folder."""
    def fill(text):
        return str(text()) if callable(text) else text.replace("{dir}", str(folder))

    stdin = open(fill(guest.input)) if guest.input else subprocess.DEVNULL
    return Counted([fill(word) for word in guest.argv], counts, {k: fill(v) for k, v in guest.env.items()}, guest.user,
                   stdin=stdin, cwd=folder, **more)


@pytest.fixture
def place(public, guest):
    """A folder that any user can write to, with the programs' input files."""
    folder = public.folder
    folder.chmod(0o777)
    supplies(folder)
    (folder / "counts").mkdir()
    (folder / "counts").chmod(0o777)
    if guest.user:
        subprocess.run(["/usr/lib/postgresql/15/bin/initdb", "-D", folder / "cluster", "-A", "trust", "-N"], user=guest.user,
                       cwd=folder, check=True, capture_output=True, timeout=TIMEOUT)
    return folder
