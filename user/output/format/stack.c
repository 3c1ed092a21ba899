/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/stack: turns a recorded stack into frames to be shown: expands inlined calls, and cuts the allocator's own
 * frames off the leaf. From the catalog to struct sink_stack.
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

/* Stands for the callers that a walk did not reach; the names are those of the counts in `info`. */
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

/* Adds one machine frame: at least one source frame, more if calls were inlined. */
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

/* The owner is unknown for traces before 1.4, and for frames that were never symbolized. */
static bool is_allocator(const struct sink_frame *f)
{
	const struct symbol *s = f->symbol;
	if (s && s->owner != SYMBOL_OWNER_UNKNOWN)
		return s->owner == SYMBOL_OWNER_ALLOCATOR;
	return alloc_has_frame(
		&(struct alloc_frame){ s ? s->name : NULL, s ? s->file : NULL, f->module ? f->module->path : NULL });
}

size_t sink_allocator_frames(const struct sink_stack *s)
{
	const struct sink_frame *f = s->frames;
	size_t cut = 0;
	/* The innermost machine frame belongs to the allocator whatever its name: the probe is there. */
	while (!s->touches && cut + 1 < s->frames_cnt && f[cut].inlined)
		cut++;
	if (!s->touches && cut + 1 < s->frames_cnt)
		cut++;
	while (cut + 1 < s->frames_cnt && is_allocator(&f[cut]))
		cut++;
	return cut;
}

/* Wrappers may lie between frames of the allocator. The outermost frame is always kept. */
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
	out->type = s ? s->type : NULL;
	out->touches = catalog_subject(c) == SUBJECT_PAGES;
	if (!s || !s->n) {
		enum stack_end end = s ? s->end : id.n ? STACK_END_LOST : STACK_END_COMPLETE;
		bool tells = end == STACK_END_LOST || end == STACK_END_OLDER;
		struct sink_frame f = { .symbol = tells ? &early[end] : &none_symbol };
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

/* Same format as Crystal's exceptions: the source file with its position, or the module's path. */
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
