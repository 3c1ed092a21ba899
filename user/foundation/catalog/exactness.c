/* SPDX-License-Identifier: Apache-2.0 */
/* catalog/exactness: see exactness.h. */
#include "catalog/exactness.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const words[] = {
	[EXACTNESS_NO_HEAP] = "",
	[EXACTNESS_EXACT] = "exact",
	[EXACTNESS_BOUND] = "upper bound",
	[EXACTNESS_NONE] = "none",
};

static const char *const parts[] = {
	[PART_ALL] = "",
	[PART_SAMPLED] = "what was sampled",
	[PART_RECORDED] = "what was recorded",
};

const char *exactness_state_word(enum exactness_state s)
{
	return words[s];
}

void exactness_note(struct exactness_heaps *h, uint32_t tgid, const char *comm, const struct unseen *u)
{
	h->cnt++;
	h->tgid = tgid;
	h->why = u->why;
	h->error = (uint32_t)u->error;
	snprintf(h->comm, sizeof(h->comm), "%s", comm ?: "");
	snprintf(h->object, sizeof(h->object), "%s", u->object ?: "");
}

/* --- as metadata --------------------------------------------------------------------------------- */

/* Stored as name=value, each followed by a tab, which cleaned texts never contain. */
struct field {
	const char *name;
	size_t at, size;
	bool text;
};

#define FIELD(name, member, text)                                                                          \
	{                                                                                                  \
		name, offsetof(struct exactness, member), sizeof(((struct exactness *)NULL)->member), text \
	}

static const struct field fields[] = {
	FIELD("part", part, false),
	FIELD("missed", missed, false),
	FIELD("collections", collections, false),
	FIELD("lost", lost, false),
	FIELD("incremental", incremental_tgid, false),
	FIELD("unknown", unknown, false),
	FIELD("unknown_bytes", unknown_sz, false),
	FIELD("marked_bytes", marked_sz, false),
	FIELD("uncompared", uncompared, false),
	FIELD("unjudged", unjudged.cnt, false),
	FIELD("unjudged_pid", unjudged.tgid, false),
	FIELD("unjudged_why", unjudged.why, false),
	FIELD("unjudged_error", unjudged.error, false),
	FIELD("unjudged_comm", unjudged.comm, true),
	FIELD("unjudged_object", unjudged.object, true),
	FIELD("asked", polled.cnt, false),
	FIELD("asked_pid", polled.tgid, false),
	FIELD("asked_why", polled.why, false),
	FIELD("asked_error", polled.error, false),
	FIELD("asked_comm", polled.comm, true),
	FIELD("asked_object", polled.object, true),
};

#define FIELDS (sizeof(fields) / sizeof(*fields))

void exactness_write(const struct exactness *e, struct buf *facts)
{
	for (size_t i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];
		const char *at = (const char *)e + f->at;
		uint64_t number = 0;
		if (!f->text)
			memcpy(&number, at, f->size);
		if (f->text ? !*at : !number)
			continue;
		buf_addf(facts, "%s=", f->name);
		if (f->text)
			text_clean(facts, at, f->size);
		else
			buf_addf(facts, "%" PRIu64, number);
		buf_u8(facts, '\t');
	}
}

static void take(const char *word, size_t n, struct exactness *e)
{
	const char *value = memchr(word, '=', n);
	for (size_t i = 0; value && i < FIELDS; i++) {
		const struct field *f = &fields[i];
		char *at = (char *)e + f->at;
		if (strlen(f->name) != (size_t)(value - word) || strncmp(f->name, word, strlen(f->name)))
			continue;
		uint64_t number = strtoull(value + 1, NULL, 10);
		if (f->text)
			snprintf(at, f->size, "%.*s", (int)(word + n - value - 1), value + 1);
		else
			memcpy(at, &number, f->size);
	}
}

/* Reasons added by newer programs have no text here. */
static void settle(struct exactness_heaps *h)
{
	if ((unsigned int)h->why >= GC_UNSEEN_CNT)
		h->why = GC_SEEN;
}

static void take_all(const char *facts, struct exactness *e)
{
	for (const char *word = facts; *word;) {
		size_t n = strcspn(word, "\t");
		take(word, n, e);
		word += n + (word[n] == '\t');
	}
	settle(&e->unjudged);
	settle(&e->polled);
	if ((unsigned int)e->part > PART_RECORDED)
		e->part = PART_ALL;
}

enum exactness_state exactness_state_of(const struct catalog *c)
{
	const char *text = catalog_meta(c, EXACTNESS_KEY);
	if (!text || !*text)
		return EXACTNESS_NO_HEAP;
	for (enum exactness_state s = EXACTNESS_EXACT; s <= EXACTNESS_NONE; s++) {
		if (!strncmp(text, words[s], strlen(words[s])))
			return s;
	}
	return EXACTNESS_BOUND;
}

/* False: an older trace, which has text at most. */
static bool read_meta(const struct catalog *c, struct exactness *e)
{
	const char *facts = catalog_meta(c, EXACTNESS_FACTS_KEY);
	*e = (struct exactness){ .state = exactness_state_of(c) };
	if (facts)
		take_all(facts, e);
	return facts;
}

/* --- as text ------------------------------------------------------------------------------------- */

static const char *const reasons[GC_UNSEEN_CNT] = {
	[GC_SEEN] = "its collections are not observed",
	[GC_NO_SYMBOL] = "no symbol GC_gc_no: collections cannot be watched",
	[GC_NO_FRAMES] = "no .eh_frame: collections cannot be watched",
	[GC_BAD_FRAMES] = "its .eh_frame cannot be read: collections cannot be watched",
	[GC_NO_COUNT] = "no function adds to GC_gc_no: collections cannot be watched",
	[GC_MANY_COUNTS] = "more than one function adds to GC_gc_no: collections cannot be watched",
	[GC_NO_ENDS] = "no begin and end of collections found around GC_gc_no's count",
	[GC_UNSEARCHED] = "out of memory while looking for collections",
	[GC_NO_READER] = "the mark reader could not be started",
	[GC_NO_PROBES] = "the probes on collections could not be attached",
	[GC_NO_ROOM] = "too many processes collect garbage at once, no room was left for it",
	[GC_UNREADABLE] = "",
};

void unseen_text(const struct unseen *u, struct buf *out)
{
	if (u->object && *u->object)
		text_clean(out, u->object, SIZE_MAX);
	if (u->object && *u->object && *reasons[u->why])
		buf_adds(out, ": ");
	buf_adds(out, reasons[u->why]);
	if (u->error)
		buf_addf(out, ": %s", strerror(u->error));
}

static void add_heaps(const struct exactness_heaps *h, struct buf *out)
{
	const struct unseen u = { h->why, (int)h->error, h->object };
	if (h->tgid)
		buf_addf(out, "process %" PRIu32, h->tgid);
	if (h->tgid && *h->comm) {
		buf_adds(out, " (");
		text_clean(out, h->comm, sizeof(h->comm));
		buf_u8(out, ')');
	}
	if (h->tgid)
		buf_adds(out, ": ");
	unseen_text(&u, out);
}

static void add_more(const struct exactness_heaps *h, struct buf *out)
{
	if (h->cnt > 1)
		buf_addf(out, ", and %" PRIu64 " more process%s", h->cnt - 1, h->cnt > 2 ? "es" : "");
}

static void add_unknown(const struct exactness *e, struct buf *out)
{
	buf_addf(out, "; of what the last collection marked, %" PRIu64 " objects, ", e->unknown);
	text_bytes(out, (double)e->unknown_sz);
	buf_adds(out, " of ");
	text_bytes(out, (double)e->marked_sz);
	buf_addf(out, " (%.3g %%), are not known to the recording", 100.0 * (double)e->unknown_sz / (double)e->marked_sz);
}

/* Each bound is preceded by "; ". */
static void add_bounds(const struct exactness *e, struct buf *out)
{
	if (e->polled.cnt) {
		buf_adds(out, "; ");
		add_heaps(&e->polled, out);
		buf_adds(out, ": its counter is read ten times a second instead");
		add_more(&e->polled, out);
	}
	if (e->incremental_tgid)
		buf_addf(out, "; process %" PRIu32 " collects incrementally", e->incremental_tgid);
	if (e->missed)
		buf_addf(out, "; %" PRIu64 " of %" PRIu64 " collections missed", e->missed, e->collections);
	else if (e->lost)
		buf_addf(out, "; %" PRIu64 " records of collections lost", e->lost);
	if (e->unknown)
		add_unknown(e, out);
	if (e->uncompared && !out->len)
		buf_adds(out, "; no collection could be compared with the records in time");
}

static void add_reason(const struct exactness *e, struct buf *out)
{
	struct buf bounds = { 0 };
	if (e->state == EXACTNESS_BOUND)
		add_bounds(e, &bounds);
	const char *text = buf_str(&bounds);
	if (e->unjudged.cnt) {
		buf_adds(out, e->state == EXACTNESS_BOUND ? "nothing of " : "");
		add_heaps(&e->unjudged, out);
		add_more(&e->unjudged, out);
		buf_adds(out, e->state != EXACTNESS_BOUND ? "" : bounds.len ? text : "; of the others all was seen");
	} else if (bounds.len) {
		buf_adds(out, text + 2);
	}
	buf_free(&bounds);
}

void exactness_text(const struct exactness *e, struct buf *out)
{
	buf_adds(out, words[e->state]);
	if (e->state == EXACTNESS_EXACT && e->part)
		buf_addf(out, " for %s", parts[e->part]);
	if (e->state != EXACTNESS_BOUND && e->state != EXACTNESS_NONE)
		return;
	buf_adds(out, " (");
	add_reason(e, out);
	buf_adds(out, ")");
}

void exactness_text_of(const struct catalog *c, struct buf *out)
{
	struct exactness e;
	const char *text = catalog_meta(c, EXACTNESS_KEY);
	if (read_meta(c, &e))
		exactness_text(&e, out);
	else if (text)
		text_clean(out, text, SIZE_MAX);
}

/* Appends the text in parentheses of an older trace. */
static void add_said(const char *text, struct buf *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	struct buf reason = { 0 };
	if (!open || !close || close < open)
		return;
	buf_add(&reason, open + 1, (size_t)(close - open - 1));
	text_clean(out, buf_str(&reason), SIZE_MAX);
	buf_free(&reason);
}

void exactness_reason_of(const struct catalog *c, struct buf *out)
{
	struct exactness e;
	if (read_meta(c, &e))
		add_reason(&e, out);
	else if (e.state != EXACTNESS_NO_HEAP)
		add_said(catalog_meta(c, EXACTNESS_KEY), out);
}

const char *exactness_part_of(const struct catalog *c)
{
	struct exactness e;
	const char *text = catalog_meta(c, EXACTNESS_KEY), *said = text ? strstr(text, " for ") : NULL;
	if (read_meta(c, &e))
		return parts[e.part];
	for (size_t i = PART_SAMPLED; said && i <= PART_RECORDED; i++) {
		if (!strcmp(said + strlen(" for "), parts[i]))
			return parts[i];
	}
	return "";
}
