/* SPDX-License-Identifier: Apache-2.0 */
/* format/fold: see fold.h. */
#include "format/fold.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"

/* State of fold_fill besides its result. */
struct folding {
	struct fold *f;
	struct map of_symbol; /* address of struct symbol -> id in names */
	struct buf name;
};

/* If several modules have a function of this name, the choice must be the same in every run. */
static bool note_module(struct fold *f, uint32_t name, const struct module *m)
{
	struct buf text = { 0 };
	if (m && m->path)
		text_clean(&text, format_basename(m->path), SIZE_MAX);
	uint32_t file = text.failed ? NAMES_FAILED : names_put(&f->files, text.data, text.len);
	buf_free(&text);
	if (file == NAMES_FAILED)
		return false;
	if (name == f->modules_cnt) {
		uint32_t *at = VEC_PUSH(f, modules);
		if (!at)
			return false;
		*at = file;
	} else if (strcmp(names_at(&f->files, file), names_at(&f->files, f->modules[name])) < 0) {
		f->modules[name] = file;
	}
	return true;
}

static uint32_t name_of(struct folding *w, const struct sink_frame *frame)
{
	bool named = format_is_named(frame);
	uint64_t *known = named ? map_get(&w->of_symbol, (uintptr_t)frame->symbol) : NULL;
	if (known)
		return (uint32_t)*known;
	buf_reset(&w->name);
	sink_frame_name(frame, &w->name);
	uint32_t id = w->name.failed ? NAMES_FAILED : names_put(&w->f->names, w->name.data, w->name.len);
	if (id == NAMES_FAILED || !note_module(w->f, id, frame->module))
		return NAMES_FAILED;
	w->f->resolved |= named && frame->module;
	uint64_t *place = named ? map_put(&w->of_symbol, (uintptr_t)frame->symbol) : NULL;
	if (place)
		*place = id;
	return id;
}

static bool note_place(struct folding *w, const struct sink_frame *frame)
{
	const struct symbol *s = frame->symbol;
	buf_reset(&w->name);
	if (s && s->file) {
		text_clean(&w->name, s->file, SIZE_MAX);
		if (s->line)
			buf_addf(&w->name, ":%" PRIu32, s->line);
	}
	uint32_t id = w->name.failed ? NAMES_FAILED : names_put(&w->f->places, w->name.data, w->name.len);
	uint32_t *at = id == NAMES_FAILED ? NULL : VEC_PUSH(w->f, at);
	if (at)
		*at = id;
	return at;
}

static int add_stack(struct folding *w, const struct sink_stack *s, const struct fold_stack *of)
{
	struct fold *f = w->f;
	struct fold_stack *stack = VEC_PUSH(f, stacks);
	if (!stack)
		return -ENOMEM;
	*stack = *of;
	stack->first = f->frames_cnt;
	stack->n = (uint32_t)s->frames_cnt;
	for (size_t i = s->frames_cnt; i-- > 0;) {
		uint32_t id = name_of(w, &s->frames[i]);
		uint32_t *at = id == NAMES_FAILED ? NULL : VEC_PUSH(f, frames);
		if (!at || (f->placed && !note_place(w, &s->frames[i])))
			return -ENOMEM;
		*at = id;
	}
	return 0;
}

static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct fold *f = ctx;
	return strcmp(names_at(&f->names, *(const uint32_t *)a), names_at(&f->names, *(const uint32_t *)b));
}

/* Replaces ids in frames, which are in order of arrival, by numbers in byte order of the names. */
static int number_names(struct fold *f)
{
	size_t n = f->names.spans_cnt;
	uint32_t *number = calloc(n + 1, sizeof(*number));
	f->order = calloc(n + 1, sizeof(*f->order));
	if (!number || !f->order) {
		free(number);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		f->order[i] = (uint32_t)i;
	qsort_r(f->order, n, sizeof(*f->order), compare_names, f);
	for (size_t i = 0; i < n; i++)
		number[f->order[i]] = (uint32_t)i;
	for (size_t i = 0; i < f->frames_cnt; i++)
		f->frames[i] = number[f->frames[i]];
	free(number);
	return 0;
}

static int compare_frames(const struct fold *f, const struct fold_stack *a, const struct fold_stack *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		uint32_t x = f->frames[a->first + i], y = f->frames[b->first + i];
		if (x != y)
			return x < y ? -1 : 1;
	}
	return (a->n > b->n) - (a->n < b->n);
}

static int compare_content(const void *a, const void *b, void *ctx)
{
	const struct fold_stack *x = a, *y = b;
	int diff = compare_frames(ctx, x, y);
	return diff ? diff : (x->row > y->row) - (x->row < y->row);
}

static int compare_value(const void *a, const void *b, void *ctx)
{
	const struct fold_stack *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return compare_content(a, b, ctx);
}

static int add_rows(struct folding *w, const struct sink_input *in, enum value v, bool before)
{
	struct sink_stack stack = { 0 };
	int rc = 0;
	for (size_t i = 0; !rc && i < in->snapshot->n; i++) {
		const struct snapshot_row *row = &in->snapshot->rows[i];
		struct fold_stack of = { .row = (uint32_t)i };
		int64_t sum = value_of(&row->t, v);
		*(before ? &of.before : &of.value) = in->options->seconds > 0 ? llround((double)sum / in->options->seconds) : sum;
		rc = sink_stack_of(in->catalog, in->options, row->stack, &stack);
		if (!rc)
			rc = add_stack(w, &stack, &of);
	}
	sink_stack_free(&stack);
	return rc;
}

int fold_fill(struct fold *f, const struct sink_input *in, enum value v)
{
	struct folding w = { .f = f };
	int rc = add_rows(&w, in, v, false);
	if (!rc && in->options->before)
		rc = add_rows(&w, in->options->before, v, true);
	map_free(&w.of_symbol);
	buf_free(&w.name);
	if (!rc)
		rc = number_names(f);
	if (!rc && f->stacks_cnt)
		qsort_r(f->stacks, f->stacks_cnt, sizeof(*f->stacks), compare_content, f);
	return rc;
}

static void merge_places(struct fold *f, const struct fold_stack *to, const struct fold_stack *s)
{
	for (uint32_t k = 0; f->placed && k < s->n; k++) {
		if ((f->at[to->first + k] & ~FOLD_SEVERAL) != f->at[s->first + k])
			f->at[to->first + k] |= FOLD_SEVERAL;
	}
}

void fold_merge(struct fold *f)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->stacks_cnt; i++) {
		const struct fold_stack *s = &f->stacks[i];
		struct fold_stack *last = kept ? &f->stacks[kept - 1] : NULL;
		if (s->value <= 0 && s->before <= 0)
			continue;
		if (last && !compare_frames(f, last, s)) {
			last->value = value_add(last->value, s->value);
			last->before = value_add(last->before, s->before);
			merge_places(f, last, s);
		} else {
			f->stacks[kept++] = *s;
		}
	}
	f->stacks_cnt = kept;
}

void fold_rank(struct fold *f)
{
	if (f->stacks_cnt)
		qsort_r(f->stacks, f->stacks_cnt, sizeof(*f->stacks), compare_value, f);
}

const char *fold_name(const struct fold *f, uint32_t number)
{
	return names_at(&f->names, f->order[number]);
}

const char *fold_module(const struct fold *f, uint32_t number)
{
	return names_at(&f->files, f->modules[f->order[number]]);
}

const char *fold_place(const struct fold *f, uint32_t at, bool *several)
{
	*several = at & FOLD_SEVERAL;
	return names_at(&f->places, at & ~FOLD_SEVERAL);
}

void fold_free(struct fold *f)
{
	names_free(&f->names);
	names_free(&f->files);
	free(f->order);
	free(f->modules);
	free(f->stacks);
	free(f->frames);
	names_free(&f->places);
	free(f->at);
	*f = (struct fold){ 0 };
}
