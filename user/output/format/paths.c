/* SPDX-License-Identifier: Apache-2.0 */
/* format/paths: see paths.h. */
#include "format/paths.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "format/format.h"
#include "format/type.h"

static bool add_frame(struct paths *p, const struct sink_frame *f)
{
	buf_reset(&p->text);
	p->label(f, p->options, &p->text);
	uint32_t id = p->text.failed ? NAMES_FAILED : names_put(&p->labels, p->text.data, p->text.len);
	if (id == NAMES_FAILED)
		return false;
	buf_add(&p->run, &id, sizeof(id));
	return !p->run.failed;
}

/* Number of the type of p->stack, whose id is `id`; NAMES_FAILED: out of memory. */
static uint32_t type_of_stack(struct paths *p, struct stack_id id)
{
	struct sink_options whole = *p->options;
	whole.keep_allocator_frames = true;
	whole.skip = NULL;
	if (!p->typed)
		return 0;
	if (names_put(&p->types, NO_TYPE, strlen(NO_TYPE)) || sink_stack_of(p->catalog, &whole, id, &p->whole))
		return NAMES_FAILED;
	buf_reset(&p->text);
	type_of(&p->whole, &p->text);
	return p->text.failed ? NAMES_FAILED : names_put(&p->types, p->text.data, p->text.len);
}

uint32_t paths_of(struct paths *p, struct stack_id id)
{
	uint64_t *known = map_get(&p->of_stack, id.n);
	if (known)
		return (uint32_t)*known;
	if (sink_stack_of(p->catalog, p->options, id, &p->stack))
		return NAMES_FAILED;
	uint32_t type = type_of_stack(p, id);
	if (type == NAMES_FAILED)
		return NAMES_FAILED;
	buf_reset(&p->run);
	buf_add(&p->run, &type, sizeof(type));
	for (size_t i = 0; i < p->stack.frames_cnt; i++) {
		if (!add_frame(p, &p->stack.frames[i]))
			return NAMES_FAILED;
	}
	uint32_t path = names_put(&p->runs, p->run.data, p->run.len);
	uint64_t *place = path == NAMES_FAILED ? NULL : map_put(&p->of_stack, id.n);
	if (!place)
		return NAMES_FAILED;
	*place = path;
	return path;
}

size_t paths_cnt(const struct paths *p)
{
	return p->runs.spans_cnt;
}

size_t paths_depth(const struct paths *p, uint32_t path)
{
	return p->runs.spans[path].len / sizeof(uint32_t) - 1;
}

/* Runs are packed, so words may be unaligned. */
static uint32_t word_of(const struct paths *p, uint32_t path, size_t i)
{
	uint32_t word;
	memcpy(&word, names_at(&p->runs, path) + i * sizeof(word), sizeof(word));
	return word;
}

uint32_t paths_type(const struct paths *p, uint32_t path)
{
	return word_of(p, path, 0);
}

uint32_t paths_frame(const struct paths *p, uint32_t path, size_t i)
{
	return word_of(p, path, i + 1);
}

const char *paths_label(const struct paths *p, uint32_t label)
{
	return names_at(&p->labels, label);
}

void paths_free(struct paths *p)
{
	names_free(&p->types);
	names_free(&p->labels);
	names_free(&p->runs);
	map_free(&p->of_stack);
	sink_stack_free(&p->stack);
	sink_stack_free(&p->whole);
	buf_free(&p->text);
	buf_free(&p->run);
}

void paths_label_valgrind(const struct sink_frame *f, const struct sink_options *o, struct buf *out)
{
	buf_addf(out, "0x%" PRIX64 ": ", o->no_addresses ? 0 : f->pc);
	sink_frame_name(f, out);
	buf_adds(out, " (");
	if (f->symbol && f->symbol->file) {
		text_clean(out, format_basename(f->symbol->file), SIZE_MAX);
		buf_addf(out, ":%u", f->symbol->line);
	} else {
		buf_adds(out, "in ");
		text_clean(out, f->module && f->module->path ? f->module->path : "?", SIZE_MAX);
	}
	buf_u8(out, ')');
}

void paths_label_source(const struct sink_frame *f, const struct sink_options *o, struct buf *out)
{
	(void)o;
	sink_frame_name(f, out);
	buf_u8(out, 0);
	if (f->symbol && f->symbol->file)
		text_clean(out, f->symbol->file, SIZE_MAX);
	buf_u8(out, 0);
	buf_addf(out, "%u", f->symbol ? f->symbol->line : 0);
	buf_u8(out, 0);
	if (f->module && f->module->path)
		text_clean(out, format_basename(f->module->path), SIZE_MAX);
}

void paths_split(const char *label, size_t n, const char **parts)
{
	for (size_t i = 0; i < n; i++) {
		parts[i] = label;
		label += strlen(label) + 1;
	}
}
