/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocators: the one list of them. Functions that give and take memory are rows (allocators.c); what else is known
 * of a family of them stands in families.c. Adding an allocator is adding rows, and a family when it is none of these;
 * which rows apply to a file is decided in sites.
 */
#ifndef ALYS_ALLOCATORS_ALLOCATORS_H
#define ALYS_ALLOCATORS_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The name, and what stands before it in the list of all. LIBC: malloc and its kin under their plain names, whoever provides them. */
#define ALLOC_FAMILY_LIST(X)         \
	X(LIBC, "", "libc")          \
	X(LIBGC, ",", "libgc")       \
	X(JEMALLOC, ",", "jemalloc") \
	X(TCMALLOC, ",", "tcmalloc") \
	X(MIMALLOC, ",", "mimalloc") \
	X(CXX, ",", "c++")

#define ALLOC_FAMILY_ENUM_(id, before, name) ALLOC_##id,
enum alloc_family { ALLOC_FAMILY_LIST(ALLOC_FAMILY_ENUM_) ALLOC_FAMILIES };

/* "libc,libgc,...": a literal. */
#define ALLOC_FAMILY_NAME_(id, before, name) before name
#define ALLOC_FAMILY_NAMES ALLOC_FAMILY_LIST(ALLOC_FAMILY_NAME_)

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
	enum sample_at at;  /* the row is for files that are sampled so */
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
/* Whose library the file is, by its name; -1: nobody's. */
int alloc_family_of_file(const char *path);
/* Is a function of this name, mangled or not, part of an allocator? Also of those that are only seen in stacks. */
bool alloc_has_function(const char *name);
/*
 * A regular expression of the functions by which a program comes to an allocator, as names are shown: not of all
 * within one, for these call the program's finalizers.
 */
void alloc_entries_regex(struct buf *out);
/*
 * By a symbol that only this library defines, or by the path for what has none. NULL: somebody's own
 * malloc, of which nothing is known.
 */
const struct alloc_provider *alloc_provider(bool (*defines)(void *ctx, const char *symbol), void *ctx, const char *path);
/* The name of the provider that is called so, for ever; NULL: none is. */
const char *alloc_provider_known(const char *name);

#endif
