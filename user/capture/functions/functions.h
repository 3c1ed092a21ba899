/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions: which functions of a file the user has chosen by name, the one place in each at which every call passes
 * once, and how many inlined copies of them debug information tells of. Reads a target's file: only in processes
 * without rights (examine/).
 */
#ifndef ALYS_FUNCTIONS_H
#define ALYS_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "code/funcs.h"
#include "elf/elf.h"

/* What to look for: patterns as in patterns.h; at most `most` functions are listed. */
struct functions_ask {
	const char *patterns;
	uint32_t most;
};

struct chosen_function {
	uint64_t vaddr;  /* of its entry */
	uint64_t offset; /* of the probe, in the file */
	bool emulated;   /* the kernel emulates the probed instruction */
	char *name;      /* as shown */
};

struct function_list {
	struct chosen_function *at;
	size_t at_cnt, at_cap;
	uint64_t matched;     /* functions that match; `at` has no more than were asked for */
	uint64_t used;        /* bit i: pattern i matches some function */
	uint64_t unplaceable; /* of those that match: no instruction that a call passes exactly once */
	char *first_unplaced; /* the name of one of them */
	bool stripped;        /* no symbol table: only exported functions have names */
	bool has_debug;       /* debug information may tell of inlined copies */
};

struct inlined_function {
	char *name; /* as shown */
	uint64_t copies;
};

struct inlined_list {
	struct inlined_function *at;
	size_t at_cnt, at_cap;
	uint64_t used; /* bit i: pattern i matches some inlined function */
};

/*
 * Part of a function that was split (GCC, LLVM), a resolver, or a thunk, which jumps on to the function? Entering it is not
 * a call of the function.
 */
bool function_is_part(const struct func *fn);
/* The functions of the file that match. 0 or -ENOMEM. */
int functions_find(const struct elf *e, const char *path, const struct functions_ask *ask, struct function_list *out);
/* Inlined copies of functions that match; nothing without debug information. 0 or -ENOMEM. */
int functions_find_inlined(int fd, const struct elf *e, const char *path, const struct functions_ask *ask,
			   struct inlined_list *out);

void functions_write(const struct function_list *l, struct buf *out);
int functions_read(struct cursor *c, struct function_list *out);
void functions_free(struct function_list *l);
void inlined_write(const struct inlined_list *l, struct buf *out);
int inlined_read(struct cursor *c, struct inlined_list *out);
void inlined_free(struct inlined_list *l);

#endif
