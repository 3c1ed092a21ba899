/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocators: the table of functions. If several names share an address, the first row wins, so plain names come before
 * a library's own.
 */
#include "allocators/allocators.h"

#include <string.h>

#include "alys.h"

/* symbol, family, shape, arguments; then how nested calls are recognized, and what the function may do */
#define ROW(sym, fam, shp, a, b, c, ...)                                                                                       \
	{                                                                                                                      \
		.symbol = sym, .family = ALLOC_##fam, .shape = ALYS_SHAPE_##shp, .arg = { a, b, c }, .nest = ALYS_NEST_THREAD, \
		__VA_ARGS__                                                                                                    \
	}
#define LIBC(sym, shp, a, b, c, ...) ROW(sym, LIBC, shp, a, b, c, __VA_ARGS__)
#define JE(sym, shp, a, b, c, ...) ROW(sym, JEMALLOC, shp, a, b, c, __VA_ARGS__)
#define TC(sym, shp, a, b, c, ...) ROW(sym, TCMALLOC, shp, a, b, c, __VA_ARGS__)
#define MI(sym, shp, a, b, c, ...) ROW(sym, MIMALLOC, shp, a, b, c, __VA_ARGS__)
/* these may call new handlers and throw exceptions */
#define CXX(sym, shp) ROW(sym, CXX, shp, 0, 0, 0, .runs_user_code = true)
/* finalizers run during allocations; internal calls are recognized by a caller in the collector's code */
#define GC(sym, shp, a, b, c, ...)                                                                                             \
	{                                                                                                                      \
		.symbol = sym, .family = ALLOC_LIBGC, .shape = ALYS_SHAPE_##shp, .arg = { a, b, c }, .nest = ALYS_NEST_CALLER, \
		.runs_user_code = true, __VA_ARGS__                                                                            \
	}
/* PROVIDER:NAME of a probe; OpenTelemetry's profiler, design document 00003; Datadog's has the same arguments */
#define USDT(sym, shp) ROW(sym, USDT, shp, 0, 0, 0, .runs_user_code = true)
/* Process heaps of the Erlang VM: seen when a process collects its heap, and when it ends. need: argument with the words asked for; 0 = none. */
#define BEAM(sym, need, ...) ROW(sym, BEAM, HEAPFUL, 0, need, 0, .runs_user_code = true, __VA_ARGS__)
/* The Erlang VM's own allocators (erl_alloc_util.c): the type of a block, an allocator, then as malloc's. They call nothing back. */
#define ERTS(sym, shp, a, b) ROW(sym, ERTS, shp, a, b, 0, .typed = true)
/* Four ways in which an allocator may be shared by threads; `mv`: for blocks that may have to be copied. */
#define ERTS_OF(sharing)                                                                               \
	ERTS("erts_alcu_alloc" sharing, SIZE, 2, 0), ERTS("erts_alcu_realloc" sharing, REALLOC, 2, 3), \
		ERTS("erts_alcu_realloc_mv" sharing, REALLOC, 2, 3), ERTS("erts_alcu_free" sharing, FREE, 2, 0)
#define KIND .flags = ALYS_SITE_GC_KIND, .kind_arg
#define ATOMIC .flags = ALYS_SITE_ATOMIC
#define ZERO_FREES .flags = ALYS_SITE_FREES_ON_ZERO

/* jemalloc built with a prefix: its own default on some systems, and that of Rust's tikv-jemallocator */
#define JE_WITH(p, sym, shp, a, b, c, ...) JE(p sym, shp, a, b, c, .prefix = p, __VA_ARGS__)
#define PREFIXED(p)                                                                                                           \
	JE_WITH(p, "malloc", SIZE, 0, 0, 0), JE_WITH(p, "calloc", MUL, 0, 1, 0),                                              \
		JE_WITH(p, "realloc", REALLOC, 0, 1, 0, ZERO_FREES), JE_WITH(p, "memalign", SIZE, 1, 0, 0),                   \
		JE_WITH(p, "aligned_alloc", SIZE, 1, 0, 0), JE_WITH(p, "posix_memalign", OUTPTR, 0, 2, 0),                    \
		JE_WITH(p, "valloc", SIZE, 0, 0, 0), JE_WITH(p, "pvalloc", SIZE, 0, 0, 0), JE_WITH(p, "free", FREE, 0, 0, 0), \
		JE_WITH(p, "free_sized", FREE, 0, 0, 0), JE_WITH(p, "free_aligned_sized", FREE, 0, 0, 0),                     \
		JE_WITH(p, "mallocx", SIZE, 0, 0, 0), JE_WITH(p, "rallocx", REALLOC, 0, 1, 0),                                \
		JE_WITH(p, "dallocx", FREE, 0, 0, 0), JE_WITH(p, "sdallocx", FREE, 0, 0, 0)

static const struct allocator rows[] = {
	LIBC("malloc", SIZE, 0, 0, 0),
	LIBC("calloc", MUL, 0, 1, 0),
	LIBC("realloc", REALLOC, 0, 1, 0, ZERO_FREES),
	LIBC("reallocarray", MULREALLOC, 0, 1, 2, ZERO_FREES),
	LIBC("memalign", SIZE, 1, 0, 0),
	LIBC("aligned_alloc", SIZE, 1, 0, 0),
	LIBC("posix_memalign", OUTPTR, 0, 2, 0),
	LIBC("valloc", SIZE, 0, 0, 0),
	LIBC("pvalloc", SIZE, 0, 0, 0),
	LIBC("free", FREE, 0, 0, 0),
	/* C23 */
	LIBC("free_sized", FREE, 0, 0, 0),
	LIBC("free_aligned_sized", FREE, 0, 0, 0),

	/*
	 * When sampling at refills, allocations inside GC_memalign and GC_realloc are counted as such: the result is
	 * the same block.
	 */
	GC("GC_malloc_kind", REFILL, 0, 0, 0, .at = SAMPLE_AT_REFILL),
	GC("GC_malloc_kind_global", SIZE, 0, 0, 0, KIND = 1, .at = SAMPLE_AT_REFILL),
	GC("GC_malloc_kind", SIZE, 0, 0, 0, KIND = 1, .at = SAMPLE_AT_CALL),
	/* For free lists inlined into programs: gc_inline.h, Guile. GC_malloc_many is a wrapper of it. */
	GC("GC_generic_malloc_many", BATCH, 0, 2, 0, KIND = 1, .at = SAMPLE_AT_CALL),
	GC("GC_generic_malloc", SIZE, 0, 0, 0, KIND = 1),
	GC("GC_generic_or_special_malloc", SIZE, 0, 0, 0, KIND = 1, .at = SAMPLE_AT_CALL),
	GC("GC_gcj_malloc", SIZE, 0, 0, 0),
	GC("GC_gcj_malloc_ignore_off_page", SIZE, 0, 0, 0),
	GC("GC_debug_gcj_malloc", SIZE, 0, 0, 0),
	GC("GC_malloc", SIZE, 0, 0, 0, .unless = "GC_malloc_kind"),
	GC("GC_malloc_atomic", SIZE, 0, 0, 0, ATOMIC, .unless = "GC_malloc_kind"),
	GC("GC_generic_malloc_uncollectable", SIZE, 0, 0, 0, KIND = 1),
	GC("GC_malloc_uncollectable", SIZE, 0, 0, 0),
	GC("GC_malloc_atomic_uncollectable", SIZE, 0, 0, 0, ATOMIC),
	GC("GC_generic_malloc_ignore_off_page", SIZE, 0, 0, 0, KIND = 1),
	GC("GC_malloc_ignore_off_page", SIZE, 0, 0, 0),
	GC("GC_malloc_atomic_ignore_off_page", SIZE, 0, 0, 0, ATOMIC),
	GC("GC_malloc_explicitly_typed", SIZE, 0, 0, 0),
	GC("GC_malloc_explicitly_typed_ignore_off_page", SIZE, 0, 0, 0),
	GC("GC_calloc_explicitly_typed", MUL, 0, 1, 0),
	GC("GC_memalign", SIZE, 1, 0, 0, .at = SAMPLE_AT_CALL),
	GC("GC_posix_memalign", OUTPTR, 0, 2, 0, .at = SAMPLE_AT_CALL),
	GC("GC_realloc", REALLOC, 0, 1, 0, ZERO_FREES, .at = SAMPLE_AT_CALL),
	/* Every GC_realloc calls it: when sampling at refills, its probe would be the main cost. */
	GC("GC_free", FREE, 0, 0, 0, .at = SAMPLE_AT_CALL),

	JE("mallocx", SIZE, 0, 0, 0),
	JE("rallocx", REALLOC, 0, 1, 0),
	JE("dallocx", FREE, 0, 0, 0),
	JE("sdallocx", FREE, 0, 0, 0),
	PREFIXED("je_"),
	PREFIXED("_rjem_"),

	TC("tc_malloc", SIZE, 0, 0, 0),
	TC("tc_calloc", MUL, 0, 1, 0),
	TC("tc_realloc", REALLOC, 0, 1, 0, ZERO_FREES),
	TC("tc_memalign", SIZE, 1, 0, 0),
	TC("tc_posix_memalign", OUTPTR, 0, 2, 0),
	TC("tc_valloc", SIZE, 0, 0, 0),
	TC("tc_pvalloc", SIZE, 0, 0, 0),
	TC("tc_free", FREE, 0, 0, 0),
	TC("tc_free_sized", FREE, 0, 0, 0),

	MI("mi_malloc", SIZE, 0, 0, 0),
	MI("mi_malloc_small", SIZE, 0, 0, 0),
	MI("mi_zalloc", SIZE, 0, 0, 0),
	MI("mi_zalloc_small", SIZE, 0, 0, 0),
	MI("mi_calloc", MUL, 0, 1, 0),
	MI("mi_mallocn", MUL, 0, 1, 0),
	MI("mi_realloc", REALLOC, 0, 1, 0),
	MI("mi_reallocf", REALLOC, 0, 1, 0),
	MI("mi_rezalloc", REALLOC, 0, 1, 0),
	MI("mi_reallocn", MULREALLOC, 0, 1, 2),
	MI("mi_recalloc", MULREALLOC, 0, 1, 2),
	MI("mi_reallocarray", MULREALLOC, 0, 1, 2),
	MI("mi_malloc_aligned", SIZE, 0, 0, 0),
	MI("mi_malloc_aligned_at", SIZE, 0, 0, 0),
	MI("mi_zalloc_aligned", SIZE, 0, 0, 0),
	MI("mi_zalloc_aligned_at", SIZE, 0, 0, 0),
	MI("mi_calloc_aligned", MUL, 0, 1, 0),
	MI("mi_calloc_aligned_at", MUL, 0, 1, 0),
	MI("mi_realloc_aligned", REALLOC, 0, 1, 0),
	MI("mi_realloc_aligned_at", REALLOC, 0, 1, 0),
	MI("mi_rezalloc_aligned", REALLOC, 0, 1, 0),
	MI("mi_recalloc_aligned", MULREALLOC, 0, 1, 2),
	MI("mi_memalign", SIZE, 1, 0, 0),
	MI("mi_aligned_alloc", SIZE, 1, 0, 0),
	MI("mi_posix_memalign", OUTPTR, 0, 2, 0),
	MI("mi_valloc", SIZE, 0, 0, 0),
	MI("mi_pvalloc", SIZE, 0, 0, 0),
	MI("mi_heap_malloc", SIZE, 1, 0, 0),
	MI("mi_heap_malloc_small", SIZE, 1, 0, 0),
	MI("mi_heap_zalloc", SIZE, 1, 0, 0),
	MI("mi_heap_calloc", MUL, 1, 2, 0),
	MI("mi_heap_mallocn", MUL, 1, 2, 0),
	MI("mi_heap_realloc", REALLOC, 1, 2, 0),
	MI("mi_heap_reallocf", REALLOC, 1, 2, 0),
	MI("mi_heap_rezalloc", REALLOC, 1, 2, 0),
	MI("mi_heap_reallocn", MULREALLOC, 1, 2, 3),
	MI("mi_heap_recalloc", MULREALLOC, 1, 2, 3),
	MI("mi_heap_malloc_aligned", SIZE, 1, 0, 0),
	MI("mi_heap_zalloc_aligned", SIZE, 1, 0, 0),
	MI("mi_heap_calloc_aligned", MUL, 1, 2, 0),
	MI("mi_heap_realloc_aligned", REALLOC, 1, 2, 0),
	MI("mi_new", SIZE, 0, 0, 0, .runs_user_code = true),
	MI("mi_new_aligned", SIZE, 0, 0, 0, .runs_user_code = true),
	MI("mi_new_nothrow", SIZE, 0, 0, 0, .runs_user_code = true),
	MI("mi_new_aligned_nothrow", SIZE, 0, 0, 0, .runs_user_code = true),
	MI("mi_new_n", MUL, 0, 1, 0, .runs_user_code = true),
	MI("mi_new_realloc", REALLOC, 0, 1, 0, .runs_user_code = true),
	MI("mi_new_reallocn", MULREALLOC, 0, 1, 2, .runs_user_code = true),
	MI("mi_free", FREE, 0, 0, 0),
	MI("mi_free_size", FREE, 0, 0, 0),
	MI("mi_free_aligned", FREE, 0, 0, 0),
	MI("mi_free_size_aligned", FREE, 0, 0, 0),

	CXX("_Znwm", SIZE),
	CXX("_Znam", SIZE),
	CXX("_ZnwmRKSt9nothrow_t", SIZE),
	CXX("_ZnamRKSt9nothrow_t", SIZE),
	CXX("_ZnwmSt11align_val_t", SIZE),
	CXX("_ZnamSt11align_val_t", SIZE),
	CXX("_ZnwmSt11align_val_tRKSt9nothrow_t", SIZE),
	CXX("_ZnamSt11align_val_tRKSt9nothrow_t", SIZE),
	CXX("_ZdlPv", FREE),
	CXX("_ZdaPv", FREE),
	CXX("_ZdlPvm", FREE),
	CXX("_ZdaPvm", FREE),
	CXX("_ZdlPvRKSt9nothrow_t", FREE),
	CXX("_ZdaPvRKSt9nothrow_t", FREE),
	CXX("_ZdlPvSt11align_val_t", FREE),
	CXX("_ZdaPvSt11align_val_t", FREE),
	CXX("_ZdlPvmSt11align_val_t", FREE),
	CXX("_ZdaPvmSt11align_val_t", FREE),
	CXX("_ZdlPvSt11align_val_tRKSt9nothrow_t", FREE),
	CXX("_ZdaPvSt11align_val_tRKSt9nothrow_t", FREE),

	USDT("otel_memory:alloc", SIZE),
	USDT("otel_memory:free", FREE),
	USDT("ddheap:alloc", SIZE),
	USDT("ddheap:free", FREE),
	BEAM("erts_garbage_collect_nobump", 1, .timed = true),
	BEAM("erts_garbage_collect", 1, .timed = true),
	BEAM("erts_gc_after_bif_call_lhf", 0, .timed = true),
	BEAM("erts_garbage_collect_hibernate", 0, .timed = true),
	BEAM("erts_do_exit_process", 0),
	ERTS_OF(""),
	ERTS_OF("_ts"),
	ERTS_OF("_thr_spec"),
	ERTS_OF("_thr_pref"),
};

/* Special allocators first: most of them also define glibc's symbols. */
static const struct {
	const char *symbol;
	struct alloc_provider is;
} marks[] = {
	{ "mallctl", { "jemalloc", ALLOC_JEMALLOC } },
	{ "je_mallctl", { "jemalloc", ALLOC_JEMALLOC } },
	{ "_rjem_mallctl", { "jemalloc", ALLOC_JEMALLOC } },
	{ "tc_malloc", { "tcmalloc", ALLOC_TCMALLOC } },
	{ "MallocExtension_Internal_GetStats", { "tcmalloc", ALLOC_TCMALLOC } },
	{ "mi_malloc", { "mimalloc", ALLOC_MIMALLOC } },
	{ "gnu_get_libc_version", { "glibc", ALLOC_LIBC } },
	{ "__libc_malloc", { "glibc", ALLOC_LIBC } },
	{ "__libc_malloc_impl", { "musl", ALLOC_LIBC } },
	{ "__malloc_alloc_meta", { "musl", ALLOC_LIBC } },
};

const struct allocator *allocators(size_t *n)
{
	*n = sizeof(rows) / sizeof(*rows);
	return rows;
}

bool alloc_returns_block(const struct allocator *row)
{
	return row->shape != ALYS_SHAPE_FREE && row->shape != ALYS_SHAPE_REFILL && row->shape != ALYS_SHAPE_HEAPFUL;
}

const struct alloc_provider *alloc_provider(bool (*defines)(void *ctx, const char *symbol), void *ctx, const char *path)
{
	static const struct alloc_provider musl = { "musl", ALLOC_LIBC };
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (defines(ctx, marks[i].symbol))
			return &marks[i].is;
	return path && strstr(path, "musl") ? &musl : NULL;
}

const char *alloc_provider_known(const char *name)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (!strcmp(marks[i].is.name, name))
			return marks[i].is.name;
	}
	return NULL;
}
