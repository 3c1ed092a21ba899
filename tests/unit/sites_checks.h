/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites tests of any machine: what is claimed about sites of Debian's allocators agrees with objdump and with the unwind tables. Of
 * the machine, a test says which exits are no `ret`.
 */
#ifndef ALYS_TEST_SITES_CHECKS_H
#define ALYS_TEST_SITES_CHECKS_H

#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "sites_libraries.h"
#include "unwind/unwind.h"

static const char *const libraries[] = { GLIBC, MUSL, LIBGC, JEMALLOC, TCMALLOC, MIMALLOC };
#define LIBRARIES (sizeof(libraries) / sizeof(*libraries))

static bool is_no_ret(const struct opened *o, const struct site_exit *x);

static void build(const char *dir, const char *source, const char *how, char *out, size_t cap)
{
	char path[128], cmd[512];
	snprintf(path, sizeof(path), "%s/a.c", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	snprintf(out, cap, "%s/a.out", dir);
	snprintf(cmd, sizeof(cmd), how, out, path);
	assert_int_equal(system(cmd), 0);
}

static void remove_build(const char *dir)
{
	char path[128];
	static const char *const names[] = { "a.c", "a.out" };
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static bool site_has_exit(const struct opened *o, const struct site *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->exits_cnt; i++)
		if (o->list.exits[s->exits[i]].vaddr == vaddr)
			return true;
	return false;
}

/* Of a site that is probed. */
static void expect_placed(const struct opened *o, const struct site *s)
{
	uint64_t offset;
	assert_true(elf_offset_of(o->elf, s->vaddr, &offset));
	assert_int_equal(offset, s->offset);
	assert_true(s->vaddr >= s->func && s->vaddr - s->func < 128);
	if (s->row->shape == ALYS_SHAPE_FREE)
		assert_int_equal(s->exits_cnt, 0);
	else
		assert_true(s->exits_cnt > 0 || s->lost > 0 || s->passed_on > 0);
	for (size_t i = 0; i < s->exits_cnt; i++)
		assert_true(s->exits[i] < o->list.exits_cnt);
}

static void expect_exit_placed(const struct opened *o, const struct site_exit *x)
{
	uint64_t offset;
	assert_true(elf_offset_of(o->elf, x->vaddr, &offset));
	assert_int_equal(offset, x->offset);
}

/* Addresses of all `ret`s that objdump sees in a file. */
static void objdump_rets(const char *path, struct map *rets)
{
	char cmd[256], line[256];
	const char *root = getenv("SYSROOT");
	snprintf(cmd, sizeof(cmd), TEST_OBJDUMP " -d --no-show-raw-insn %s%s", root ? root : "", path);
	FILE *f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char what[16] = "", more[16] = "";
		uint64_t at;
		if (sscanf(line, " %" SCNx64 ": %15s %15s", &at, what, more) >= 2 &&
		    (!strcmp(what, "ret") || !strcmp(what, "retq") || !strcmp(more, "ret")))
			*map_put(rets, at) = 1;
	}
	assert_int_equal(pclose(f), 0);
	assert_true(rets->count > 10);
}

/* Every one in the function is an exit. How many are there? */
static size_t compare_rets(const struct opened *o, const struct site *s, const struct map *rets)
{
	const struct map_slot *slot;
	size_t compared = 0;
	for (size_t m = 0; (slot = map_next(rets, &m));) {
		if (slot->key < s->func || slot->key - s->func >= s->size)
			continue;
		assert_true(site_has_exit(o, s, slot->key));
		compared++;
	}
	return compared;
}

static void test_rets_are_objdumps(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIBRARIES; i++) {
		struct map rets = { 0 };
		struct sites_options opts = { 0 };
		struct opened o;
		size_t compared = 0;
		objdump_rets(libraries[i], &rets);
		open_sites(&o, libraries[i], &opts);
		for (size_t k = 0; k < o.list.exits_cnt; k++)
			assert_true(is_no_ret(&o, &o.list.exits[k]) || map_get(&rets, o.list.exits[k].vaddr));
		for (size_t k = 0; k < o.list.sites_cnt; k++) {
			const struct site *s = &o.list.sites[k];
			if (s->state == SITE_PROBED && s->row->shape != ALYS_SHAPE_FREE)
				compared += compare_rets(&o, s, &rets);
		}
		assert_true(compared >= 3);
		close_sites(&o);
		map_free(&rets);
	}
}

static bool wrong_opinion(void *ctx, uint64_t vaddr, uint32_t *off)
{
	(void)ctx;
	(void)vaddr;
	*off = 4711;
	return true;
}

/* A table that contradicts the code takes every cheap site away, and no `ret`. */
static void test_contradicting_table(void **state)
{
	struct sites_options opts = { .cheap_exits = true, .cfa_at = wrong_opinion };
	struct opened o;
	(void)state;
	open_sites(&o, LIBGC, &opts);
	for (size_t i = 0; i < o.list.exits_cnt; i++)
		assert_true(o.list.exits[i].plain);
	for (size_t i = 0; i < o.list.sites_cnt; i++)
		assert_int_not_equal(o.list.sites[i].state, SITE_PROBED);
	close_sites(&o);
}

struct table {
	const struct unwind_table *rows;
	size_t agreed;
};

static bool table_cfa(void *ctx, uint64_t vaddr, uint32_t *off)
{
	struct table *t = ctx;
	struct unwind_row row;
	if (!unwind_row_at(t->rows, vaddr, &row) || row.kind != ALYS_ROW_SPEC || row.rule.base_bp || row.rule.deref ||
	    row.rule.off < 0)
		return false;
	*off = (uint32_t)row.rule.off;
	t->agreed++;
	return true;
}

static void expect_same_places(const struct site_list *a, const struct site_list *b)
{
	assert_int_equal(a->exits_cnt, b->exits_cnt);
	for (size_t k = 0; k < b->exits_cnt; k++)
		assert_int_equal(a->exits[k].vaddr, b->exits[k].vaddr);
	assert_int_equal(a->sites_cnt, b->sites_cnt);
	for (size_t k = 0; k < b->sites_cnt; k++) {
		assert_int_equal(a->sites[k].vaddr, b->sites[k].vaddr);
		assert_int_equal(a->sites[k].cfa_off, b->sites[k].cfa_off);
	}
}

/* What the code says about the stack and what the compiler wrote into .eh_frame is the same. */
static void test_agreeing_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIBRARIES; i++) {
		bool sparse = !strcmp(libraries[i], MUSL); /* rows of its PLT, or none at all */
		struct table t = { NULL, 0 };
		struct sites_options opts = { .cheap_exits = true }, asking = opts;
		struct opened alone, both;
		struct err err = { 0 };
		open_sites(&alone, libraries[i], &opts);
		struct unwind_table *rows = unwind_compile(alone.elf, &err);
		if (rows) {
			t.rows = rows;
			asking.cfa_at = table_cfa;
			asking.cfa_ctx = &t;
			open_sites(&both, libraries[i], &asking);
			expect_same_places(&alone.list, &both.list);
			close_sites(&both);
		}
		assert_true(t.agreed > 10 || sparse);
		unwind_free(rows);
		close_sites(&alone);
	}
}

#endif
