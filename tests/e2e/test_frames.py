# SPDX-License-Identifier: Apache-2.0
"""Hand-written frames and unusual symbols: trampolines, coroutines, and outermost frames."""


import pytest

from conftest import alys, assert_law, events_of
from source import build

pytestmark = [pytest.mark.bpf, pytest.mark.beside]
START = ["main", "__libc_start_call_main", "__libc_start_main", "_start"]

C = """
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <ucontext.h>
static ucontext_t home, away;
static char stack[65536];
__attribute__((noipa)) static void back(void) { swapcontext(&away, &home); }
#endif
void *volatile kept;
__attribute__((noipa)) void site(int n) { kept = malloc(n); __asm__ volatile(""); }
static void handler(int s) { (void)s; site(7001); }
__attribute__((noipa)) void site_raise(void) { raise(SIGUSR1); __asm__ volatile(""); }
#ifdef __GLIBC__
__attribute__((noipa)) static void entry(void) { site(7002); back(); }
static void in_context(ucontext_t *link)
{
    getcontext(&away);
    away.uc_stack.ss_sp = stack;
    away.uc_stack.ss_size = sizeof(stack);
    away.uc_link = link;
    makecontext(&away, (void (*)(void))entry, 0);
    swapcontext(&home, &away);
}
#endif
int main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    sigaction(SIGUSR1, &sa, NULL);
    site_raise();
#ifdef __GLIBC__
    in_context(NULL);
    in_context(&home);
#endif
    return 0;
}
"""
CONSTRUCTOR = """
#include <stdlib.h>
#include <unistd.h>
void *volatile kept;
__attribute__((noipa)) void site(int n) { kept = malloc(n); __asm__ volatile(""); }
__attribute__((constructor)) static void begin(void)
{
    char byte;
    write(1, "ready\\n", 6);
    if (read(0, &byte, 1) == 1)
        site(7003);
    __asm__ volatile("");
}
"""
COROUTINE = """
#include <coroutine>
#include <cstdlib>
struct task {
    struct promise_type {
        task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> h;
};
void *volatile kept;
namespace shop { task work(int n) { kept = malloc(n + 7000); co_await std::suspend_always{}; } }
int main() { auto t = shop::work(4); t.h.resume(); t.h.resume(); t.h.destroy(); }
"""


def stacks_of(trace, folder):
    """{size: stack, innermost frame first, without the allocator's}"""
    assert_law(trace)
    found = {}
    for e in events_of(trace, folder):
        found.setdefault(e["size"], []).append([f.get("name", "?") for f in e["stack"] if f.get("name") != "malloc"])
    return found


def record(program, folder):
    done = alys("record", "-o", folder / "t.alys", "--", program)
    assert done.returncode == 0, done.stderr
    return stacks_of(folder / "t.alys", folder)


@pytest.mark.parametrize("flags", [(), ("-static",), ("-fno-omit-frame-pointer",)], ids=" ".join)
def test_signals_and_contexts(tmp_path, flags):
    stacks = record(build(tmp_path, C, "gcc", "-O2", "-g", *flags), tmp_path)
    signal = stacks[7001][0]
    assert signal[:3] == ["site", "handler", "__restore_rt"] or signal[:2] == ["site", "__restore_rt"], signal
    assert signal[-5:] == ["site_raise", *START], signal
    assert stacks[7002] == [["site", "entry", "__start_context"]] * 2
    assert "no-table" not in alys("info", tmp_path / "t.alys").stdout


@pytest.mark.parametrize("flags", [(), ("-static",)], ids=" ".join)
def test_signals_of_musl(tmp_path, flags):
    stacks = record(build(tmp_path, C, "musl-gcc", "-O2", "-g", "-fno-omit-frame-pointer", *flags), tmp_path)
    assert "__restore_rt" in stacks[7001][0], stacks


def test_constructors(tmp_path, started):
    """The dynamic linker's entry point has no unwind rows and is the outermost frame."""
    library = build(tmp_path, CONSTRUCTOR, "gcc", "-O2", "-g", "-shared", "-fPIC", name="libfirst.so")
    program = build(tmp_path, "int main(void) { return 0; }", "gcc", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{tmp_path}")
    target = started.program(program).wait_ready()
    tracer = started.tracer("-p", target.pid, "-o", tmp_path / "t.alys").recording()
    target.go()
    assert target.finish() == 0
    assert tracer.wait() == 0, tracer.text
    (stack,) = stacks_of(tmp_path / "t.alys", tmp_path)[7003]
    assert stack[:2] == ["site", "begin"], stack
    assert "no-table" not in alys("info", tmp_path / "t.alys").stdout


@pytest.mark.parametrize("debug", ["-g", "-g0"])
def test_coroutines(tmp_path, debug):
    stacks = record(build(tmp_path, COROUTINE, "g++", "-std=c++20", "-O1", debug), tmp_path)
    name = "shop::work(shop::work(int)::_ZN4shop4workEi.Frame*) [clone .actor]"
    assert stacks[7004][0][0] == name
