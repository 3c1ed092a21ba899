/* SPDX-License-Identifier: Apache-2.0 */
/* A function of an Erlang module: keeps a block of malloc, uses one of the VM, and returns a list of 10 cells (20 words). */
#include <stdlib.h>

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

static ErlNifFunc functions[] = { { "make", 1, make, 0 } };

ERL_NIF_INIT(tally, functions, NULL, NULL, NULL, NULL)
