/* SPDX-License-Identifier: Apache-2.0 */
/* sink/speedscope: the four values as four profiles in one file, for speedscope.app. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/format.h"
#include "format/paths.h"
#include "sink/registry.h"

#define FLUSH_SZ (256 * 1024)

struct speedscope {
	const struct sink_input *in;
	struct sink_out *out;
	struct err *err;
	struct paths paths;
	uint32_t *path_of; /* row of the snapshot -> path */
	struct buf buf;
	int rc;
};

static void flush(struct speedscope *s, size_t above)
{
	if (!s->rc && s->buf.len >= above)
		s->rc = format_flush(s->out, &s->buf, s->err);
}

static int number_paths(struct speedscope *s)
{
	const struct snapshot *snap = s->in->snapshot;
	s->path_of = calloc(snap->n + 1, sizeof(*s->path_of));
	if (!s->path_of)
		return -ENOMEM;
	for (size_t i = 0; i < snap->n; i++) {
		s->path_of[i] = paths_of(&s->paths, snap->rows[i].stack);
		if (s->path_of[i] == NAMES_FAILED)
			return -ENOMEM;
	}
	return 0;
}

static void put_frames(struct speedscope *s)
{
	struct buf *b = &s->buf;
	for (size_t i = 0; i < s->paths.labels.spans_cnt; i++) {
		const char *part[4];
		paths_split(paths_label(&s->paths, (uint32_t)i), 4, part);
		buf_adds(b, i ? ",\n{\"name\":" : "\n{\"name\":");
		text_json(b, part[0]);
		if (*part[1]) {
			buf_adds(b, ",\"file\":");
			text_json(b, part[1]);
		}
		if (strcmp(part[2], "0"))
			buf_addf(b, ",\"line\":%s", part[2]);
		buf_u8(b, '}');
		flush(s, FLUSH_SZ);
	}
}

/* Root first. Rows whose value is 0 are left out, here and in the weights. */
static void put_samples(struct speedscope *s, enum value v)
{
	const char *between = "";
	for (size_t i = 0; i < s->in->snapshot->n; i++) {
		if (!value_of(&s->in->snapshot->rows[i].t, v))
			continue;
		buf_addf(&s->buf, "%s\n[", between);
		for (size_t k = paths_depth(&s->paths, s->path_of[i]); k-- > 0;)
			buf_addf(&s->buf, "%u%s", paths_frame(&s->paths, s->path_of[i], k), k ? "," : "");
		buf_u8(&s->buf, ']');
		between = ",";
		flush(s, FLUSH_SZ);
	}
}

static int64_t put_weights(struct speedscope *s, enum value v)
{
	const char *between = "";
	int64_t sum = 0;
	for (size_t i = 0; i < s->in->snapshot->n; i++) {
		int64_t value = value_of(&s->in->snapshot->rows[i].t, v);
		if (!value)
			continue;
		buf_addf(&s->buf, "%s%" PRId64, between, value);
		sum = value_add(sum, value);
		between = ",";
	}
	return sum;
}

static void put_profile(struct speedscope *s, enum value v)
{
	const struct value_type *type = &value_types[v];
	buf_addf(&s->buf, "%s\n{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"samples\":[", v ? "," : "", type->title,
		 strcmp(type->unit, "bytes") ? "none" : "bytes");
	put_samples(s, v);
	buf_adds(&s->buf, "],\n\"weights\":[");
	int64_t sum = put_weights(s, v);
	buf_addf(&s->buf, "],\n\"startValue\":0,\"endValue\":%" PRId64 "}", sum);
	flush(s, FLUSH_SZ);
}

static void put_name(struct speedscope *s)
{
	struct buf text = { 0 };
	format_command(s->in->catalog, &text);
	buf_adds(&text, "; ");
	format_notes(s->in, &text);
	format_errors(s->in, &text);
	for (size_t i = 0; i < text.len; i++)
		text.data[i] = text.data[i] != '\n' ? text.data[i] : i + 1 < text.len ? ';' : ' ';
	text_json(&s->buf, buf_str(&text));
	s->buf.failed |= text.failed;
	buf_free(&text);
}

static int speedscope_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct speedscope s = { .in = in, .out = out, .err = err };
	enum value shown;
	int rc = value_choose(in->options, value_standard(in), &shown, err);
	if (rc)
		return rc;
	s.paths = (struct paths){ in->catalog, in->options, .label = paths_label_source };
	if (number_paths(&s)) {
		s.rc = err_set(err, ENOMEM, "out of memory for the stacks");
	} else {
		buf_adds(&s.buf, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
				 "\n\"exporter\":\"alys-bpf\",\n\"name\":");
		put_name(&s);
		buf_addf(&s.buf, ",\n\"activeProfileIndex\":%d,\n\"shared\":{\"frames\":[", shown);
		put_frames(&s);
		buf_adds(&s.buf, "]},\n\"profiles\":[");
		for (enum value v = 0; v < VALUE_CNT; v++)
			put_profile(&s, v);
		buf_adds(&s.buf, "]}\n");
		flush(&s, 0);
	}
	paths_free(&s.paths);
	buf_free(&s.buf);
	free(s.path_of);
	return s.rc;
}

const struct sink_ops sink_speedscope = {
	.name = "speedscope",
	.ext = ".speedscope.json",
	.mime = "application/json",
	.render = speedscope_render,
};
