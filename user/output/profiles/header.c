/* SPDX-License-Identifier: Apache-2.0 */
/* profiles/header: see header.h. */
#include "profiles/header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/call_counts.h"

static uint64_t meta_number(const struct catalog *c, const char *key)
{
	const char *text = catalog_meta(c, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

static const char *meta_or(const struct catalog *c, const char *key, const char *otherwise)
{
	const char *text = catalog_meta(c, key);
	return text && *text ? text : otherwise;
}

/* Profiles have no place for calls of functions: they are for people, here. */
static void add_calls(const struct catalog *c, struct buf *out)
{
	struct calls k;
	if (!calls_were_counted(c) || calls_load(&k, c, 0))
		return;
	for (uint32_t i = 0; i < k.of_cnt; i++)
		buf_addf(out, "calls of %s: %" PRIu64 "\n", names_at(&k.names, i), k.of[i]);
	calls_unload(&k);
	calls_inlined_note(c, out);
}

/* The command line is left out: profiles are shared, and arguments may contain secrets. */
static void fill_comments(const struct sink_input *in, struct buf *out)
{
	const struct catalog *c = in->catalog;
	struct buf plain = { 0 };
	buf_addf(&plain, "alys-bpf %s, %s, stacks by %s", meta_or(c, "version", "(unknown version)"),
		 meta_or(c, "sample", "every call"), meta_or(c, "walk", "(unknown walk)"));
	if (catalog_meta(c, "pids"))
		buf_addf(&plain, ", pid=%s", catalog_meta(c, "pids"));
	text_clean(out, buf_str(&plain), SIZE_MAX);
	buf_u8(out, '\n');
	if (!in->options->from_ns && !in->options->until_ns)
		format_before_note(c, out);
	format_notes(in, out);
	format_errors(in, out);
	add_calls(c, out);
	out->failed |= plain.failed;
	buf_free(&plain);
}

static void fill_times(const struct sink_input *in, struct profile_header *out)
{
	const struct catalog *c = in->catalog;
	const struct heap_facts *facts = &in->snapshot->facts;
	uint64_t start = format_start_ns(in), end = format_end_ns(in);
	if (in->options->moment && end)
		start = end;
	out->mono_ns = start;
	out->time_ns = meta_number(c, "start_real_ns") + start - meta_number(c, "start_mono_ns");
	/* A recording that was killed has no end time: its last event is used instead. */
	start = start ? start : facts->first_ns;
	end = end ? end : facts->last_ns;
	out->duration_ns = end > start ? end - start : 0;
}

int profile_header_fill(const struct sink_input *in, struct profile_header *out)
{
	uint64_t interval = format_interval(in->catalog);
	*out = (struct profile_header){ .period = interval ? (int64_t)interval : 1 };
	fill_times(in, out);
	fill_comments(in, &out->comments);
	return out->comments.failed ? -ENOMEM : 0;
}

char *profile_header_next(struct profile_header *h, size_t *at)
{
	char *line = (char *)h->comments.data + *at;
	char *end = *at < h->comments.len ? memchr(line, '\n', h->comments.len - *at) : NULL;
	if (!end)
		return NULL;
	*end = '\0';
	*at += (size_t)(end - line) + 1;
	return line;
}

void profile_header_free(struct profile_header *h)
{
	buf_free(&h->comments);
}
