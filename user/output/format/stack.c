/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/stack: a recorded stack as it is shown: inlined frames spread out, the allocator's own
 * frames cut from the leaf. Catalog in, struct sink_stack out; writes nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/allocators.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/format.h"
#include "format/skip.h"

/* What stands for the callers that a walk did not reach: why it ended, as `info` counts it. */
static const struct symbol early[STACK_END_CNT] = {
#define X(n, id, text, help) [n] = { .name = "[" text "]" },
	STACK_END_LIST(X)
#undef X
};
static const struct symbol none_symbol = { .name = "[no stack]" };

static bool add_frame(struct sink_stack *out, const struct sink_frame *f)
{
	struct sink_frame *at = VEC_PUSH(out, frames);
	if (at)
		*at = *f;
	return at;
}

/* One machine frame: as many source frames as the compiler inlined into it, at least one. */
static bool add_machine_frame(const struct catalog *c, const struct sink_options *o, const struct stack *s, uint32_t i,
			      struct sink_stack *out)
{
	const struct frame *f = &s->frames[i];
	const struct mapping *map = f->map.n ? catalog_mapping(c, f->map) : NULL;
	struct sink_frame one = { .ip = frame_ip(c, f), .rel = frame_pc(f, i), .crystal_style = o->crystal_style };
	const struct symbols *symbols = NULL;
	one.pc = one.ip - (i ? 1 : 0);
	if (map) {
		one.map = map->id;
		one.module = catalog_module(c, map->module);
		symbols = catalog_symbols(c, map->module, one.rel);
	}
	if (!symbols || !symbols->n)
		return add_frame(out, &one);
	for (size_t k = 0; k < symbols->n; k++) {
		one.symbol = &symbols->at[k];
		one.inlined = k + 1 < symbols->n;
		if (!add_frame(out, &one))
			return false;
	}
	return true;
}

/* Crystal's own way to the collector, whose functions have names like anybody's: malloc_atomic, new. */
static bool is_allocator_file(const char *file)
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

/* Crystal's buffers: Pointer(T).malloc and Pointer(T)#realloc, whoever their owner is. */
static bool is_pointer_method(const char *name)
{
	const char *alloc = strstr(name, "alloc");
	return !strncmp(name, "Pointer(", 8) && alloc && (!alloc[5] || !strcmp(alloc, "alloc_atomic"));
}

/* Distributions strip the collector of the names of its inner functions. */
static bool is_inside_collector(const struct sink_frame *f)
{
	return !format_is_named(f) && f->module && alloc_family_of_file(f->module->path) == ALLOC_LIBGC;
}

static bool is_allocator(const struct sink_frame *f)
{
	if (is_inside_collector(f))
		return true;
	return format_is_named(f) &&
	       (alloc_has_function(f->symbol->name) || is_pointer_method(f->symbol->name) || is_allocator_file(f->symbol->file));
}

size_t sink_allocator_frames(const struct sink_stack *s)
{
	const struct sink_frame *f = s->frames;
	size_t cut = 0;
	/* The innermost machine frame is the allocator by construction, whatever its name. */
	while (cut + 1 < s->frames_cnt && f[cut].inlined)
		cut++;
	if (cut + 1 < s->frames_cnt)
		cut++;
	while (cut + 1 < s->frames_cnt && is_allocator(&f[cut]))
		cut++;
	return cut;
}

/* A wrapper may stand between two of the allocator's own. The outermost frame stays, whatever it is. */
static void cut_leaf(struct sink_stack *out, const struct sink_options *o)
{
	struct sink_frame *f = out->frames;
	size_t most = out->frames_cnt - 1, cut = o->keep_allocator_frames ? 0 : sink_allocator_frames(out);
	while (o->skip && cut < most && ((!o->keep_allocator_frames && is_allocator(&f[cut])) || skip_wants(o->skip, &f[cut])))
		cut++;
	if (o->skip)
		cut = o->skip->frames < most - cut ? cut + o->skip->frames : most;
	memmove(f, f + cut, (out->frames_cnt - cut) * sizeof(*f));
	out->frames_cnt -= cut;
}

int sink_stack_of(const struct catalog *c, const struct sink_options *o, struct stack_id id, struct sink_stack *out)
{
	const struct stack *s = id.n ? catalog_stack(c, id) : NULL;
	out->frames_cnt = 0;
	if (!s || !s->n) {
		bool lost = s ? s->end == STACK_END_LOST : id.n != 0;
		struct sink_frame f = { .symbol = lost ? &early[STACK_END_LOST] : &none_symbol };
		return add_frame(out, &f) ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		if (!add_machine_frame(c, o, s, i, out))
			return -ENOMEM;
	}
	cut_leaf(out, o);
	if (s->end == STACK_END_COMPLETE)
		return 0;
	struct sink_frame cut = { .symbol = &early[s->end < STACK_END_CNT ? s->end : STACK_END_UNKNOWN] };
	return add_frame(out, &cut) ? 0 : -ENOMEM;
}

void sink_stack_free(struct sink_stack *s)
{
	free(s->frames);
	*s = (struct sink_stack){ 0 };
}

/* As Crystal's exceptions do: a file of source code with a position, or that of the program. */
static void add_place(const struct sink_frame *f, struct buf *out)
{
	const struct symbol *s = f->symbol;
	if (s && s->file) {
		text_clean(out, s->file, SIZE_MAX);
		buf_addf(out, ":%" PRIu32 ":%" PRIu32 " in '", s->line, s->column);
	} else {
		text_clean(out, f->module && f->module->path ? f->module->path : "???", SIZE_MAX);
		buf_adds(out, " in '");
	}
}

void sink_frame_name(const struct sink_frame *f, struct buf *out)
{
	bool crystal = f->crystal_style && format_is_named(f);
	if (crystal)
		add_place(f, out);
	if (format_is_named(f)) {
		text_clean(out, f->symbol->name, SIZE_MAX);
	} else if (f->module && f->module->path && *f->module->path) {
		text_clean(out, format_basename(f->module->path), SIZE_MAX);
		buf_addf(out, "+0x%" PRIx64, f->rel);
	} else {
		buf_adds(out, "[unknown]");
	}
	if (crystal)
		buf_adds(out, "'");
}
