/* SPDX-License-Identifier: Apache-2.0 */
/* report/frames: see frames.h. */
#include "report/frames.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"

static bool has_file(const struct sink_frame *f)
{
	return f->symbol && f->symbol->file && *f->symbol->file;
}

static bool has_module(const struct sink_frame *f)
{
	return f->module && f->module->path && *f->module->path;
}

void frame_text(const struct sink_frame *f, struct buf *out)
{
	struct sink_frame crystal = *f;
	crystal.crystal_style = true;
	sink_frame_name(&crystal, out);
}

void frame_site(const struct sink_frame *f, struct buf *out)
{
	sink_frame_name(f, out);
	if (!has_file(f))
		return;
	buf_adds(out, "  ");
	text_clean(out, f->symbol->file, SIZE_MAX);
	if (f->symbol->line)
		buf_addf(out, ":%" PRIu32, f->symbol->line);
}

void frame_library(const struct sink_frame *f, struct buf *out)
{
	if (has_module(f))
		text_clean(out, f->module->path, SIZE_MAX);
	else
		buf_adds(out, "[unknown]");
}

void frame_file(const struct sink_frame *f, struct buf *out)
{
	if (has_file(f)) {
		text_clean(out, f->symbol->file, SIZE_MAX);
		return;
	}
	buf_u8(out, '[');
	if (has_module(f))
		text_clean(out, format_basename(f->module->path), SIZE_MAX);
	else
		buf_adds(out, "unknown");
	buf_u8(out, ']');
}

int filter_open(struct filter *f, const struct report_options *o, struct err *err)
{
	int rc = o->focus ? pattern_compile(&f->focus, "--focus", o->focus, err) : 0;
	f->has_focus = o->focus && !rc;
	if (!rc && o->ignore)
		rc = pattern_compile(&f->ignore, "--ignore", o->ignore, err);
	f->has_ignore = o->ignore && !rc;
	return rc;
}

#define FILTER_FOCUS 1
#define FILTER_IGNORE 2

static unsigned int judge(struct filter *f, const struct sink_frame *frame)
{
	struct buf name = { 0 };
	unsigned int is = 0;
	sink_frame_name(frame, &name);
	if (f->has_focus && pattern_matches(&f->focus, frame, buf_str(&name)))
		is |= FILTER_FOCUS;
	if (f->has_ignore && pattern_matches(&f->ignore, frame, buf_str(&name)))
		is |= FILTER_IGNORE;
	buf_free(&name);
	return is;
}

static unsigned int judge_once(struct filter *f, const struct sink_frame *frame)
{
	uint64_t *known = frame->symbol ? map_put(&f->known, (uintptr_t)frame->symbol) : NULL;
	if (!known)
		return judge(f, frame);
	if (!*known)
		*known = judge(f, frame) + 1;
	return (unsigned int)(*known - 1);
}

bool filter_wants(struct filter *f, const struct sink_stack *s)
{
	unsigned int is = 0;
	if (!f->has_focus && !f->has_ignore)
		return true;
	for (size_t i = 0; i < s->frames_cnt; i++)
		is |= judge_once(f, &s->frames[i]);
	return !(is & FILTER_IGNORE) && (!f->has_focus || is & FILTER_FOCUS);
}

void filter_close(struct filter *f)
{
	if (f->has_focus)
		regfree(&f->focus);
	if (f->has_ignore)
		regfree(&f->ignore);
	map_free(&f->known);
}
