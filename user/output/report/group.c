/* SPDX-License-Identifier: Apache-2.0 */
/* report/group: see group.h. */
#include "report/group.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalog/attributes.h"
#include "base/vec.h"
#include "format/heapful_notes.h"
#include "format/type.h"
#include "report/facts.h"

/* State of one pass over the rows. */
struct gathering {
	struct groups *g;
	struct filter filter;
	struct sink_options cut, whole;
	struct sink_stack stack, uncut;
	struct buf label;
	struct map seen; /* label -> number of the row that had it last, so that recursion is counted once */
	bool met;        /* some row had the requested type or function */
	bool valued;     /* some row had a value, before filters */
};

enum report_by report_by_of(const struct report_options *o)
{
	if (o->by != BY_STANDARD)
		return o->by;
	if (o->type)
		return BY_STACK;
	return o->callers || o->callees || o->inclusive ? BY_FUNCTION : BY_SITE;
}

enum report_show report_show_of(const struct report_options *o, const struct report_input *in)
{
	if (o->show != SHOW_STANDARD)
		return o->show;
	/* If frees are not recorded, live bytes only grow, so they are not shown. */
	return o->type || format_unseen_frees(in->catalog) || format_all_heapfuls(in->snapshot) ? SHOW_ALLOC : SHOW_LIVE;
}

unsigned int report_needs(const struct report_options *o)
{
	static const unsigned int of_show[] = {
		[SHOW_PEAK] = HEAP_PEAK,     [SHOW_TEMPORARY] = HEAP_LIFETIMES,
		[SHOW_LEAKED] = HEAP_GROWTH, [SHOW_FREED] = HEAP_LIFETIMES,
		[SHOW_STANDARD] = 0,
	};
	static const unsigned int of_by[] = {
		[BY_SIZE] = HEAP_BY_SIZE,
		[BY_THREAD] = HEAP_BY_THREAD,
		[BY_ERLANG_PROCESS] = HEAP_BY_ERLANG_PROCESS,
		[BY_TIME] = HEAP_TIMELINE,
		[BY_STANDARD] = 0,
	};
	return of_show[o->show] | of_by[o->by];
}

static struct group value_of_row(const struct groups *g, size_t i)
{
	const struct snapshot *s = g->in->snapshot;
	const struct totals *t = &s->rows[i].t;
	switch (g->show) {
	case SHOW_ALLOC:
		return (struct group){ .cnt = t->est_alloc_cnt, .sz = t->est_alloc_sz, .off = snapshot_spread(s, i, ALLOC_SZ) };
	case SHOW_PEAK:
		/* What windows do to the variance is in it already: no allowance for few samples on top. */
		return (struct group){ .cnt = s->peak[i].cnt,
				       .sz = s->peak[i].sz,
				       .off = { .sum = s->clusters ? 0 : s->peak[i].sz, .var = s->peak[i].var } };
	case SHOW_TEMPORARY:
		return (struct group){ .cnt = s->lifetimes[i].temp_cnt,
				       .sz = s->lifetimes[i].temp_sz,
				       .of_cnt = t->est_alloc_cnt };
	case SHOW_FREED:
		return (struct group){ .cnt = s->lifetimes[i].freed_cnt,
				       .sz = s->lifetimes[i].freed_sz,
				       .off = { .sum = s->lifetimes[i].freed_sz, .var = s->lifetimes[i].freed_var } };
	default: return (struct group){ .cnt = t->est_live_cnt, .sz = t->est_live_sz, .off = snapshot_spread(s, i, LIVE_SZ) };
	}
}

static void add_value(struct group *to, const struct group *v)
{
	to->cnt += v->cnt;
	to->sz += v->sz;
	spread_add(&to->off, &v->off);
	to->of_cnt += v->of_cnt;
}

static void add_lives(struct lifetime_row *to, const struct lifetime_row *r)
{
	to->freed_cnt += r->freed_cnt;
	to->life_ns += r->life_ns;
	to->moved_cnt += r->moved_cnt;
	to->moved_sz += r->moved_sz;
	for (size_t i = 0; i < AGE_CNT; i++)
		to->lives[i] += r->lives[i];
}

/* Adds the row's value to the total; false if the row is left out. */
static bool counts(struct gathering *w, size_t row, const struct group *v)
{
	bool young = w->g->in->snapshot->rows[row].young;
	add_value(young ? &w->g->young : &w->g->all, v);
	return !young;
}

/* Adds the row's value to the group whose label is in w->label. */
static int add_to_group(struct gathering *w, size_t row, const struct group *v)
{
	struct groups *g = w->g;
	uint32_t label = w->label.failed ? NAMES_FAILED : names_put(&g->labels, w->label.data, w->label.len);
	if (label == NAMES_FAILED)
		return -ENOMEM;
	uint64_t *seen = map_put(&w->seen, label);
	struct group *to = label < g->at_cnt ? &g->at[label] : VEC_PUSH(g, at);
	if (!seen || !to)
		return -ENOMEM;
	if (g->show == SHOW_LEAKED && label == g->growth_cnt && !VEC_PUSH(g, growth))
		return -ENOMEM;
	if (g->show == SHOW_FREED && label == g->lives_cnt && !VEC_PUSH(g, lives))
		return -ENOMEM;
	if (*seen == row + 1)
		return 0;
	*seen = row + 1;
	to->label = label;
	add_value(to, v);
	if (g->show == SHOW_LEAKED)
		growth_row_add(&g->growth[label], &g->in->snapshot->growth[row]);
	if (g->show == SHOW_FREED)
		add_lives(&g->lives[label], &g->in->snapshot->lifetimes[row]);
	return 0;
}

static void label_stack(const struct gathering *w, struct buf *out)
{
	const struct report_options *o = w->g->o;
	size_t n = w->stack.frames_cnt, end = o->depth && o->depth < n ? o->depth : n;
	for (size_t i = 0; i < end; i++) {
		if (i)
			buf_u8(out, '\n');
		frame_text(&w->stack.frames[i], out);
		if (o->format == FORMAT_TEXT && w->stack.frames[i].inlined)
			buf_adds(out, " (inlined)");
	}
}

/* As Erlang writes it, if it is known. */
static void label_erlang_process(const struct gathering *w, const struct snapshot_row *row, struct buf *out)
{
	uint64_t process = row->split;
	const struct erlang_process *named = catalog_erlang_process(w->g->in->catalog, row->proc, process);
	uint64_t pid = process >> EVENT_PID_TAG_BITS;
	bool known = (process & ((1 << EVENT_PID_TAG_BITS) - 1)) == EVENT_PID_TAG;
	if (!process)
		buf_adds(out, " [on no heap of a process]");
	else if (known)
		buf_addf(out, " <0.%" PRIu64 ".%" PRIu64 ">", pid & ((1 << EVENT_PID_NUMBER_BITS) - 1),
			 pid >> EVENT_PID_NUMBER_BITS);
	else
		buf_addf(out, " process at 0x%" PRIx64, process);
	if (!named)
		return;
	buf_u8(out, ' ');
	text_clean(out, named->name, SIZE_MAX);
}

static void label_process(const struct gathering *w, const struct snapshot_row *row, struct buf *out)
{
	const struct proc *p = catalog_proc(w->g->in->catalog, row->proc);
	if (p && p->comm)
		text_clean(out, p->comm, SIZE_MAX);
	else
		buf_adds(out, "[unknown]");
	if (p)
		buf_addf(out, " (%" PRIu32 ")", p->tgid);
	if (w->g->by == BY_THREAD)
		buf_addf(out, " thread %" PRIu64, row->split);
	if (w->g->by == BY_ERLANG_PROCESS)
		label_erlang_process(w, row, out);
}

/* What an attribute says, or `otherwise`. */
static void label_attribute(const struct proc *p, const char *name, const char *otherwise, struct buf *out)
{
	struct attribute a;
	text_clean(out, p && attributes_get(p->attributes, name, &a) ? a.value : otherwise, SIZE_MAX);
}

static void label_row(const struct gathering *w, const struct snapshot_row *row, struct buf *out)
{
	const struct sink_frame *leaf = w->stack.frames;
	const struct proc *p = catalog_proc(w->g->in->catalog, row->proc);
	switch (w->g->by) {
	case BY_STACK: label_stack(w, out); break;
	case BY_FUNCTION: sink_frame_name(leaf, out); break;
	case BY_FILE: frame_file(leaf, out); break;
	case BY_LIBRARY: frame_library(leaf, out); break;
	case BY_TYPE: type_of(&w->uncut, out); break;
	case BY_SIZE: buf_addf(out, "%" PRIu64, row->split); break;
	case BY_THREAD:
	case BY_ERLANG_PROCESS:
	case BY_PROCESS: label_process(w, row, out); break;
	case BY_SERVICE: label_attribute(p, "service.name", p && *p->comm ? p->comm : "[unknown]", out); break;
	case BY_CONTAINER: label_attribute(p, "container.id", "[no container]", out); break;
	default: frame_site(leaf, out);
	}
}

/* Whether the displayed name of frame i is this one. */
static bool is_named(struct gathering *w, size_t i, const char *name)
{
	buf_reset(&w->label);
	sink_frame_name(&w->stack.frames[i], &w->label);
	return !strcmp(buf_str(&w->label), name);
}

/* With recursion, the outermost frame of the function has the caller, the innermost the callee. */
static int add_relative(struct gathering *w, size_t row, const struct group *v)
{
	bool caller = w->g->o->callers;
	const char *function = caller ? w->g->o->callers : w->g->o->callees;
	size_t n = w->stack.frames_cnt, at = n;
	for (size_t i = 0; i < n && (caller || at == n); i++)
		at = is_named(w, i, function) ? i : at;
	if (at == n)
		return 0;
	w->met = true;
	if (!counts(w, row, v))
		return 0;
	buf_reset(&w->label);
	if (caller && at + 1 < n)
		sink_frame_name(&w->stack.frames[at + 1], &w->label);
	else if (!caller && at)
		sink_frame_name(&w->stack.frames[at - 1], &w->label);
	else
		buf_adds(&w->label, caller ? "[no caller]" : "[itself]");
	return add_to_group(w, row, v);
}

static int add_functions(struct gathering *w, size_t row, const struct group *v)
{
	int rc = 0;
	if (!counts(w, row, v))
		return 0;
	for (size_t i = 0; !rc && i < w->stack.frames_cnt; i++) {
		buf_reset(&w->label);
		sink_frame_name(&w->stack.frames[i], &w->label);
		rc = add_to_group(w, row, v);
	}
	return rc;
}

static bool is_of_type(struct gathering *w, const char *type)
{
	buf_reset(&w->label);
	type_of(&w->uncut, &w->label);
	return !strcmp(buf_str(&w->label), type);
}

static int add_wanted(struct gathering *w, size_t row, const struct group *v)
{
	const struct report_options *o = w->g->o;
	if (o->type && !is_of_type(w, o->type))
		return 0;
	w->met |= o->type != NULL;
	if (o->callers || o->callees)
		return add_relative(w, row, v);
	if (o->inclusive)
		return add_functions(w, row, v);
	if (!counts(w, row, v))
		return 0;
	buf_reset(&w->label);
	label_row(w, &w->g->in->snapshot->rows[row], &w->label);
	return add_to_group(w, row, v);
}

static bool is_of_process(const struct groups *g, const struct snapshot_row *row)
{
	const struct proc *p = g->o->pid ? catalog_proc(g->in->catalog, row->proc) : NULL;
	return !g->o->pid || (p && p->tgid == g->o->pid);
}

static int add_row(struct gathering *w, size_t i)
{
	const struct report_input *in = w->g->in;
	struct group v = value_of_row(w->g, i);
	if ((!(v.cnt > 0) && !(v.of_cnt > 0)) || !is_of_process(w->g, &in->snapshot->rows[i]))
		return 0;
	w->valued = true;
	int rc = sink_stack_of(in->catalog, &w->cut, in->snapshot->rows[i].stack, &w->stack);
	if (!rc && (w->g->by == BY_TYPE || w->g->o->type))
		rc = sink_stack_of(in->catalog, &w->whole, in->snapshot->rows[i].stack, &w->uncut);
	return rc || !filter_wants(&w->filter, &w->stack) ? rc : add_wanted(w, i, &v);
}

static bool is_about_stacks(const struct groups *g)
{
	return g->by < BY_SIZE || g->o->type || g->o->focus || g->o->ignore;
}

/* Checks that concern the trace as a whole, before rows are read. */
static int check(const struct groups *g, struct err *err)
{
	const struct snapshot *s = g->in->snapshot;
	size_t stacks = 0, rows = 0;
	for (size_t i = 0; i < s->n; i++) {
		stacks += s->rows[i].stack.n != 0;
		rows += is_of_process(g, &s->rows[i]);
	}
	if (!s->all.alloc_cnt && !s->facts.carried)
		return report_refuse_empty(g->in, err);
	if (!rows)
		return err_set(err, ENOENT,
			       "process %" PRIu32 " has no allocation in the trace: `alys-bpf info` lists its processes",
			       g->o->pid);
	if (g->by == BY_ERLANG_PROCESS && !s->facts.heapfuls)
		return err_set(
			err, ENOENT,
			"no heap of an Erlang process is in the trace: record an Erlang VM, and not with an --allocator that "
			"leaves out beam");
	if (g->show == SHOW_TEMPORARY && s->facts.sampled)
		return err_set(err, EINVAL,
			       "temporary blocks cannot be recognized in samples: --show freed has how long "
			       "blocks lived, or record without --sample");
	if (!stacks && is_about_stacks(g))
		return err_set(
			err, ENOENT,
			"the trace has no call stacks: use --by size, thread, process, service, container or time, or record "
			"without --backtrace none");
	return 0;
}

static const char *passed_over(const struct report_options *o)
{
	return o->skip.keep_known && !o->skip.patterns_cnt ? "" : "; --no-skip keeps wrappers of the allocator";
}

static int nothing_older(const struct groups *g, struct err *err)
{
	struct buf note = { 0 };
	put_left_out(g->in, g->young.cnt, g->young.sz, sqrt(spread_var(&g->young.off)), &note);
	int rc = err_set(err, ENODATA, "nothing older is live: %s", buf_str(&note));
	buf_free(&note);
	return rc;
}

static int nothing_found(const struct gathering *w, struct err *err)
{
	const struct report_options *o = w->g->o;
	static const char *const what[] = {
		[SHOW_LIVE] = "nothing is live: all blocks were freed; --show alloc has what was allocated",
		[SHOW_ALLOC] = "nothing was allocated there",
		[SHOW_PEAK] = "nothing was live at the peak",
		[SHOW_TEMPORARY] = "no allocation was temporary",
		[SHOW_LEAKED] = "nothing leaked: all blocks were freed",
		[SHOW_FREED] = "no block was freed",
	};
	if (!w->valued)
		return err_set(err, ENODATA, "%s", what[w->g->show]);
	if (o->type && !w->met)
		return err_set(err, ENOENT, "no allocation is of type \"%.200s\": `report --by type` lists the types", o->type);
	if ((o->callers || o->callees) && !w->met)
		return err_set(err, ENOENT, "no stack has a function \"%.200s\": `report --by function --inclusive` lists them%s",
			       o->callers ?: o->callees, passed_over(o));
	if (w->g->young.cnt > 0)
		return nothing_older(w->g, err);
	if (w->filter.has_focus || w->filter.has_ignore)
		return err_set(err, ENOENT, "no stack passes --focus and --ignore%s", passed_over(o));
	return err_set(err, ENODATA, "%s", what[w->g->show]);
}

static int gather(struct gathering *w, struct err *err)
{
	int rc = filter_open(&w->filter, w->g->o, err);
	for (size_t i = 0; !rc && i < w->g->in->snapshot->n; i++) {
		rc = add_row(w, i);
		if (rc)
			err_set(err, -rc, "out of memory for the report");
	}
	return rc || w->g->all.cnt > 0 ? rc : nothing_found(w, err);
}

/* Also a function that allocates nothing has a row, unless only some stacks were asked for. */
static int add_called(struct gathering *w, const char *name, uint64_t calls)
{
	struct groups *g = w->g;
	const struct report_options *o = g->o;
	uint32_t label = names_put(&g->labels, name, strlen(name));
	if (label == NAMES_FAILED)
		return -ENOMEM;
	if (label == g->at_cnt) {
		struct group *made = VEC_PUSH(g, at);
		if (!made)
			return -ENOMEM;
		*made = (struct group){ .label = label };
	}
	g->at[label].calls = (double)calls;
	g->at[label].has_calls = g->at[label].cnt > 0 || (!o->type && !o->focus && !o->ignore);
	g->all.calls += g->at[label].has_calls ? (double)calls : 0;
	return 0;
}

/* Counts are of the whole recording. */
static int add_calls(struct gathering *w)
{
	const struct calls *k = &w->g->calls;
	int rc = 0;
	struct groups *g = w->g;
	g->all.has_calls = k->of_cnt && !g->in->part;
	for (uint32_t i = 0; !rc && i < k->of_cnt && !g->in->part; i++)
		rc = add_called(w, names_at(&k->names, i), k->of[i]);
	g->all_called = g->all.has_calls && !g->o->inclusive;
	for (size_t i = 0; i < g->at_cnt; i++)
		g->all_called &= g->at[i].has_calls || !(g->at[i].sz > 0);
	return rc;
}

static int fill(struct groups *g, struct err *err)
{
	const struct report_input *in = g->in;
	const struct report_options *o = g->o;
	struct gathering w = {
		.g = g,
		.cut = { .keep_allocator_frames = o->keep_allocator_frames },
		.whole = { .keep_allocator_frames = true },
	};
	struct skip skip = o->skip;
	int rc = check(g, err);
	if (!rc && g->counts_calls && calls_load(&g->calls, in->catalog, o->pid))
		rc = err_set(err, ENOMEM, "out of memory for the report");
	skip.kept = g->counts_calls ? &g->calls : NULL;
	w.cut.skip = &skip;
	if (!rc)
		rc = gather(&w, err);
	if (!rc && g->counts_calls && add_calls(&w))
		rc = err_set(err, ENOMEM, "out of memory for the report");
	filter_close(&w.filter);
	sink_stack_free(&w.stack);
	sink_stack_free(&w.uncut);
	buf_free(&w.label);
	map_free(&w.seen);
	return rc;
}

int groups_fill(struct groups *g, const struct report_input *in, const struct report_options *o, struct err *err)
{
	*g = (struct groups){ .in = in, .o = o, .by = report_by_of(o), .show = report_show_of(o, in) };
	return fill(g, err);
}

/* Bytes per call are those that calls allocated, if nothing else is asked for. */
int groups_fill_called(struct groups *g, const struct report_input *in, const struct report_options *o, struct err *err)
{
	*g = (struct groups){ .in = in, .o = o, .by = report_by_of(o), .show = report_show_of(o, in) };
	bool counted = g->by == BY_FUNCTION && !o->callers && !o->callees && calls_were_counted(in->catalog);
	if (counted && o->show == SHOW_STANDARD)
		g->show = SHOW_ALLOC;
	g->counts_calls = counted && g->show < SHOW_TEMPORARY;
	return fill(g, err);
}

int groups_fill_side(struct groups *g, const struct report_input *in, const struct report_options *o, struct err *err)
{
	struct err why = { 0 };
	int rc = groups_fill(g, in, o, &why);
	/* In a comparison, one side without any live memory is a valid result. */
	return rc && rc != -ENODATA ? err_set(err, -rc, "%s", why.text) : 0;
}

void groups_free(struct groups *g)
{
	names_free(&g->labels);
	free(g->at);
	free(g->growth);
	free(g->lives);
	calls_unload(&g->calls);
	*g = (struct groups){ 0 };
}
