/* SPDX-License-Identifier: Apache-2.0 */
/* top/view: rows and keys; see view.h. */
#include "top/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void view_begin(struct view *v, uint32_t pid)
{
	*v = (struct view){ .pid = pid, .fixed = pid, .by = pid ? VIEW_SITES : VIEW_PROCESSES, .feed.note = "", .page = 1 };
}

void view_free(struct view *v)
{
	feed_free(&v->feed);
	buf_free(&v->causes);
	map_free(&v->past_index);
	free(v->past);
	free(v->rows);
	*v = (struct view){ 0 };
}

/* --- rows -------------------------------------------------------------------------------------- */

static bool matches(const struct view *v, const char *text)
{
	return strcasestr(text, v->filter);
}

bool view_wants(const struct view *v, const struct feed_stack *s)
{
	if (v->pid && s->pid != v->pid)
		return false;
	if (!*v->filter || matches(v, s->type))
		return true;
	for (uint32_t i = 0; i < s->frames_cnt; i++) {
		const struct feed_frame *f = &v->feed.frames[v->feed.path[s->first + i]];
		if (matches(v, f->name) || matches(v, f->place))
			return true;
	}
	return false;
}

static uint64_t hash(const char *a, const char *b)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (const char *const *text = (const char *const[]){ a, b, NULL }; *text; text++) {
		for (const char *c = *text; *c; c++)
			h = (h ^ (uint8_t)*c) * 0x100000001b3ull;
		h = (h ^ 0xff) * 0x100000001b3ull;
	}
	return h | 1; /* 0 is nobody */
}

static const struct feed_frame *site_of(const struct view *v, const struct feed_stack *s)
{
	return &v->feed.frames[v->feed.path[s->first]];
}

uint64_t view_row_of(const struct view *v, const struct feed_stack *s)
{
	const struct feed_frame *f = site_of(v, s);
	return v->by == VIEW_TYPES ? hash(s->type, "") : hash(f->name, f->place);
}

static struct view_row *row_at(struct view *v, struct map *index, uint64_t key)
{
	uint64_t *place = map_put(index, key);
	if (!place)
		return NULL;
	if (*place)
		return &v->rows[*place - 1];
	struct view_row *r = VEC_PUSH(v, rows);
	if (!r)
		return NULL;
	*place = v->rows_cnt;
	r->key = key;
	return r;
}

static void add_stack(struct view *v, struct map *index, const struct feed_stack *s)
{
	const struct feed_frame *f = site_of(v, s);
	const struct past *p = view_past(v, s->key);
	struct view_row *r = row_at(v, index, view_row_of(v, s));
	if (!r)
		return;
	bool types = v->by == VIEW_TYPES;
	r->name = types ? s->type : f->name;
	r->place = types ? "" : f->place;
	r->type = !r->type || !strcmp(r->type, s->type) ? s->type : "several";
	v->typed |= strcmp(s->type, "[no type]") != 0;
	r->pid = s->pid;
	r->live_sz += s->live_sz;
	r->live_cnt += s->live_cnt;
	r->var += s->error * s->error;
	r->rate_sz += p ? p->rate_sz : 0;
	r->rate_cnt += p ? p->rate_cnt : 0;
	r->growth += p ? p->growth : 0;
	r->stacks_cnt++;
}

static void add_process(struct view *v, const struct feed_process *f)
{
	const struct past *p = view_past(v, view_process_key(f->pid));
	char pid[16];
	snprintf(pid, sizeof(pid), "%u", f->pid);
	if (*v->filter && !matches(v, f->comm) && !matches(v, f->exe) && !matches(v, pid))
		return;
	struct view_row *r = VEC_PUSH(v, rows);
	if (!r)
		return;
	*r = (struct view_row){ .key = view_process_key(f->pid),
				.pid = f->pid,
				.name = f->comm,
				.place = f->exe,
				.type = "",
				.live_sz = f->live_sz,
				.live_cnt = f->live_cnt,
				.var = f->error * f->error,
				.rate_sz = p ? p->rate_sz : 0,
				.rate_cnt = p ? p->rate_cnt : 0,
				.growth = p ? p->growth : 0 };
}

static double value_of(const struct view_row *r, enum view_sort sort)
{
	return sort == SORT_RATE ? r->rate_sz : sort == SORT_GROWTH ? r->growth : sort == SORT_BLOCKS ? r->live_cnt : r->live_sz;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct view *v = ctx;
	const struct view_row *x = a, *y = b;
	double vx = value_of(x, v->sort), vy = value_of(y, v->sort);
	int order = v->sort != SORT_NAME && vx != vy ? (vx < vy ? 1 : -1) : strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->place, y->place);
	if (!order)
		order = x->pid < y->pid ? -1 : x->pid > y->pid;
	return v->turned ? -order : order;
}

void view_rows(struct view *v)
{
	struct map index = { 0 };
	v->rows_cnt = 0;
	v->typed = false;
	if (v->by == VIEW_PROCESSES) {
		for (size_t i = 0; i < v->feed.processes_cnt; i++)
			add_process(v, &v->feed.processes[i]);
	} else {
		for (size_t i = 0; i < v->feed.stacks_cnt; i++) {
			if (view_wants(v, &v->feed.stacks[i]))
				add_stack(v, &index, &v->feed.stacks[i]);
		}
	}
	map_free(&index);
	if (v->rows_cnt)
		qsort_r(v->rows, v->rows_cnt, sizeof(*v->rows), compare, v);
}

/* --- keys -------------------------------------------------------------------------------------- */

static size_t chosen_place(const struct view *v)
{
	for (size_t i = 0; i < v->rows_cnt; i++) {
		if (v->rows[i].key == v->chosen)
			return i;
	}
	return 0;
}

/* Scrolls a stack that is longer than the screen, before moving to another row. */
static bool move_in_stack(struct view *v, long by)
{
	if (!v->expanded || !v->rows_cnt || v->rows[chosen_place(v)].key != v->expanded)
		return false;
	long room = by < 0 ? (long)v->from : (long)v->below, most = v->shown ? (long)v->shown : 1;
	long steps = labs(by) < most ? labs(by) : most;
	steps = steps < room ? steps : room;
	v->from = (uint32_t)((long)v->from + (by < 0 ? -steps : steps));
	return room;
}

static void turn_to_stack(struct view *v, uint32_t which)
{
	v->which = which;
	v->from = 0;
}

static void move(struct view *v, long by)
{
	long at = (long)chosen_place(v) + by;
	if (!v->rows_cnt)
		return;
	at = at < 0 ? 0 : at >= (long)v->rows_cnt ? (long)v->rows_cnt - 1 : at;
	v->chosen = v->rows[at].key;
}

static void show_by(struct view *v, enum view_by by)
{
	v->by = by;
	v->chosen = v->expanded = 0;
	v->scroll = 0;
	view_rows(v);
}

static void enter(struct view *v)
{
	if (!v->rows_cnt)
		return;
	const struct view_row *r = &v->rows[chosen_place(v)];
	if (v->by == VIEW_PROCESSES) {
		v->pid = r->pid;
		show_by(v, VIEW_SITES);
		return;
	}
	v->chosen = r->key;
	v->expanded = v->expanded == r->key ? 0 : r->key;
	turn_to_stack(v, 0);
}

/* Closes the stack, else the filter, else the process. */
static void leave(struct view *v)
{
	if (v->expanded) {
		v->expanded = 0;
	} else if (*v->filter) {
		*v->filter = 0;
		view_rows(v);
	} else if (v->pid != v->fixed) {
		uint32_t pid = v->pid;
		v->pid = v->fixed;
		show_by(v, VIEW_PROCESSES);
		v->chosen = view_process_key(pid);
	}
}

static void type_filter(struct view *v, int key)
{
	size_t len = strlen(v->filter);
	if (key == VIEW_ENTER || key == VIEW_ESCAPE) {
		v->typing = false;
		if (key == VIEW_ESCAPE)
			*v->filter = 0;
	} else if (key == VIEW_ERASE && len) {
		v->filter[len - 1] = 0;
	} else if (key >= ' ' && key < 0x7f && len < FILTER_MAX) {
		v->filter[len] = (char)key;
		v->filter[len + 1] = 0;
	}
	view_rows(v);
}

static void sort_by(struct view *v, enum view_sort sort)
{
	v->sort = sort;
	v->turned = false;
	view_rows(v);
}

static void step(struct view *v, long by)
{
	if (!move_in_stack(v, by))
		move(v, by);
}

static bool move_key(struct view *v, int key)
{
	switch (key) {
	case VIEW_UP:
	case 'k': step(v, -1); return true;
	case VIEW_DOWN:
	case 'j': step(v, 1); return true;
	case VIEW_PAGE_UP: step(v, -v->page); return true;
	case VIEW_PAGE_DOWN: step(v, v->page); return true;
	case VIEW_HOME: move(v, -(long)v->rows_cnt); return true;
	case VIEW_END: move(v, (long)v->rows_cnt); return true;
	case VIEW_LEFT: turn_to_stack(v, v->which - (v->which > 0)); return true;
	case VIEW_RIGHT:
		turn_to_stack(v, v->which + 1); /* draw.c limits it to the number of stacks */
		return true;
	default: return false;
	}
}

static bool sort_key(struct view *v, int key)
{
	static const char keys[] = "lagbn"; /* in the order of enum view_sort */
	const char *found = key > 0 && key < 0x7f ? strchr(keys, key) : NULL;
	if (found)
		sort_by(v, (enum view_sort)(found - keys));
	else if (key == 's')
		sort_by(v, (v->sort + 1) % SORT_CNT);
	else
		return false;
	return true;
}

bool view_key(struct view *v, int key)
{
	if (v->typing) {
		type_filter(v, key);
		return true;
	}
	if (v->help) {
		v->help = false;
		return key != 'q';
	}
	if (move_key(v, key) || sort_key(v, key))
		return true;
	switch (key) {
	case 'q': return false;
	case VIEW_ENTER: enter(v); break;
	case VIEW_ESCAPE:
	case VIEW_ERASE: leave(v); break;
	case VIEW_TAB:
		/* Skips the list of processes if one is selected. */
		show_by(v, v->by == VIEW_SITES ? VIEW_TYPES : v->by == VIEW_TYPES && !v->pid ? VIEW_PROCESSES : VIEW_SITES);
		break;
	case 'r':
		v->turned = !v->turned;
		view_rows(v);
		break;
	case 'p':
	case ' ': v->paused = !v->paused; break;
	case '/': v->typing = true; break;
	case 'h':
	case '?': v->help = true; break;
	default: break;
	}
	return true;
}
