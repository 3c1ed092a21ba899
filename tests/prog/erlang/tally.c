/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of an Erlang module. One keeps a block of malloc, uses one of the VM, and returns a list of 10 cells (20 words); two return a
 * binary of as many bytes as they are asked for.
 */
#include <stdlib.h>
#include <string.h>

#include <erl_nif.h>

#define CELLS 10
#define KEPT 48

static void **last;

__attribute__((noinline)) void keep_one(void)
{
	void **p = malloc(KEPT);
	*p = last;
	last = p;
}

static ERL_NIF_TERM make(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM list = enif_make_list(env, 0);
	char *used = enif_alloc(100 * (size_t)argc);
	used[0] = 1;
	enif_free(used);
	keep_one();
	for (int i = 0; i < CELLS; i++)
		list = enif_make_list_cell(env, argv[0], list);
	return list;
}

static ERL_NIF_TERM new_binary(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM made;
	unsigned int size = 0;
	if (argc != 1 || !enif_get_uint(env, argv[0], &size))
		return enif_make_badarg(env);
	memset(enif_make_new_binary(env, size, &made), 1, size);
	return made;
}

static ERL_NIF_TERM alloc_binary(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ErlNifBinary made;
	unsigned int size = 0;
	if (argc != 1 || !enif_get_uint(env, argv[0], &size) || !enif_alloc_binary(size, &made))
		return enif_make_badarg(env);
	memset(made.data, 1, size);
	return enif_make_binary(env, &made);
}

static ErlNifFunc functions[] = { { "make", 1, make, 0 }, { "new_binary", 1, new_binary, 0 }, { "alloc_binary", 1, alloc_binary, 0 } };

ERL_NIF_INIT(tally, functions, NULL, NULL, NULL, NULL)
