/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocators: the one table of allocators. Functions that allocate and free memory are rows (allocators.c); other facts
 * about a family are in families.c. To add an allocator, add rows, and a family if it belongs to none of these. `sites`
 * decides which rows apply to a file.
 */
#ifndef ALYS_ALLOCATORS_ALLOCATORS_H
#define ALYS_ALLOCATORS_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * The name, and the separator before it in a list. LIBC: malloc and related functions under their plain names,
 * whichever library provides them. USDT: no functions, but probes that a program's own sampler defines for tracers.
 * BEAM: heaps of Erlang processes. ERTS: the allocators of the Erlang VM itself. OWN: functions that the user names (own.h).
 */
#define ALLOC_FAMILY_LIST(X)         \
	X(LIBC, "", "libc")          \
	X(LIBGC, ",", "libgc")       \
	X(JEMALLOC, ",", "jemalloc") \
	X(TCMALLOC, ",", "tcmalloc") \
	X(MIMALLOC, ",", "mimalloc") \
	X(CXX, ",", "c++")           \
	X(USDT, ",", "usdt")         \
	X(BEAM, ",", "beam")         \
	X(ERTS, ",", "erts")         \
	X(OWN, ",", "own")

#define ALLOC_FAMILY_ENUM_(id, before, name) ALLOC_##id,
enum alloc_family { ALLOC_FAMILY_LIST(ALLOC_FAMILY_ENUM_) ALLOC_FAMILIES };

/* "libc,libgc,...": a string literal. */
#define ALLOC_FAMILY_NAME_(id, before, name) before name
#define ALLOC_FAMILY_NAMES ALLOC_FAMILY_LIST(ALLOC_FAMILY_NAME_)
#define ALLOC_FAMILY_WORDS ALLOC_FAMILY_NAMES ",all" /* all: those of ALLOC_UNASKED */

/*
 * Recorded where none is named. Not the probes that programs define: they stand in for allocators. Nor the Erlang VM's own
 * allocators: their frees are too many, and the probes of these stay in between windows.
 */
#define ALLOC_UNASKED ((1u << ALLOC_FAMILIES) - 1 - (1u << ALLOC_USDT) - (1u << ALLOC_ERTS))

/* Where allocations of a file are sampled. */
enum sample_at {
	SAMPLE_AT_ANY,
	SAMPLE_AT_CALL,   /* at every call */
	SAMPLE_AT_REFILL, /* where a thread's empty free list is refilled, and at large blocks; no frees */
};

struct allocator {
	const char *symbol;
	const char *prefix; /* that the library was built with: the beginning of symbol; or NULL */
	enum alloc_family family;
	uint8_t shape;  /* ALYS_SHAPE_* */
	uint8_t arg[3]; /* as in struct alys_site */
	uint8_t kind_arg;
	bool typed;     /* kind_arg has the program's own type of the block */
	uint16_t flags; /* ALYS_SITE_* */
	uint8_t nest;   /* ALYS_NEST_* */
	/* may call back, throw or switch stacks: its return address is never modified */
	bool runs_user_code;
	bool timed;         /* how long its calls take matters; returns as a function of C does, on the same stack */
	bool open;          /* runs_user_code: what it calls is none of its own, and counts */
	enum sample_at at;  /* applies to files that are sampled this way */
	const char *unless; /* ignored in a file that defines this symbol; NULL = never */
};

/* Which library provides a file's malloc. */
struct alloc_provider {
	const char *name;
	enum alloc_family family;
};

const struct allocator *allocators(size_t *n);
/* Are its calls followed to their result, a block? */
bool alloc_returns_block(const struct allocator *row);
const char *alloc_family_name(enum alloc_family family);
/* -1: no such family. */
int alloc_family_by_name(const char *name);
/* "libc,libgc" as a mask of families; NULL = all (0). Fails for unknown words. */
int alloc_families_by_names(const char *list, uint32_t *out, struct err *err);
/* The family of a library, by its file name; -1: none. */
int alloc_family_of_file(const char *path);
/* Is this function, mangled or not, part of an allocator? Includes functions that are only seen in stacks. */
bool alloc_has_function(const char *name);
/*
 * Is a stack frame part of an allocator? Beyond its functions these are Crystal's wrappers of them, by their source file,
 * and frames without a name in the collector's library: distributions strip it.
 */
struct alloc_frame {
	const char *name, *file; /* function and source file; NULL = unknown */
	const char *path;        /* of the library or program; NULL = unknown */
};
bool alloc_has_frame(const struct alloc_frame *f);
/*
 * A regular expression, over displayed names, of the functions by which a program enters an allocator. Functions deeper
 * inside are left out, because they may call the program's finalizers.
 */
void alloc_entries_regex(struct buf *out);
/* By a symbol that only this library defines, or by path if it has none. NULL: an unknown malloc. */
const struct alloc_provider *alloc_provider(bool (*defines)(void *ctx, const char *symbol), void *ctx, const char *path);
/* A string of static lifetime equal to name; NULL: no provider has that name. */
const char *alloc_provider_known(const char *name);

#endif
