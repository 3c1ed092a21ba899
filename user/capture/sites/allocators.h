/*
 * sites/allocators: the one table of functions that give and take memory. Adding an allocator is
 * adding rows; which of them apply to a file is decided in sites.c.
 */
#ifndef ALYS_SITES_ALLOCATORS_H
#define ALYS_SITES_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum alloc_family {
	ALLOC_LIBC, /* malloc and its kin under their plain names, whoever provides them */
	ALLOC_LIBGC,
	ALLOC_JEMALLOC,
	ALLOC_TCMALLOC,
	ALLOC_MIMALLOC,
	ALLOC_CXX,
	ALLOC_FAMILIES
};

/* Where a file's allocations are sampled. */
enum sample_at {
	SAMPLE_AT_ANY,
	SAMPLE_AT_CALL,   /* at every call */
	SAMPLE_AT_REFILL, /* where a thread's empty free list is filled, and at large blocks; no frees */
};

struct allocator {
	const char *symbol;
	enum alloc_family family;
	uint8_t shape;  /* ALYS_SHAPE_* */
	uint8_t arg[3]; /* as in struct alys_site */
	uint8_t kind_arg;
	uint16_t flags; /* ALYS_SITE_* */
	uint8_t nest;   /* ALYS_NEST_* */
	/* May call back, throw or switch stacks: its return address is never touched. */
	bool runs_user_code;
	enum sample_at at; /* the row is for files that are sampled so */
	const char *unless; /* the row is void in a file that defines this, NULL = never */
};

/* Who serves the plain names of a file. */
struct alloc_provider {
	const char *name;
	enum alloc_family family;
};

const struct allocator *allocators(size_t *n);
const char *alloc_family_name(enum alloc_family family);
/* -1 when there is no such family. */
int alloc_family_by_name(const char *name);
/*
 * By a symbol that only this library defines, or by the path for what has none. NULL: somebody's own
 * malloc, of which nothing is known.
 */
const struct alloc_provider *alloc_provider(bool (*defines)(void *ctx, const char *symbol), void *ctx,
					    const char *path);
/* The name of the provider that is called so, for ever; NULL: none is. */
const char *alloc_provider_known(const char *name);

#endif
