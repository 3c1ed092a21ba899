/* SPDX-License-Identifier: Apache-2.0 */
/* functions/inlined: inlined copies of chosen functions, which an entry probe does not see. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "functions/inlined_copies.h"
#include "functions/functions.h"
#include "functions/patterns.h"

struct search {
	struct patterns *patterns;
	struct inlined_list *out;
	struct map known; /* address of a function's name -> index in out->at + 2; 1: it does not match */
};

/* The function's row, added if new; out->at_cnt: out of memory. */
static size_t row_of(struct inlined_list *l, const char *shown)
{
	for (size_t i = 0; i < l->at_cnt; i++) {
		if (!strcmp(l->at[i].name, shown))
			return i;
	}
	char *name = strdup(shown);
	struct inlined_function *f = name ? VEC_PUSH(l, at) : NULL;
	if (!f) {
		free(name);
		return l->at_cnt;
	}
	*f = (struct inlined_function){ .name = name };
	return l->at_cnt - 1;
}

static int judge(struct search *s, const char *name, uint64_t *verdict)
{
	uint64_t by = patterns_match_inlined(s->patterns, name);
	size_t row = by ? row_of(s->out, buf_str(&s->patterns->shown)) : 0;
	s->out->used |= by;
	*verdict = by ? row + 2 : 1;
	return by && row == s->out->at_cnt ? -ENOMEM : 0;
}

static int on_copy(void *ctx, const char *name)
{
	struct search *s = ctx;
	uint64_t *known = map_put(&s->known, (uint64_t)(uintptr_t)name);
	int rc = !known ? -ENOMEM : *known ? 0 : judge(s, name, known);
	if (!rc && *known > 1)
		s->out->at[*known - 2].copies++;
	return rc;
}

int functions_find_inlined(int fd, const struct elf *e, const char *path, const struct functions_ask *ask,
			   struct inlined_list *out)
{
	*out = (struct inlined_list){ 0 };
	struct search s = { .patterns = patterns_of(ask->patterns, path), .out = out };
	int rc = !s.patterns ? -ENOMEM : s.patterns->n ? inlined_copies(fd, e, on_copy, &s) : 0;
	map_free(&s.known);
	patterns_free(s.patterns);
	return rc;
}
