/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/dhat: DHAT's format, version 2, for valgrind's dh_view.html and Firefox Profiler. A reallocation counts as a new
 * block at the stack of the realloc call, while in DHAT a block keeps its first stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "format/format.h"
#include "sink/registry.h"
#include "sink/tally.h"

#define FLUSH_SZ (256 * 1024)
#define SHORT_LIVED_US 10

struct dhat {
	struct sink_input in;
	struct sink_out *out;
	struct tally tally;
	struct buf buf;
	bool failed;
};

static int dhat_begin(const struct sink_input *in, struct sink_out *out, void **state, struct err *err)
{
	int rc = format_refuse_samples(in->catalog, "dhat", err);
	struct dhat *d = rc ? NULL : calloc(1, sizeof(*d));
	if (!d)
		return rc ? rc : err_set(err, ENOMEM, "out of memory");
	d->in = *in;
	d->out = out;
	d->tally.paths.label = paths_label_valgrind;
	tally_begin(&d->tally, in);
	*state = d;
	return 0;
}

static int dhat_event(void *state, const struct event *e, const struct applied *a, struct err *err)
{
	struct dhat *d = state;
	int rc = e->interval ? format_refuse_samples(NULL, "dhat", err) : 0;
	(void)a;
	if (!rc && d->tally.failed)
		rc = err_set(err, ENOMEM, "out of memory for the blocks");
	d->failed |= rc != 0;
	return rc;
}

/* The command line is the only field of the format that can hold a remark. */
static void put_command(const struct dhat *d, struct buf *b)
{
	struct buf text = { 0 };
	format_command(d->in.catalog, &text);
	buf_adds(&text, " [recorded by alys-bpf: ");
	catalog_ledger_text(d->in.catalog, &text);
	if (d->tally.lost_frees || format_bounded(d->in.catalog))
		buf_adds(&text, "; in-use is an upper bound: not every free was seen");
	buf_adds(&text, "]");
	text_json(b, buf_str(&text));
	b->failed |= text.failed;
	buf_free(&text);
}

static uint64_t micros(uint64_t ns, uint64_t first_ns)
{
	return ns > first_ns ? (ns - first_ns) / 1000 : 0;
}

static void put_head(const struct dhat *d, struct buf *b)
{
	const struct tally *t = &d->tally;
	size_t i = 0;
	const struct proc *p = catalog_next_proc(d->in.catalog, &i);
	buf_adds(b, "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\n"
		    "\"bklt\":true,\"bkacc\":false,\n"
		    "\"tu\":\"µs\",\"Mtu\":\"s\",\n");
	buf_addf(b, "\"tuth\":%d,\n\"cmd\":", SHORT_LIVED_US);
	put_command(d, b);
	buf_addf(b, ",\n\"pid\":%u,\n\"te\":%" PRIu64 ",\n\"tg\":%" PRIu64 ",\n\"pps\":[", p ? p->tgid : 0,
		 micros(t->last_ns, t->first_ns), micros(t->peak_ns, t->first_ns));
}

static void put_path(const struct tally *t, uint32_t path, struct buf *b)
{
	const struct tally_row *r = &t->rows[path];
	buf_addf(b, "%s\n{\"tb\":%.0f,\"tbk\":%.0f,\"tl\":%.0f,\"mb\":%.0f,\"mbk\":%.0f,", path ? "," : "", r->alloc.sz,
		 r->alloc.cnt, r->life_ns / 1000, r->max.sz, r->max.cnt);
	buf_addf(b, "\"gb\":%.0f,\"gbk\":%.0f,\"eb\":%.0f,\"ebk\":%.0f,\"fs\":[", r->peak.sz, r->peak.cnt, r->live.sz,
		 r->live.cnt);
	/* Entry 0 of the file's table is the root. */
	for (size_t i = 0; i < paths_depth(&t->paths, path); i++)
		buf_addf(b, "%s%u", i ? "," : "", paths_frame(&t->paths, path, i) + 1);
	buf_adds(b, "]}");
}

static int put_all(struct dhat *d, struct err *err)
{
	const struct tally *t = &d->tally;
	struct buf *b = &d->buf;
	int rc = 0;
	put_head(d, b);
	for (size_t i = 0; !rc && i < paths_cnt(&t->paths); i++) {
		put_path(t, (uint32_t)i, b);
		if (b->len >= FLUSH_SZ)
			rc = format_flush(d->out, b, err);
	}
	buf_adds(b, "],\n\"ftbl\":[\"[root]\"");
	for (size_t i = 0; !rc && i < t->paths.labels.spans_cnt; i++) {
		buf_adds(b, ",\n");
		text_json(b, paths_label(&t->paths, (uint32_t)i));
		if (b->len >= FLUSH_SZ)
			rc = format_flush(d->out, b, err);
	}
	buf_adds(b, "]}\n");
	return rc ? rc : format_flush(d->out, b, err);
}

static int dhat_end(void *state, struct err *err)
{
	struct dhat *d = state;
	int rc = 0;
	if (!d->failed && tally_end(&d->tally))
		rc = err_set(err, ENOMEM, "out of memory for the blocks");
	else if (!d->failed)
		rc = put_all(d, err);
	tally_free(&d->tally);
	buf_free(&d->buf);
	free(d);
	return rc;
}

const struct sink_ops sink_dhat = {
	.name = "dhat",
	.ext = ".dhat.json",
	.mime = "application/json",
	.begin = dhat_begin,
	.event = dhat_event,
	.end = dhat_end,
};
