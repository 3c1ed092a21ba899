/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/massif: live bytes over time, and by call stack (from the allocating function outwards) at the peak and at the
 * end, in massif's format, for ms_print and massif-visualizer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/format.h"
#include "format/paths.h"
#include "sink/registry.h"

/* As in massif: number of snapshots, nodes below 1/THRESHOLD of the total are merged, depth of the tree. */
#define SNAPSHOTS 100
#define THRESHOLD 100
#define DEPTH 30

struct leaf {
	uint32_t path;
	double sz;
};

struct node {
	size_t first, n; /* range in leaves */
	double sz;
};

struct massif {
	const struct sink_input *in;
	struct paths paths;
	struct leaf *leaves;
	size_t leaves_cnt, leaves_cap;
	struct buf buf;
	unsigned int snapshots;
	bool failed;
};

static int compare_paths(const void *a, const void *b, void *ctx)
{
	const struct paths *p = ctx;
	uint32_t x = ((const struct leaf *)a)->path, y = ((const struct leaf *)b)->path;
	size_t nx = paths_depth(p, x), ny = paths_depth(p, y);
	for (size_t i = 0; i < nx && i < ny; i++) {
		uint32_t fx = paths_frame(p, x, i), fy = paths_frame(p, y, i);
		if (fx != fy)
			return fx < fy ? -1 : 1;
	}
	return (nx > ny) - (nx < ny);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	if (x->sz != y->sz)
		return x->sz < y->sz ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

struct nodes {
	struct node *at;
	size_t at_cnt, at_cap;
};

/* Groups leaves that agree up to this depth by their next caller, largest first. */
static int split(const struct massif *m, const struct node *of, size_t depth, struct nodes *out)
{
	uint32_t frame = 0;
	for (size_t i = of->first; i < of->first + of->n; i++) {
		if (paths_depth(&m->paths, m->leaves[i].path) <= depth)
			continue;
		uint32_t own = paths_frame(&m->paths, m->leaves[i].path, depth);
		struct node *node = out->at_cnt && own == frame ? &out->at[out->at_cnt - 1] : NULL;
		if (!node && !(node = VEC_PUSH(out, at)))
			return -ENOMEM;
		if (!node->n)
			node->first = i;
		node->n = i + 1 - node->first;
		node->sz += m->leaves[i].sz;
		frame = own;
	}
	if (out->at_cnt)
		qsort(out->at, out->at_cnt, sizeof(*out->at), compare_nodes);
	return 0;
}

static void put_line(struct massif *m, size_t depth, size_t children, double sz, const char *label)
{
	buf_addf(&m->buf, "%*sn%zu: %.0f %s\n", (int)depth, "", children, sz, label);
}

static void put_rest(struct massif *m, const struct nodes *of, size_t shown, size_t depth)
{
	char label[80];
	double sz = 0;
	for (size_t i = shown; i < of->at_cnt; i++)
		sz += of->at[i].sz;
	snprintf(label, sizeof(label), "in %zu place%s, all below massif's threshold (%.2f%%)", of->at_cnt - shown,
		 of->at_cnt - shown > 1 ? "s" : "", 100.0 / THRESHOLD);
	if (of->at_cnt > shown)
		put_line(m, depth, 0, sz, label);
}

static void put_tree(struct massif *m, const struct node *node, size_t depth, double all, const char *label)
{
	struct nodes below = { 0 };
	size_t shown = 0;
	if (depth < DEPTH && split(m, node, depth, &below))
		m->failed = true;
	while (shown < below.at_cnt && below.at[shown].sz * THRESHOLD >= all)
		shown++;
	put_line(m, depth, shown + (shown < below.at_cnt), node->sz, label);
	for (size_t i = 0; i < shown; i++) {
		uint32_t path = m->leaves[below.at[i].first].path;
		put_tree(m, &below.at[i], depth + 1, all, paths_label(&m->paths, paths_frame(&m->paths, path, depth)));
	}
	put_rest(m, &below, shown, depth + 1);
	free(below.at);
}

static int gather(struct massif *m, bool peak)
{
	const struct snapshot *s = m->in->snapshot;
	m->leaves_cnt = 0;
	for (size_t i = 0; i < s->n; i++) {
		uint32_t path = paths_of(&m->paths, s->rows[i].stack);
		double sz = peak ? s->peak[i].sz : s->rows[i].t.est_live_sz;
		struct leaf *leaf = path == NAMES_FAILED ? NULL : VEC_PUSH(m, leaves);
		if (!leaf)
			return -ENOMEM;
		*leaf = (struct leaf){ path, sz };
		m->leaves_cnt -= !(sz >= 1);
	}
	if (m->leaves_cnt)
		qsort_r(m->leaves, m->leaves_cnt, sizeof(*m->leaves), compare_paths, &m->paths);
	return 0;
}

static void put_snapshot(struct massif *m, uint64_t ns, double sz, const char *tree)
{
	uint64_t first = m->in->snapshot->timeline.first_ns;
	buf_addf(&m->buf, "#-----------\nsnapshot=%u\n#-----------\n", m->snapshots++);
	buf_addf(&m->buf, "time=%" PRIu64 "\nmem_heap_B=%.0f\n", ns > first ? (ns - first) / 1000000 : 0, sz);
	buf_addf(&m->buf, "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n", tree);
}

static void put_detail(struct massif *m, uint64_t ns, bool peak)
{
	struct node root = { 0 };
	if (gather(m, peak))
		m->failed = true;
	root.n = m->leaves_cnt;
	for (size_t i = 0; i < root.n; i++)
		root.sz += m->leaves[i].sz;
	put_snapshot(m, ns, root.sz, peak ? "peak" : "detailed");
	put_tree(m, &root, 0, root.sz, "(heap allocation functions) as recorded by alys-bpf");
}

static void put_timeline(struct massif *m)
{
	const struct snapshot *s = m->in->snapshot;
	const struct timeline *t = &s->timeline;
	size_t step = t->n / SNAPSHOTS + 1;
	bool peak_done = !s->peak_sz;
	put_snapshot(m, t->first_ns, 0, "empty");
	for (size_t i = 0; i < t->n; i += step) {
		size_t last = i + step < t->n ? i + step - 1 : t->n - 1;
		uint64_t ns = t->first_ns + (last + 1) * t->slice_ns;
		if (!peak_done && s->peak_ns <= ns) {
			put_detail(m, s->peak_ns, true);
			peak_done = true;
		}
		if (last + 1 < t->n)
			put_snapshot(m, ns, t->at[last].live_sz, "empty");
	}
	if (s->n)
		put_detail(m, s->facts.last_ns, false);
}

static void put_head(struct massif *m)
{
	struct buf notes = { 0 };
	format_notes(m->in, &notes);
	format_errors(m->in, &notes);
	for (size_t i = 0; i < notes.len; i++)
		notes.data[i] = notes.data[i] == '\n' ? ';' : notes.data[i];
	buf_addf(&m->buf, "desc: recorded by alys-bpf: %s\ncmd: ", buf_str(&notes));
	format_command(m->in->catalog, &m->buf);
	buf_adds(&m->buf, "\ntime_unit: ms\n");
	m->failed |= notes.failed;
	buf_free(&notes);
}

static int massif_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct massif m = { .in = in };
	enum value v;
	int rc = value_choose(in->options, VALUE_INUSE_SPACE, &v, err);
	if (!rc && v != VALUE_INUSE_SPACE)
		rc = err_set(err, EINVAL,
			     "massif shows bytes in use only: leave out --value, or use "
			     "-f speedscope, which has all four");
	if (rc)
		return rc;
	m.paths = (struct paths){ in->catalog, in->options, .label = paths_label_valgrind };
	put_head(&m);
	put_timeline(&m);
	rc = m.failed ? err_set(err, ENOMEM, "out of memory for the stacks") : format_flush(out, &m.buf, err);
	paths_free(&m.paths);
	buf_free(&m.buf);
	free(m.leaves);
	return rc;
}

const struct sink_ops sink_massif = {
	.name = "massif",
	.ext = ".massif",
	.mime = "text/plain; charset=utf-8",
	.watch = HEAP_PEAK | HEAP_TIMELINE,
	.render = massif_render,
};
