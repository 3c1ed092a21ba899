/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/html: one self-contained page. Recorded data is in it twice: `about` as JSON, and values by path over time as
 * packed columns. The page itself is built from web/ and embedded by the assembler (.incbin); no recorded data gets
 * into markup or scripts.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "format/call_counts.h"
#include "format/format.h"
#include "sink/cells.h"
#include "sink/pack.h"
#include "sink/registry.h"

#define EMBED(name, file)                                                                                          \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"" file "\"\n" #name "_end:\n.byte 0\n.popsection\n"); \
	extern const char name[] __attribute__((visibility("hidden")));                                            \
	extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(html_head, WEB "/head.html");
EMBED(html_tail, WEB "/tail.html");

struct html {
	struct sink_input in;
	struct sink_out *out;
	struct tally tally;
	struct cells cells;
	struct buf buf;
	struct mark *marks;
	size_t marks_cnt, marks_cap, mark_every, marks_seen;
	uint64_t allocations, heapfuls;
	bool sampled;
	bool failed;
};

/* A collection on the timeline. */
struct mark {
	uint64_t begin_ns, pause_ns, dead_sz;
};

#define MARKS_MAX 1024 /* the timeline is about a thousand pixels wide */

/* If there are too many, drops every second mark, adding its reclaimed bytes to its neighbour. */
static void thin_marks(struct html *h)
{
	for (size_t i = 0; i + 1 < h->marks_cnt; i += 2) {
		h->marks[i / 2] = h->marks[i];
		h->marks[i / 2].dead_sz += h->marks[i + 1].dead_sz;
	}
	h->marks_cnt /= 2;
	h->mark_every *= 2;
}

static void note_collection(struct html *h, const struct event *e)
{
	h->mark_every = h->mark_every ?: 1;
	if (h->marks_cnt == MARKS_MAX)
		thin_marks(h);
	if (h->marks_seen++ % h->mark_every && h->marks_cnt) {
		h->marks[h->marks_cnt - 1].dead_sz += e->gc.dead_sz;
		return;
	}
	struct mark *m = VEC_PUSH(h, marks);
	if (m)
		*m = (struct mark){ e->enter_ns ?: e->time_ns, e->gc.pause_ns, e->gc.dead_sz };
	h->failed |= !m;
}

/* Lifetimes are counted in the slice of the allocation. Objects from before the recording belong to no slice. */
static bool note_life(struct html *h, const struct tally_change *c)
{
	uint64_t allocated_ns = c->life->allocated_ns;
	if (c->how < 0 || allocated_ns < h->tally.first_ns || c->time_ns <= allocated_ns)
		return true;
	const struct amount lived = { c->life->cnt * (double)(c->time_ns - allocated_ns) / 1000, 0 };
	return cells_add(&h->cells, c->path, allocated_ns, CELL_LIFE, &lived);
}

static void on_change(void *ctx, const struct tally_change *c)
{
	struct html *h = ctx;
	bool left = c->how == LIFE_EXIT || c->how == LIFE_LEFT;
	enum cell_value v = c->how < 0 ? CELL_ALLOC : left ? CELL_KEPT : CELL_FREED;
	uint64_t ns = left ? c->life->allocated_ns : c->time_ns;
	h->cells.first_ns = h->tally.first_ns;
	bool ok = c->carried || cells_add(&h->cells, c->path, ns, v, &c->by);
	if (ok && c->life->temporary)
		ok = cells_add(&h->cells, c->path, ns, CELL_TEMPORARY, &c->by);
	ok = ok && note_life(h, c);
	if (!left)
		cells_note(&h->cells, ns, c->how < 0 && !c->carried ? c->by.sz : 0, c->how < 0 ? 0 : c->by.sz, h->tally.live.sz);
	h->failed |= !ok;
}

/* Inlined functions have plain names ("new"), which many functions share: the page shows them differently. */
static void label_frame(const struct sink_frame *f, const struct sink_options *o, struct buf *out)
{
	paths_label_source(f, o, out);
	buf_u8(out, 0);
	buf_addf(out, "%d", f->inlined);
}

static int html_begin(const struct sink_input *in, struct sink_out *out, void **state, struct err *err)
{
	struct html *h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(err, ENOMEM, "out of memory");
	h->in = *in;
	h->out = out;
	h->tally.paths.label = label_frame;
	h->tally.grows = true;
	h->tally.paths.typed = true;
	h->tally.changed = on_change;
	h->tally.ctx = h;
	cells_begin(&h->cells);
	tally_begin(&h->tally, in);
	*state = h;
	return 0;
}

static int html_event(void *state, const struct event *e, const struct applied *a, struct err *err)
{
	struct html *h = state;
	(void)a;
	h->sampled |= e->interval != 0;
	h->allocations += e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC;
	h->heapfuls += (e->flags & EVENT_F_HEAPFUL) != 0;
	if (e->kind == EVENT_GC)
		note_collection(h, e);
	return h->failed || h->tally.failed ? err_set(err, ENOMEM, "out of memory for the blocks") : 0;
}

/* In a script element only "<" can end it; the other escapes are for readers of other kinds. */
static void put_json(struct buf *b, const char *text)
{
	struct buf json = { 0 };
	text_json(&json, text);
	for (size_t i = 0; i < json.len; i++) {
		uint8_t c = json.data[i];
		if (c == '<' || c == '>' || c == '&')
			buf_addf(b, "\\u%04x", c);
		else
			buf_u8(b, c);
	}
	b->failed |= json.failed;
	buf_free(&json);
}

static void put_metas(const struct catalog *c, struct buf *b)
{
	const char *key, *value, *between = "";
	buf_adds(b, ",\n\"meta\":[");
	for (size_t i = 0; catalog_next_meta(c, &i, &key, &value);) {
		buf_addf(b, "%s[", between);
		put_json(b, key);
		buf_u8(b, ',');
		put_json(b, value);
		buf_u8(b, ']');
		between = ",";
	}
	buf_u8(b, ']');
}

static void put_procs(const struct catalog *c, struct buf *b)
{
	const struct proc *p;
	const char *between = "";
	buf_adds(b, ",\n\"procs\":[");
	for (size_t i = 0; (p = catalog_next_proc(c, &i));) {
		if (!catalog_shows(c, p->id))
			continue;
		buf_addf(b, "%s{\"pid\":%u,\"exec\":%u,\"comm\":", between, p->tgid, p->generation);
		put_json(b, p->comm ? p->comm : "");
		buf_adds(b, ",\"exe\":");
		put_json(b, p->exe ? p->exe : "");
		buf_u8(b, '}');
		between = ",";
	}
	buf_u8(b, ']');
}

static void put_ledger(const struct catalog *c, struct buf *b)
{
	static const char *const classes[] = {
		[COUNT_HIT] = "hit",   [COUNT_RECORDED] = "recorded", [COUNT_SKIPPED] = "skipped",
		[COUNT_LOST] = "lost", [COUNT_NOTE] = "note",
	};
	const struct count *n;
	const char *between = "";
	struct buf law = { 0 };
	catalog_ledger_text(c, &law);
	buf_adds(b, ",\n\"ledger\":");
	put_json(b, buf_str(&law));
	buf_free(&law);
	buf_adds(b, ",\n\"counts\":[");
	for (size_t i = 0; (n = catalog_next_count(c, &i));) {
		bool known = n->class >= COUNT_HIT && n->class <= COUNT_NOTE;
		buf_addf(b, "%s[\"%s\",", between, known ? classes[n->class] : "other");
		put_json(b, n->name);
		buf_addf(b, ",%" PRIu64 ",", n->value);
		put_json(b, n->help ? n->help : "");
		buf_u8(b, ']');
		between = ",";
	}
	buf_u8(b, ']');
}

static uint64_t since_start(const struct html *h, uint64_t ns)
{
	static const struct sink_options whole;
	struct sink_input in = { .catalog = h->in.catalog, .options = &whole };
	uint64_t start = format_start_ns(&in);
	return start && ns > start ? ns - start : 0;
}

/* Times are relative to the first moment shown; from_ns is that moment, relative to the start of the recording. */
static void put_sums(const struct html *h, struct buf *b)
{
	const struct tally *t = &h->tally;
	uint64_t first = h->tally.first_ns;
	buf_addf(b, ",\n\"slice_ns\":%" PRIu64 ",\"heap_slice_ns\":%" PRIu64 ",\"moments\":%d,\"length_ns\":%" PRIu64,
		 slices_width_ns(&h->cells.slices), slices_width_ns(&h->cells.heap_slices), GROWTH_SLICES,
		 t->last_ns > first ? t->last_ns - first : 0);
	buf_addf(b, ",\"peak\":{\"bytes\":%.0f,\"blocks\":%.0f,\"ns\":%" PRIu64 "}", t->peak.sz, t->peak.cnt,
		 t->peak_ns > first ? t->peak_ns - first : 0);
	buf_addf(b, ",\"from_ns\":%" PRIu64, since_start(h, first));
}

/* Facts that limit how far the numbers can be trusted. */
static void put_limits(const struct html *h, struct buf *b)
{
	const struct catalog *c = h->in.catalog;
	buf_addf(b, ",\"min_size\":%" PRIu64 ",\"partial\":%s", format_min_size(c), h->in.options->until_ns ? "true" : "false");
	/* "sampled" is also true if every call was skipped. */
	const struct totals drawn = { .live_cnt = h->sampled };
	double below = format_below(c, &drawn);
	buf_addf(b, ",\"interval\":%" PRIu64 ",\"sampled\":%s", format_interval(c), h->sampled || below ? "true" : "false");
	if (below)
		buf_addf(b, ",\"below\":%.0f", below);
	buf_addf(b, ",\"lost\":%" PRIu64 ",\"lost_frees\":%" PRIu64, catalog_sum(c, COUNT_LOST), h->tally.lost_frees);
	buf_addf(b, ",\"unseen_frees\":%s,\"allocations_only\":%s,\"bounded\":%s", format_unseen_frees(c) ? "true" : "false",
		 format_allocations_only(c) ? "true" : "false", format_bounded(c) ? "true" : "false");
	buf_addf(b, ",\"heapfuls\":%" PRIu64 ",\"other_allocations\":%" PRIu64, h->heapfuls, h->allocations - h->heapfuls);
}

/* Standard errors of byte totals over the whole recording. */
static void put_errors(const struct html *h, struct buf *b)
{
	const struct tally *t = &h->tally;
	buf_addf(b, ",\n\"errors\":{\"live\":%.0f,\"alloc\":%.0f,\"peak\":%.0f}", sqrt(t->var_live), sqrt(t->var_alloc),
		 sqrt(t->var_peak));
}

static void put_marks(const struct html *h, struct buf *b)
{
	uint64_t first = h->tally.first_ns;
	buf_adds(b, ",\n\"collections\":[");
	for (size_t i = 0; i < h->marks_cnt; i++) {
		const struct mark *m = &h->marks[i];
		buf_addf(b, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			 m->begin_ns > first ? m->begin_ns - first : 0, m->pause_ns, m->dead_sz);
	}
	buf_adds(b, "]");
}

static void put_called(const struct catalog *c, const struct calls *k, struct buf *b)
{
	struct buf note = { 0 };
	buf_adds(b, ",\n\"calls\":[");
	for (uint32_t i = 0; i < k->of_cnt; i++) {
		buf_adds(b, i ? ",[" : "[");
		put_json(b, names_at(&k->names, i));
		buf_addf(b, ",%" PRIu64 "]", k->of[i]);
	}
	buf_adds(b, "],\"calls_note\":");
	calls_inlined_note(c, &note);
	put_json(b, buf_str(&note));
	buf_free(&note);
}

/* Calls of functions are of the whole recording. */
static void put_calls(struct html *h)
{
	const struct catalog *c = h->in.catalog;
	struct calls k;
	if (!calls_were_counted(c) || h->in.options->from_ns || h->in.options->until_ns)
		return;
	if (calls_load(&k, c, 0))
		h->buf.failed = true;
	else
		put_called(c, &k, &h->buf);
	calls_unload(&k);
}

static void put_about(struct html *h)
{
	struct buf *b = &h->buf;
	struct buf command = { 0 };
	format_command(h->in.catalog, &command);
	buf_adds(b, "<script type=\"application/json\" id=\"about\">{\"title\":");
	put_json(b, h->in.options->title ? h->in.options->title : buf_str(&command));
	buf_free(&command);
	put_sums(h, b);
	put_limits(h, b);
	put_errors(h, b);
	put_marks(h, b);
	put_metas(h->in.catalog, b);
	put_procs(h->in.catalog, b);
	put_calls(h);
	put_ledger(h->in.catalog, b);
	buf_adds(b, "}</script>\n");
}

static int put_page(struct html *h, struct err *err)
{
	struct buf *b = &h->buf;
	buf_add(b, html_head, (size_t)(html_head_end - html_head));
	put_about(h);
	buf_adds(b, "<script type=\"text/plain\" id=\"data\">");
	if (pack_base64(&h->tally, &h->cells, b))
		return err_set(err, ENOMEM, "out of memory for the page");
	buf_adds(b, "</script>\n");
	buf_add(b, html_tail, (size_t)(html_tail_end - html_tail));
	return format_flush(h->out, b, err);
}

static int html_end(void *state, struct err *err)
{
	struct html *h = state;
	int rc = 0;
	if (!h->failed && (tally_end(&h->tally) || h->failed))
		rc = err_set(err, ENOMEM, "out of memory for the blocks");
	else if (!h->failed)
		rc = put_page(h, err);
	tally_free(&h->tally);
	cells_free(&h->cells);
	free(h->marks);
	buf_free(&h->buf);
	free(h);
	return rc;
}

const struct sink_ops sink_html = {
	.name = "html",
	.ext = ".html",
	.mime = "text/html; charset=utf-8",
	.begin = html_begin,
	.event = html_event,
	.end = html_end,
};
