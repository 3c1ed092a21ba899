# SPDX-License-Identifier: Apache-2.0
"""--skip and --no-skip: a site is the caller of a wrapper, not the wrapper; the same in every view."""

import base64
import json
import os
import re
import shutil
import subprocess
import time
import zlib

import pytest

from conftest import PROGS, alys, convert
from terminal import quit_cleanly, terminal  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.bpf, pytest.mark.beside]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    out = tmp_path_factory.mktemp("skip") / "wrappers.alys"
    done = alys("-o", out, "--", PROGS / "cpp_wrappers")
    assert done.returncode == 0, done.stderr
    return out


def functions(trace, *args, env=None, by="function"):
    """{function: (blocks, bytes) allocated}"""
    done = alys("report", "--show", "alloc", "--by", by, "-f", "json", *args, trace, env={**os.environ, **(env or {})})
    assert done.returncode == 0, done.stderr
    return {row[by]: (row["count"], row["bytes"]) for row in json.loads(done.stdout)["rows"]}


def names_in(path):
    """How often "zmalloc" occurs in a file, including a page's compressed data."""
    text = path.read_bytes()
    for packed in re.findall(rb">([A-Za-z0-9+/=]{64,})<", text):
        text += zlib.decompress(base64.b64decode(packed))
    return len(re.findall(rb"\bzmalloc\b", text))


def test_known_wrappers_are_passed_over(trace):
    told = functions(trace)
    assert told["site_plain"] == (10, 1000) and told["pool_get"] == (20, 4000)
    assert not any("zmalloc" in name or "allocator<" in name.split("::")[1:2] for name in told), told
    vectors = [name for name in told if name.startswith(("site_vector", "std::vector<"))]
    assert sum(told[v][0] for v in vectors) == 31 and not any("allocate" in v or "_M_" in v for v in vectors), told


def test_no_skip_shows_them(trace):
    told = functions(trace, "--no-skip")
    assert told["zmalloc"] == (30, 5000) and "site_plain" not in told
    assert any("allocate" in name for name in told)


def test_own_wrappers(trace):
    assert functions(trace, "--skip", "^pool_get$")["site_pool"] == (20, 4000)
    assert functions(trace, "--skip", "^pool_", "--skip", "^site_plain$")["main"] == (10, 1000)
    assert functions(trace, "--no-skip", "--skip", "^zmalloc$")["pool_get"] == (20, 4000)
    assert functions(trace, "--skip", "^pool_get$", "--no-skip")["zmalloc"] == (30, 5000), "the last word counts"


def test_a_number_is_that_many_frames(trace):
    """--skip N removes N frames in every kind of table, after wrappers; the environment sets the default."""
    assert functions(trace, "--skip", "1")["site_pool"] == (20, 4000)
    assert functions(trace, env={"MEMPROF_STACK_SKIP": "1"})["site_pool"] == (20, 4000)
    assert functions(trace, "--skip", "0", env={"MEMPROF_STACK_SKIP": "1"})["pool_get"] == (20, 4000)
    assert functions(trace, env={"MEMPROF_STACK_SKIP": "^pool_get$"})["site_pool"] == (20, 4000)
    assert functions(trace, "--no-skip", env={"MEMPROF_STACK_SKIP": "1"})["zmalloc"] == (30, 5000)


def test_a_stack_that_is_all_wrappers_keeps_its_outermost_frame(trace):
    whole = functions(trace, "--no-skip")
    for args in (["--skip", "."], ["--skip", "1000000"]):
        told = functions(trace, *args)
        assert sum(cnt for cnt, _ in told.values()) == sum(cnt for cnt, _ in whole.values())
        assert "_start" in told and "main" not in told, told


def test_types_do_not_depend_on_it(trace):
    types = functions(trace, by="type")
    assert any("vector<char" in name for name in types), types
    assert types == functions(trace, "--no-skip", by="type") == functions(trace, "--skip", "3", by="type")


@pytest.mark.parametrize("format", ["json", "folded-stacks", "speedscope", "html", "flamegraph", "text", "dhat"])
def test_every_format_of_convert(trace, tmp_path, format):
    """With --no-skip, the wrapper's name is in the file of every format."""
    def names(out, *args):
        return names_in(convert(trace, format, tmp_path / out, *args))
    assert names("default") == names("own", "--no-skip", "--skip", "^zmalloc$") == 0
    assert names("all", "--no-skip") > 0


@pytest.mark.skipif(not shutil.which("go"), reason="no go")
def test_pprof(trace, tmp_path):
    def top(out, *args):
        path = convert(trace, "pprof", tmp_path / out, *args)
        return subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=alloc_space", path], check=True, capture_output=True,
                              text=True, env={**os.environ, "HOME": str(tmp_path)}).stdout
    assert "zmalloc" not in top("a.pb.gz") and "zmalloc" in top("b.pb.gz", "--no-skip")


def test_page_and_differences(trace, tmp_path):
    for word, args in ((False, []), (True, ["--no-skip"])):
        page, picture = tmp_path / f"{word}.html", tmp_path / f"{word}.svg"
        for words in (["report", "--html", page, *args, trace], ["diff", "--show", "alloc", "--flamegraph", picture, *args, trace, trace]):
            done = alys(*words)
            assert done.returncode == 0, done.stderr
        assert bool(names_in(page)) == bool(names_in(picture)) == word
        done = alys("diff", "--show", "alloc", *args, trace, trace)
        assert done.returncode in (0, 3) and ("zmalloc" in done.stdout) <= word


def test_top(terminal, started):
    target = started.program("c_grow").wait_ready().go()
    screen = terminal("-p", target.pid, "--sample", "bytes:512", "--skip", "^site_")
    # Stacks that end at such a frame, as those before there are tables do, keep it.
    screen.shows(rf"process {target.pid} c_grow, by site", r"SITE\n[^\n]* main ")
    quit_cleanly(screen)
    assert target.finish() == 0


def test_profiles_of_a_daemon(daemon, started):
    target = started.program("c_grow").wait_ready().go()
    plain = daemon("-p", target.pid, "--sample", "bytes:512")
    plain.until(lambda: plain.top(target.pid).get("site_grow_fast"))
    plain.ctl("stop")
    plain.proc.wait(60)
    cut = daemon("-p", target.pid, "--sample", "bytes:512", "--skip", "^site_")

    def shown():
        """Stacks that consist of a wrapper only, as walked before unwind tables are loaded, keep it."""
        told = cut.top(target.pid)
        return told.get("main", 0) > 10 * sum(n for name, n in told.items() if name and name.startswith("site_")) + 100
    cut.until(shown)
    cut.ctl("stop")
    assert target.finish() == 0


def test_redis_is_not_all_zmalloc(tmp_path, started):
    port, out = "7398", tmp_path / "redis.alys"
    server = subprocess.Popen(["redis-server", "--port", port, "--save", "", "--dir", tmp_path], stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True).returncode:
            assert time.monotonic() < end
            time.sleep(0.05)
        tracer = started.tracer("-p", server.pid, "-o", out).recording()
        subprocess.run(["redis-benchmark", "-p", port, "-q", "-n", "500", "-t", "set,lpush"], check=True, capture_output=True, timeout=60)
        tracer.stop()
    finally:
        server.kill()
        server.wait()
    told = functions(out)
    assert not any(re.match(r"z(m|c|re)alloc", name) for name in told), told
    assert "createEmbeddedStringObject" in told and "createClient" in told
    whole = functions(out, "--no-skip")
    assert set(whole) <= {n for n in whole if re.match(r"z(try)?(m|c|re)alloc", n)} | set(told), whole
    assert sum(cnt for cnt, _ in whole.values()) == sum(cnt for cnt, _ in told.values())


def test_what_is_refused(trace):
    for args, words in ((["--skip", "("], "--skip \"(\" is no regular expression"), (["--skip=-1"], "--skip wants a regular expression or a number"),
                        (["--skip", ""], "--skip wants a regular expression or a number")):
        done = alys("report", *args, trace)
        assert done.returncode == 2 and words in done.stderr, done.stderr
    done = alys("report", "--callers", "zmalloc", "--show", "alloc", trace)
    assert done.returncode == 3 and "--no-skip keeps wrappers" in done.stderr, (done.returncode, done.stderr)
    done = alys("top", "--skip", "x", "--socket", "/nowhere")
    assert done.returncode == 2 and "give --skip to the daemon" in done.stderr, done.stderr
