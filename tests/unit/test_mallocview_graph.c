/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview: which blocks lead to which, of copies made by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mallocview/malloc_graph.h"

#define FIRST 0x10000ull  /* 64 bytes */
#define SECOND 0x10050ull /* 32 bytes, and 16 that are no block's behind it */
#define THIRD 0x20000ull  /* 4096 bytes */

/* 64 + 32 + 4096 bytes of blocks, then the words of two roots. */
struct made {
	uint64_t words[8 + 4 + 512];
	uint64_t roots[4];
	struct copied_block blocks[3];
	struct root_range ranges[2];
	struct malloc_copy copy;
	struct graph graph;
};

static struct made *begin(void)
{
	struct made *m = calloc(1, sizeof(*m));
	m->blocks[0] = (struct copied_block){ FIRST, 64, 0, 0 };
	m->blocks[1] = (struct copied_block){ SECOND, 32, 64, 1 };
	m->blocks[2] = (struct copied_block){ THIRD, 4096, 96, 2 };
	m->ranges[0] = (struct root_range){ .kind = ROOT_ANONYMOUS, .start = 0x900000, .end = 0x900010 };
	m->ranges[1] = (struct root_range){ .kind = ROOT_GLOBAL, .start = 0x800000, .end = 0x800010, .at = 16 };
	m->copy = (struct malloc_copy){ .blocks = m->blocks, .blocks_cnt = 3, .bytes = (void *)m->words };
	m->copy.roots = (struct roots){ .ranges = m->ranges, .ranges_cnt = 2, .bytes = (void *)m->roots };
	return m;
}

static void end(struct made *m)
{
	graph_free(&m->graph);
	free(m);
}

static void test_words_that_lead_to_blocks(void **state)
{
	(void)state;
	struct made *m = begin();
	m->words[1] = SECOND;      /* its start */
	m->words[2] = THIRD + 100; /* inside */
	m->words[3] = FIRST + 8;   /* itself */
	m->words[4] = SECOND + 32; /* behind it */
	m->words[5] = FIRST - 1;
	m->words[6] = THIRD + 4096;
	m->words[8 + 4 + 511] = FIRST + 63; /* the last word of the last block */
	assert_int_equal(malloc_graph_scan(&m->graph, &m->copy), 0);
	const struct graph *g = &m->graph;
	assert_int_equal(g->objects_cnt, 3);
	assert_int_equal(g->edges_cnt, 3);
	assert_true(g->out[0].other == 1 && g->out[0].word == 1 && !g->out[0].inside);
	assert_true(g->out[1].other == 2 && g->out[1].word == 2 && g->out[1].inside);
	assert_true(g->out[2].other == 0 && g->out[2].word == 511 && g->out[2].inside);
	assert_int_equal(g->objects[2].type, 2 + MALLOC_TYPE_BASE);
	assert_int_equal(g->roots_cnt, 0);
	end(m);
}

/* A block that a variable and something else lead to is the variable's. */
static void test_roots(void **state)
{
	uint64_t via[3];
	(void)state;
	struct made *m = begin();
	m->words[1] = SECOND;
	m->roots[0] = FIRST, m->roots[1] = THIRD + 8; /* anonymous */
	m->roots[3] = FIRST + 16;                     /* global */
	assert_int_equal(malloc_graph_scan(&m->graph, &m->copy), 0);
	const struct graph *g = &m->graph;
	assert_int_equal(g->roots_cnt, 3);
	assert_int_equal(graph_ways(g, via), 0);
	assert_true(via[0] & GRAPH_VIA_ROOT && via[2] & GRAPH_VIA_ROOT && !(via[1] & GRAPH_VIA_ROOT));
	assert_int_equal(g->roots[via[0] & ~GRAPH_VIA_ROOT].addr, 0x800008);
	assert_int_equal(g->roots[via[2] & ~GRAPH_VIA_ROOT].kind, ROOT_ANONYMOUS);
	end(m);
}

static void test_nothing_in_use(void **state)
{
	(void)state;
	const struct malloc_copy none = { 0 };
	struct graph g;
	assert_int_equal(malloc_graph_scan(&g, &none), 0);
	assert_int_equal(g.objects_cnt, 0);
	graph_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_that_lead_to_blocks),
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_nothing_in_use),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
