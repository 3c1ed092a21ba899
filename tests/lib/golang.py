# SPDX-License-Identifier: Apache-2.0
"""What was recorded of tests/prog/go/calls.go."""

import collections
import re

from conftest import events_of

SWITCH = ["runtime.asmcgocall", "runtime.cgocall"]
INNER = ["site_plain", *SWITCH, "main._Cfunc_site_plain", "main.goBack", "runtime.cgocallback", "crosscall2", "goBack", "site_back"]
OUTER = [*SWITCH, "main._Cfunc_site_back"]
# From the allocation to the function that tells which way it came; that of the last one is called in place of its caller.
WAYS = {"main.plain": [["site_plain", *SWITCH, "main._Cfunc_site_plain"]],
        "main.back": [[*INNER, *OUTER], ["site_plain", *OUTER]],
        "main.moved": [[*INNER, *OUTER], ["site_plain", *OUTER]]}


def follows(names, wanted):
    """Are these in it, in this order?"""
    left = iter(names)
    return all(name in left for name in wanted)


def assert_go_stacks(trace, truth, tmp_path):
    """Each allocation's, from C through Go to where the goroutine began."""
    whole, cut = collections.Counter(), 0
    for event in events_of(trace, tmp_path):
        names = [frame.get("name", "?") for frame in event["stack"]]
        if event["kind"] != "alloc" or "site_plain" not in names:
            continue
        way = next((way for way in WAYS if way in names), None)
        found = way and names[-1] == "runtime.goexit" and any(
            follows(names, [*inner, way, "main.in_goroutine"]) for inner in WAYS[way][:1 if "main.goBack" in names else None])
        whole[way] += bool(found)
        cut += not found
    times = truth["times"]
    # Before 1.21 frame pointers of a stack that moves lead to where it was.
    keeps = tuple(map(int, re.match(r"go(\d+)\.(\d+)", truth["version"]).groups())) >= (1, 21)
    assert (whole["main.plain"], whole["main.back"]) == (times, times + 1), (whole, cut)
    assert (whole["main.moved"], cut) == (times + 1, 0) or (not keeps and cut <= times + 1), (whole, cut)
