/* SPDX-License-Identifier: Apache-2.0 */
/* naming/finish: see finish.h. */
#include "naming/finish.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "naming/namer.h"
#include "symbol/symbol.h"

/* Passes a frame's symbols to the consumer once, however many stacks contain it. */
static int pass_symbols(const struct catalog *c, const struct consumer *to, struct map *done, const struct frame *f,
			uint32_t index)
{
	const struct mapping *m = catalog_mapping(c, f->map);
	if (!m)
		return 0;
	uint64_t pc = frame_pc(f, index);
	const struct symbols *s = catalog_symbols(c, m->module, pc);
	if (!s)
		return 0;
	uint64_t *seen = map_put(done, (uint64_t)(uintptr_t)s);
	if (!seen)
		return -ENOMEM;
	if (*seen)
		return 0;
	*seen = 1;
	return consumer_define(to, &(struct definition){ DEFINITION_SYMBOLS, .symbols = { m->module, pc, s } });
}

int finish_names(const struct catalog *c, const struct consumer *to, bool (*wanted)(void *ctx, const struct stack *s), void *ctx)
{
	struct map done = { 0 };
	const struct stack *s;
	int rc = 0;
	for (size_t i = 0; !rc && (s = catalog_next_stack(c, &i));) {
		bool is = !wanted || wanted(ctx, s);
		for (uint32_t f = 0; is && !rc && f < s->n; f++)
			rc = pass_symbols(c, to, &done, &s->frames[f], f);
	}
	map_free(&done);
	return rc;
}

/* Failures of workers are reported in the counts. */
static void write_counts(const struct handles *h)
{
	const struct count *n;
	for (size_t i = 0; (n = catalog_next_count(h->catalog, &i));)
		if (!strncmp(n->name, "symbols-", 8))
			consumer_count(h->out, n);
}

int finish_symbols(const struct handles *h, struct err *err)
{
	if (h->o->backtrace < BACKTRACE_NAME)
		return 0;
	struct symbolizer *s = namer_of_recording(h, h->catalog, 0, err);
	if (!s)
		return -err->code;
	int rc = namer_run(s, h->catalog, err);
	symbolizer_free(s);
	write_counts(h);
	return rc ? rc : finish_names(h->catalog, h->out, NULL, NULL);
}
