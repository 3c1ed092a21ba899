/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/pins: see pins.h. */
#include "heapview/pins.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heapgraph/census.h"
#include "heapview/census_verb.h"

struct joining {
	const struct boehm_heap *heap;
	bool *pinned;     /* per block */
	uint64_t *known;  /* per block: recorded objects in it */
	struct heap *out; /* events of these objects only */
};

static int join(void *ctx, const struct event *e)
{
	struct joining *j = ctx;
	struct heap_object o;
	if (!boehm_heap_find(j->heap, e->addr, &o) || !o.marked || !j->pinned[o.block])
		return 0;
	j->known[o.block]++;
	return heap_apply(j->out, e, NULL);
}

static int begin(struct joining *j, const struct boehm_heap *h, size_t *blocks)
{
	uint32_t *list;
	*j = (struct joining){ .heap = h,
			       .pinned = calloc(h->blocks_cnt + 1, 1),
			       .known = calloc(h->blocks_cnt + 1, sizeof(*j->known)),
			       .out = heap_new() };
	*blocks = accounts_pinned(h, CENSUS_PINNED_SHARE, &list);
	for (size_t i = 0; j->pinned && i < *blocks; i++)
		j->pinned[list[i]] = true;
	bool made = list && j->pinned && j->known && j->out;
	free(list);
	return made ? 0 : -ENOMEM;
}

static void end(struct joining *j)
{
	free(j->pinned);
	free(j->known);
	heap_free(j->out);
}

/* Formats in which the tables are read by people, in order. */
static bool is_for_reading(const struct report_options *o)
{
	return o->format == FORMAT_TEXT || o->format == FORMAT_MARKDOWN;
}

static int put_text(const struct report_options *o, const char *text, struct sink_out *out)
{
	return is_for_reading(o) ? out->write(out->ctx, text, strlen(text)) : 0;
}

/* Recording none of these blocks is not a failure. */
int pins_write_sites(const struct heap *blocks, const struct recorded_heap *from, const struct report_options *options,
		     const char *above, const char *below, struct sink_out *out, struct err *err)
{
	struct report_options o = *options;
	struct report_input in = *from->in;
	struct snapshot *snap = heap_snapshot(blocks);
	if (!snap)
		return err_set(err, ENOMEM, "out of memory");
	o.show = SHOW_LIVE;
	o.pid = 0;
	in.snapshot = snap;
	int rc = put_text(&o, above, out);
	if (!rc)
		rc = snap->all.alloc_cnt ? report_render(&in, &o, out, err) : put_text(&o, "none that was recorded\n", out);
	snapshot_free(snap);
	return rc ?: put_text(&o, below, out);
}

static void name_heading(const struct joining *j, size_t blocks, char *out, size_t out_sz)
{
	size_t known = 0;
	for (size_t i = 0; i < j->heap->blocks_cnt; i++)
		known += j->known[i] != 0;
	snprintf(out, out_sz,
		 "\nWhose objects keep %zu blocks of which at most a tenth is live (objects recorded here are in %zu of "
		 "them):\n\n",
		 blocks, known);
}

int pins_write(const struct recorded_heap *recorded, const struct report_options *o, struct sink_out *out, struct err *err)
{
	const struct census_options accounts = { .report = *o, .heap = true };
	struct boehm_heap h;
	struct joining j;
	char heading[200];
	size_t blocks;
	int rc = census_write(&accounts, &h, out, err);
	if (rc)
		return rc;
	rc = begin(&j, &h, &blocks);
	rc = rc ?: heap_each_live(recorded->blocks, join, &j);
	if (rc) {
		rc = err_set(err, ENOMEM, "out of memory");
	} else {
		name_heading(&j, blocks, heading, sizeof(heading));
		rc = pins_write_sites(j.out, recorded, o, heading, "", out, err);
	}
	end(&j);
	boehm_heap_free(&h);
	return rc;
}
