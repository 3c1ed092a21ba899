/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_pins: see malloc_pins.h. */
#include "mallocview/malloc_pins.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"

#define SLACK_MAX 64 /* more room than this malloc does not leave: another block has taken the address */

struct joining {
	const struct glibc_heap *heap;
	const struct held_pages *held;
	struct malloc_pins *out;
	uint64_t bytes; /* of known blocks, as malloc_usable_size has them */
};

static bool fits(const struct glibc_chunk *c, uint64_t size)
{
	uint64_t room = glibc_usable(c);
	return c->state == CHUNK_USED && room >= size && room - size < SLACK_MAX;
}

static int join(void *ctx, const struct event *e)
{
	struct joining *j = ctx;
	struct held_page *part[2];
	const struct glibc_chunk *c = glibc_chunk_at(j->heap, e->addr - CHUNK_HEADER);
	if (!c || !fits(c, e->size) || !held_pages_of(j->held, c, part))
		return 0;
	for (int i = 0; i < 2; i++) {
		if (!part[i])
			continue;
		j->out->known_pages += !part[i]->known;
		part[i]->known = true;
	}
	j->out->known++;
	j->bytes += glibc_usable(c);
	return heap_apply(j->out->blocks, e, NULL);
}

int malloc_pins_take(const struct glibc_heap *h, struct held_pages *held, const struct heap *recorded, struct malloc_pins *out)
{
	struct joining j = { h, held, out, 0 };
	struct snapshot *all = heap_snapshot(recorded);
	*out = (struct malloc_pins){ .blocks = heap_new() };
	int rc = !all || !out->blocks ? -ENOMEM : heap_each_live(recorded, join, &j);
	if (!rc) {
		out->others = held->blocks - out->known;
		out->others_bytes = held->block_bytes - j.bytes;
		out->others_pages = held->all_cnt - out->known_pages;
		out->sampled = all->facts.sampled;
		out->lossy = all->facts.lost_allocs;
	}
	snapshot_free(all);
	if (rc)
		malloc_pins_free(out);
	return rc;
}

void malloc_pins_free(struct malloc_pins *p)
{
	heap_free(p->blocks);
	*p = (struct malloc_pins){ 0 };
}

void malloc_pins_facts(const struct malloc_pins *p, struct buf *out)
{
	buf_addf(out,
		 "\"pinned_recorded_pages\":%" PRIu64 ",\"pinned_recorded_blocks\":%" PRIu64 ",\"pinned_other_pages\":%" PRIu64
		 ",\"pinned_other_blocks\":%" PRIu64 ",\"pinned_other_bytes\":%" PRIu64 ",\"pinned_other_is\":\"%s\",",
		 p->known_pages, p->known, p->others_pages, p->others, p->others_bytes,
		 p->sampled ? "older or not sampled"
		 : p->lossy ? "older or lost"
			    : "older");
}

static void describe_others(const struct malloc_pins *p, struct buf *out)
{
	if (!p->others)
		return;
	buf_adds(out, "\n");
	text_count(out, p->others);
	buf_adds(out, " other blocks in them, ");
	text_bytes(out, (double)p->others_bytes);
	buf_addf(out, ", are older than the recording%s: %" PRIu64 " of the pages are kept by these alone\n",
		 p->sampled ? " or were not sampled"
		 : p->lossy ? " or were lost"
			    : "",
		 p->others_pages);
}

int malloc_pins_write(const struct malloc_pins *p, const struct held_pages *held, const struct recorded_heap *from,
		      const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct buf above = { 0 }, below = { 0 };
	buf_addf(&above,
		 "\nWhose blocks keep %zu pages of which at most a tenth is in use (blocks recorded here are in %" PRIu64
		 " of them):\n\n",
		 held->all_cnt, p->known_pages);
	describe_others(p, &below);
	int rc = above.failed || below.failed ? err_set(err, ENOMEM, "out of memory for the report")
					      : pins_write_sites(p->blocks, from, o, buf_str(&above), buf_str(&below), out, err);
	buf_free(&above);
	buf_free(&below);
	return rc;
}
