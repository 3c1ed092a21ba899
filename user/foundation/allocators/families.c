/* SPDX-License-Identifier: Apache-2.0 */
/* allocators: facts about families, besides the rows of functions. */
#include "allocators/allocators.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "allocators/own.h"
#include "alys.h"

#define TEXTS_MAX 8

/* Lists end with NULL. */
static const struct family {
	const char *files[TEXTS_MAX];   /* prefixes of file names of its libraries */
	const char *inner[TEXTS_MAX];   /* prefixes of its function names, internal ones included */
	const char *entries[TEXTS_MAX]; /* regular expressions: entry points that have no row, or are displayed differently */
} families[ALLOC_FAMILIES] = {
	[ALLOC_LIBC] = {
		.files = { "libc.", "libc-", "ld-" },
		.inner = { "__libc_", "_int_", "sysmalloc", "alloc_new_heap", "__glibc_morecore", "sbrk", "__sbrk" },
		.entries = { "__libc_(malloc|calloc|realloc|memalign)" },
	},
	[ALLOC_LIBGC] = {
		.files = { "libgc." },
		.inner = { "GC_", "__crystal_malloc", "__crystal_realloc" },
		.entries = { "GC_malloc.*", "GC_realloc.*", "GC_memalign", "GC_generic_malloc.*", "__crystal_malloc.*", "__crystal_realloc.*" },
	},
	[ALLOC_JEMALLOC] = { .files = { "libjemalloc." }, .inner = { "je_", "_rjem_" } },
	[ALLOC_TCMALLOC] = { .files = { "libtcmalloc" }, .inner = { "tc_" } },
	[ALLOC_MIMALLOC] = { .files = { "libmimalloc." }, .inner = { "mi_" } },
	[ALLOC_CXX] = {
		.files = { "libstdc++.", "libc++" },
		.inner = { "operator new", "operator delete", "_Znw", "_Zna", "_Zdl", "_Zda" },
		.entries = { "operator new.*" },
	},
	[ALLOC_BEAM] = { .files = { "beam.smp" }, .inner = { "erts_garbage_collect", "erts_gc_after_bif_call" } },
	[ALLOC_ERTS] = { .inner = { "erts_alcu_", "erts_sys_", "erts_mseg_" } },
};

static const char *const names[ALLOC_FAMILIES] = {
#define NAME(id, before, name) [ALLOC_##id] = name,
	ALLOC_FAMILY_LIST(NAME)
};

const char *alloc_family_name(enum alloc_family family)
{
	return names[family];
}

int alloc_family_by_name(const char *name)
{
	for (int i = 0; i < ALLOC_FAMILIES; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return -1;
}

int alloc_families_by_names(const char *list, uint32_t *out, struct err *err)
{
	*out = 0;
	for (const char *at = list ?: ""; *at;) {
		char name[32];
		size_t n = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		int family = alloc_family_by_name(name);
		if (family < 0 && strcmp(name, "all"))
			return err_set(err, EINVAL, "--allocator: unknown family \"%s\": choose from " ALLOC_FAMILY_WORDS, name);
		*out |= family < 0 ? ALLOC_UNASKED : 1u << family;
		at += n + (at[n] == ',');
	}
	return 0;
}

static bool begins_with_one(const char *name, const char *const *texts)
{
	for (; *texts; texts++) {
		if (!strncmp(name, *texts, strlen(*texts)))
			return true;
	}
	return false;
}

int alloc_family_of_file(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path ? path : "";
	for (int i = 0; i < ALLOC_FAMILIES; i++) {
		if (begins_with_one(name, families[i].files))
			return i;
	}
	return -1;
}

/* Compares the name without arguments of templates and functions. */
static bool is_row(const char *name)
{
	size_t rows_cnt, n = strcspn(name, "(<");
	const struct allocator *rows = allocators(&rows_cnt);
	for (size_t i = 0; i < rows_cnt; i++) {
		if (!strncmp(name, rows[i].symbol, n) && !rows[i].symbol[n])
			return true;
	}
	return false;
}

bool alloc_has_function(const char *name)
{
	name += *name == '*';
	/* A program's first allocations are called from here, but it is not part of the allocator. */
	if (!strncmp(name, "__libc_start", 12))
		return false;
	for (int i = 0; i < ALLOC_FAMILIES; i++) {
		if (begins_with_one(name, families[i].inner))
			return true;
	}
	return is_row(name);
}

/* Crystal's buffers: Pointer(T).malloc and Pointer(T)#realloc. */
static bool is_pointer_method(const char *name)
{
	const char *alloc = strstr(name, "alloc");
	return !strncmp(name, "Pointer(", 8) && alloc && (!alloc[5] || !strcmp(alloc, "alloc_atomic"));
}

/* Files of Crystal's standard library that call the collector; their functions have names like malloc_atomic or new. */
static bool is_source_file(const char *file)
{
	static const char *const ends[] = { "/gc/boehm.cr", "/gc/none.cr", "/src/gc.cr", "/crystal/lib/gc.cr" };
	size_t n = file ? strlen(file) : 0;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t len = strlen(ends[i]);
		if (n >= len && !strcmp(file + n - len, ends[i]))
			return true;
	}
	return false;
}

bool alloc_has_frame(const struct alloc_frame *f)
{
	if (!f->name || !*f->name)
		return f->path && alloc_family_of_file(f->path) == ALLOC_LIBGC;
	return alloc_has_function(f->name) || is_pointer_method(f->name) || is_source_file(f->file) || own_has_frame(f);
}

/* Other families are covered by `entries`, or need no cutting. */
static bool is_entry(const struct allocator *row)
{
	return row->shape != ALYS_SHAPE_FREE && row->family == ALLOC_LIBC;
}

void alloc_entries_regex(struct buf *out)
{
	size_t rows_cnt;
	const struct allocator *rows = allocators(&rows_cnt);
	const char *between = "";
	for (size_t i = 0; i < rows_cnt; i++) {
		if (!is_entry(&rows[i]))
			continue;
		buf_addf(out, "%s%s", between, rows[i].symbol);
		between = "|";
	}
	for (int i = 0; i < ALLOC_FAMILIES; i++) {
		for (const char *const *entry = families[i].entries; *entry; entry++)
			buf_addf(out, "|%s", *entry);
	}
}
