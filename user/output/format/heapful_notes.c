/* SPDX-License-Identifier: Apache-2.0 */
/* format/heapful_notes: see heapful_notes.h. */
#include "format/heapful_notes.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"

#define TIME_UNIT 256.0 /* ns, of heap-time-squares */
#define IN_STEP 10      /* each case came so many times, on average */

bool format_all_heapfuls(const struct snapshot *s)
{
	return s->all.alloc_cnt && s->facts.heapfuls == s->all.alloc_cnt;
}

static bool has_name(const struct catalog *c, const struct stack *s, uint32_t i)
{
	const struct mapping *map = catalog_mapping(c, s->frames[i].map);
	const struct symbols *symbols = map ? catalog_symbols(c, map->module, frame_pc(&s->frames[i], i)) : NULL;
	return symbols && symbols->n && symbols->at[0].name;
}

/* The first frame is the VM's own function. */
static bool is_unnamed(const struct catalog *c, const struct snapshot_row *row)
{
	const struct stack *s = catalog_stack(c, row->stack);
	for (uint32_t i = 1; s && i < s->n; i++) {
		if (has_name(c, s, i))
			return false;
	}
	return s && s->n > 1;
}

static void add_names(const struct sink_input *in, struct buf *out)
{
	const struct snapshot *s = in->snapshot;
	size_t unnamed = 0, rows = 0;
	for (size_t i = 0; i < s->n; i++) {
		rows += s->rows[i].t.placed > 0;
		unnamed += s->rows[i].t.placed > 0 && is_unnamed(in->catalog, &s->rows[i]);
	}
	if (unnamed && unnamed > rows / 2)
		buf_adds(out, "Erlang functions have no names: start the VM with +JPperf true (or ERL_FLAGS=\"+JPperf true\"), "
			      "which writes "
			      "them to /tmp/perf-PID.map\n");
}

/* Neither where the VM's own count was not found. */
static void add_generations(const struct catalog *c, struct buf *out)
{
	uint64_t minor = catalog_count(c, "heap-minor"), major = catalog_count(c, "heap-major");
	if (!minor && !major)
		return;
	buf_adds(out, "of these collections ");
	text_count(out, minor);
	buf_adds(out, " were minor, ");
	text_count(out, major);
	buf_adds(out, " major\n");
}

/* Of calls that collect, one in 16 at random. */
static void add_times(const struct catalog *c, struct buf *out)
{
	double n = (double)catalog_count(c, "heap-timed");
	if (n < 2)
		return;
	double mean = (double)catalog_count(c, "heap-time") / n,
	       squares = (double)catalog_count(c, "heap-time-squares") * TIME_UNIT * TIME_UNIT / n;
	double error = sqrt(fmax(squares - mean * mean, 0) / n);
	buf_addf(out, "a collection took %.1f us on average, +- %.1f, by ", mean / 1000, error / 1000);
	text_count(out, (uint64_t)n);
	buf_adds(out, " that were timed\n");
}

/* Of collections that were met, whether their heap-fulls were recorded or passed over by the sampler. */
static void add_collections(const struct catalog *c, struct buf *out)
{
	uint64_t met = catalog_count(c, "heap-collections"), grown = catalog_count(c, "heap-grown");
	if (!met)
		return;
	buf_adds(out, "after a collection survivors took ");
	text_bytes(out, (double)catalog_count(c, "heap-survivors") / (double)met);
	buf_adds(out, " of the young heap on average; ");
	text_count(out, grown);
	buf_adds(out, " of ");
	text_count(out, met);
	buf_adds(out, " gave their process a larger one\n");
	add_generations(c, out);
	add_times(c, out);
}

/* Where each heap-full belongs is a sample; how many bytes there are is not. */
void format_heapfuls(const struct sink_input *in, struct buf *out)
{
	const struct heap_facts *f = &in->snapshot->facts;
	if (!f->heapfuls)
		return;
	buf_addf(out,
		 "Erlang heaps: when a process filled its heap or ended, all that it had allocated since counts at that stack; "
		 "+- is "
		 "the standard error of that, from %" PRIu64 " different cases among %" PRIu64 "\n",
		 f->heapful_cases, f->heapfuls);
	if (f->heapful_cases < f->heapfuls / IN_STEP)
		buf_adds(out, "most cases repeat others: processes are in step with their heaps, which says little about single "
			      "functions; --inclusive has their callers\n");
	add_collections(in->catalog, out);
	add_names(in, out);
}
