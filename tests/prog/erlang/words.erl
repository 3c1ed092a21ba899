%% SPDX-License-Identifier: Apache-2.0
%% Allocates known numbers of words, and prints how many the VM counted; follows the protocol of truth.h.
-module(words).
-export([main/1, run/2, calls/2, big/1, middle/1, small/1]).

main([What, Times]) ->
	Fun = fun() -> run(list_to_atom(What), list_to_integer(Times)) end,
	io:format("ready~n"),
	_ = io:get_chars("", 1),
	{CollectionsBefore, Before, _} = erlang:statistics(garbage_collection),
	Answer = Fun(),
	{Collections, After, _} = erlang:statistics(garbage_collection),
	io:format("{\"reclaimed\": ~w, \"collections\": ~w, \"answer\": ~s}~n",
		[After - Before, Collections - CollectionsBefore, answer(Answer)]),
	_ = io:get_chars("", 1),
	halt().

answer([_ | _] = Named) -> ["{", lists:join(", ", [io_lib:format("\"~s\": \"~s\"", [Name, Pid]) || {Name, Pid} <- Named]), "}"];
answer(Other) -> io_lib:format("~w", [Other]).

%% Sites at random, in a fixed order, or in many short-lived processes.
run(chance, N) -> in_process(fun() -> by_chance(N, 12345), erlang:garbage_collect(), N end);
run(turns, N) -> in_process(fun() -> in_turn(N), erlang:garbage_collect(), N end);
run(short, N) -> short(N);
run(deep, N) -> in_process(fun() -> S = deep(N), erlang:garbage_collect(), S end);
run(asleep, N) -> asleep(N);
run(messages, N) -> messages(N);
run(httpd, N) -> httpd(N);
run(kept, N) -> in_process(fun() -> kept(lists:seq(1, 100000), N) end);
run(generations, N) -> in_process(fun() -> generations([], N) end);
run(blocks, N) -> blocks(N);
run(binaries, N) -> binaries(N);
run(upgrade, N) -> upgrade(N);
run(nif, N) -> in_process(fun() -> S = tally:run(N), erlang:garbage_collect(), S end);
run(nif_new_small, N) -> nif_binaries(new, 64, N);
run(nif_new_large, N) -> nif_binaries(new, 1000, N);
run(nif_alloc, N) -> nif_binaries(alloc, 1000, N);
run(workers, N) -> workers(N);
run(named, N) -> named(N);
run(fetched, N) -> fetched(N);
run(moved, N) -> moved(N);
run(large, N) -> in_process(fun() -> S = length(lists:seq(1, N)), erlang:garbage_collect(), S end).

in_process(Fun) ->
	Self = self(),
	{Pid, Ref} = spawn_monitor(fun() -> Self ! {answer, Fun()} end),
	receive {'DOWN', Ref, process, Pid, normal} -> ok end,
	receive {answer, Answer} -> Answer end.

by_chance(0, _) -> ok;
by_chance(N, X) ->
	case X rem 3 of
		0 -> big(N);
		1 -> middle(N);
		2 -> small(N)
	end,
	by_chance(N - 1, (X * 16807) rem 2147483647).

in_turn(0) -> ok;
in_turn(N) -> big(N), middle(N), small(N), in_turn(N - 1).

%% 20, 6 and 2 words, a ratio of 10 to 3 to 1. A tuple has one word more than it has elements.
big(N) -> {N, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, N}.
middle(N) -> {N, 2, 3, 4, N}.
small(N) -> [N | N].

%% Each process makes a list of 40 cells (80 words), and exits before its heap is full.
short(0) -> 0;
short(N) -> in_process(fun() -> length(cells(40)) end), short(N - 1).

cells(0) -> [];
cells(N) -> [N | cells(N - 1)].

%% The heap fills and is collected while the stack is N frames deep.
deep(0) -> 0;
deep(N) -> _ = small(N), 1 + deep(N - 1).

%% Processes that hibernate and wake up again; hibernating collects the heap.
asleep(N) ->
	Self = self(),
	Pids = [spawn(fun() -> _ = cells(I rem 50), erlang:hibernate(erlang, send, [Self, up]) end) || I <- lists:seq(1, N)],
	[Pid ! wake || Pid <- Pids],
	[receive up -> ok end || _ <- Pids],
	length(Pids).

%% N messages through each of many pairs of processes, which answer each other and allocate by chance. What they do beside
%% it is chosen for some 50,000 collections a second of CPU time.
-define(PAIRS, 50).

messages(N) ->
	Self = self(),
	_ = [spawn(fun() -> asks(spawn_link(fun() -> answers() end), N, Seed), Self ! up end) || Seed <- lists:seq(1, ?PAIRS)],
	[receive up -> ok end || _ <- lists:seq(1, ?PAIRS)],
	N * ?PAIRS.

asks(Peer, 0, _) -> exit(Peer, kill);
asks(Peer, N, X) ->
	by_chance(3, X),
	Peer ! {self(), [N, X]},
	receive {Peer, _} -> idle(600) end,
	asks(Peer, N - 1, (X * 16807) rem 2147483647).

answers() ->
	receive {Peer, What} -> idle(600), Peer ! {self(), What} end,
	answers().

idle(0) -> ok;
idle(N) -> idle(N - 1).

%% N requests to a server in the same VM; how many it answered.
httpd(N) ->
	ok = inets:start(),
	{ok, Server} = inets:start(httpd, [{port, 0}, {server_name, "words"}, {server_root, "/tmp"}, {document_root, "/proc/self/fdinfo"},
		{bind_address, {127, 0, 0, 1}}]),
	[{port, Port}] = httpd:info(Server, [port]),
	Url = "http://127.0.0.1:" ++ integer_to_list(Port) ++ "/0",
	length([ok || _ <- lists:seq(1, N), {ok, {{_, 200, _}, _, _}} <- [httpc:request(get, {Url, [{"connection", "close"}]}, [], [])]]).

%% N binaries of 100 KB, which are not on the heap, one after the other.
binaries(0) -> 0;
binaries(N) -> byte_size(binary:copy(<<N:8>>, 100000)) div 100000 + binaries(N - 1).

%% The module is loaded anew, and what runs next is the new code.
upgrade(N) ->
	N = run(chance, N),
	{module, ?MODULE} = code:load_file(?MODULE),
	?MODULE:run(chance, N).

nif_binaries(How, Size, N) -> in_process(fun() -> ok = tally:binaries(How, Size, N), erlang:garbage_collect(), N end).

%% Three processes among many that begin and end at once, so that their pids have serials where these have few bits. N calls of one
%% of the functions in each, so their words are in a ratio of 10 to 3 to 1. What they are called is the answer.
-define(BEFORE, 50000).

workers(N) ->
	Self = self(),
	[begin
		short_ones(?BEFORE),
		Pid = spawn(fun() -> worker(Self, Size, N) end),
		receive {Pid, done} -> {Size, pid_to_list(Pid)} end
	end || Size <- [big, middle, small]].

short_ones(0) -> ok;
short_ones(N) -> spawn(fun() -> ok end), short_ones(N - 1).

worker(Parent, Size, N) -> calls(Size, N), erlang:garbage_collect(), Parent ! {self(), done}.

calls(_, 0) -> ok;
calls(big, N) -> big(N), calls(big, N - 1);
calls(middle, N) -> middle(N), calls(middle, N - 1);
calls(small, N) -> small(N), calls(small, N - 1).

%% A list of 100,000 cells lives through N collections.
kept(List, 0) -> length(List);
kept(List, N) -> erlang:garbage_collect(), kept(List, N - 1).

%% A list that grows by a cell, N times. Each is followed by three minor collections and a major one.
generations(List, 0) -> length(List);
generations(List, N) ->
	[true = erlang:garbage_collect(self(), [{type, Type}]) || Type <- [minor, minor, minor, major]],
	generations([N | List], N - 1).

%% N rows in each of two tables, of which one is deleted; N div 100 binaries of 100 KB that stay.
blocks(N) ->
	[Gone, _] = [table(N) || _ <- [1, 2]],
	true = ets:delete(Gone),
	put(kept, [binary:copy(<<I:8>>, 100000) || I <- lists:seq(1, N div 100)]),
	N.

table(N) ->
	Table = ets:new(rows, [set]),
	[true = ets:insert(Table, {I, I, I}) || I <- lists:seq(1, N)],
	Table.

%% Processes with a name from the start, with one that they get later, and with none. What they are called is the answer.
named(N) ->
	Registered = fun(Name) -> true = register(Name, self()), calls(big, N) end,
	All = [{registered, spawn_monitor(fun() -> Registered(list_to_atom("words_caf" ++ [233])) end)},
		{late, spawn_monitor(fun() -> calls(big, N), Registered(late_one) end)},
		{spawned, spawn_monitor(?MODULE, calls, [big, N])},
		{'fun', spawn_monitor(fun() -> calls(big, N) end)}],
	[receive {'DOWN', Ref, process, Pid, normal} -> {Name, pid_to_list(Pid)} end || {Name, {Pid, Ref}} <- All].

%% N copies of a row, which stay until the heap has been collected on request: 7 words, a cell for the list that the row is in, and one for
%% the list of all. What the process is called is the answer.
fetched(N) ->
	{Pid, Ref} = spawn_monitor(fun() ->
		Table = ets:new(rows, [set]),
		true = ets:insert(Table, {1, 2, 3, 4, 5, 6}),
		Kept = fetch(Table, N),
		erlang:garbage_collect(),
		N = length(Kept)
	end),
	receive {'DOWN', Ref, process, Pid, normal} -> [{fetcher, pid_to_list(Pid)}] end.

fetch(_, 0) -> [];
fetch(Table, N) -> [ets:lookup(Table, 1) | fetch(Table, N - 1)].

%% N tuples in each of two processes, one with major collections only: of known sizes from 2 words to 64 Ki, by code that asks for all words
%% at once, and by built-in functions. Some stay for a while, and some collections are on request. The heap comes back to blocks in
%% which it was, and some collections are put off. What the processes are called and how many words they have allocated is the answer.
moved(N) ->
	[begin
		Self = self(),
		{Pid, Ref} = spawn_opt(fun() -> Self ! {words, tuples(N, 12345, [], 0)} end, [monitor, {fullsweep_after, Sweep}]),
		receive {'DOWN', Ref, process, Pid, normal} -> ok end,
		receive {words, Words} -> {pid_to_list(Pid), integer_to_list(Words)} end
	end || Sweep <- [0, 65535]].

tuples(0, _, _, Words) -> Words;
tuples(N, X, Kept, Words) ->
	Tuple = case X rem 7 of
		0 -> erlang:make_tuple(1 bsl (X div 7 rem 17), N);
		1 -> erlang:make_tuple(X div 7 rem 300 + 1, N);
		2 -> X div 7 rem 40 > 0 orelse erlang:garbage_collect(), {N};
		3 -> middle(N);
		4 -> big(N);
		_ -> wide(N)
	end,
	Stay = case X div 7 rem 11 of 0 -> []; 1 -> [Tuple | Kept]; _ -> Kept end,
	Cell = case X div 7 rem 11 of 1 -> 2; _ -> 0 end,
	tuples(N - 1, (X * 16807) rem 2147483647, Stay, Words + tuple_size(Tuple) + 1 + Cell).

-define(TEN(N), N, N, N, N, N, N, N, N, N, N).
-define(HUNDRED(N), ?TEN(N), ?TEN(N), ?TEN(N), ?TEN(N), ?TEN(N), ?TEN(N), ?TEN(N), ?TEN(N), ?TEN(N), ?TEN(N)).
wide(N) -> {?HUNDRED(N), ?HUNDRED(N), ?HUNDRED(N)}.
