%% SPDX-License-Identifier: Apache-2.0
%% A module whose functions are written in C, see tally.c.
-module(tally).
-export([run/1, binaries/3, make/1, new_binary/1, alloc_binary/1]).
-on_load(load/0).

load() -> erlang:load_nif(filename:rootname(code:which(?MODULE)), 0).

make(_) -> erlang:nif_error(not_loaded).
new_binary(_) -> erlang:nif_error(not_loaded).
alloc_binary(_) -> erlang:nif_error(not_loaded).

%% N calls, whose lists are garbage at once.
run(0) -> 0;
run(N) -> 10 = length(make(N)), 1 + run(N - 1).

%% N binaries of this size, which are garbage at once.
binaries(_, _, 0) -> ok;
binaries(new, Size, N) -> Size = byte_size(new_binary(Size)), binaries(new, Size, N - 1);
binaries(alloc, Size, N) -> Size = byte_size(alloc_binary(Size)), binaries(alloc, Size, N - 1).
