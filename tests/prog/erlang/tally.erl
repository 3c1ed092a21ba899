%% SPDX-License-Identifier: Apache-2.0
%% A module whose function is written in C, see tally.c.
-module(tally).
-export([run/1, make/1]).
-on_load(load/0).

load() -> erlang:load_nif(filename:rootname(code:which(?MODULE)), 0).

make(_) -> erlang:nif_error(not_loaded).

%% N calls, whose lists are garbage at once.
run(0) -> 0;
run(N) -> 10 = length(make(N)), 1 + run(N - 1).
