/* SPDX-License-Identifier: Apache-2.0 */
/* top/draw: renders a view: four header lines, the third of which shows losses, rows, and a line of keys. See view.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/rules.h"
#include "top/view.h"

#define HEAD_ROWS 4
#define FOOT_ROWS 1
#define ERROR_COLS 5

/* "1.5M", "17": at most 7 columns. */
static void put_short(struct buf *out, double n, double unit, const char *suffixes, const char *sign)
{
	double size = fabs(n);
	while (size >= unit - 0.05 && suffixes[1]) {
		size /= unit;
		suffixes++;
	}
	buf_adds(out, n < 0 ? "-" : sign);
	buf_addf(out, *suffixes == ' ' ? "%.0f" : "%.1f", size);
	if (*suffixes != ' ')
		buf_u8(out, (uint8_t)*suffixes);
}

static void put_bytes(struct buf *out, double n, const char *sign)
{
	put_short(out, n, 1024, " KMGTPE", sign);
}

static void put_count(struct buf *out, double n)
{
	put_short(out, n, 1000, " kMGTPE", "");
}

static void put_cell(struct buf *line, double n, int cols, bool bytes, const char *sign)
{
	struct buf text = { 0 };
	if (bytes)
		put_bytes(&text, n, sign);
	else
		put_count(&text, n);
	screen_put(line, buf_str(&text), cols, true);
	buf_free(&text);
}

/* Relative standard error, "12%", at most 4 columns; blank if exact. */
static void put_error(struct buf *out, const char *before, double var, double of)
{
	if (var > 0 && of > 0)
		buf_addf(out, "%s%.0f%%", before, fmin(ceil(100 * sqrt(few_variance(var, of)) / of), 999));
}

/* Replaces the whole line. */
static void put_line(struct screen *s, int row, enum look look, struct buf *text)
{
	struct buf *line = screen_line(s, row, look);
	if (line)
		screen_put(line, buf_str(text), s->cols, false);
	buf_free(text);
}

static const struct feed_process *process_of(const struct view *v, uint32_t pid)
{
	for (size_t i = 0; i < v->feed.processes_cnt; i++) {
		if (v->feed.processes[i].pid == pid)
			return &v->feed.processes[i];
	}
	return NULL;
}

/* --- head -------------------------------------------------------------------------------------- */

/* Number of processes that are listed or have stacks in the rows. */
static size_t processes_shown(const struct view *v)
{
	struct map seen = { 0 };
	size_t n = 0;
	if (v->by == VIEW_PROCESSES)
		return v->rows_cnt;
	for (size_t i = 0; i < v->feed.stacks_cnt; i++) {
		uint64_t *at = view_wants(v, &v->feed.stacks[i]) ? map_put(&seen, v->feed.stacks[i].pid + 1ull) : NULL;
		n += at && !*at;
		if (at)
			*at = 1;
	}
	map_free(&seen);
	return n;
}

/* What is counted, and what that is called. */
static const struct {
	const char *of, *column, *rate, *each;
} subjects[SUBJECT_CNT] = {
	[SUBJECT_ALLOCATIONS] = { "", "BLOCKS", "ALLOC/S", "blocks" },
	[SUBJECT_PAGES] = { "resident pages of ", "PAGES", "TOUCH/S", "pages" },
	[SUBJECT_MAPPINGS] = { "mappings of ", "MAPS", "MAPPED/S", "mappings" },
};

static void draw_title(const struct view *v, struct screen *s)
{
	static const char *const nouns[] = { "process", "site", "type" };
	static const char *const sorts[] = { "live", "allocation rate", "growth", "blocks", "name" };
	const struct feed_process *p = v->pid ? process_of(v, v->pid) : NULL;
	struct buf t = { 0 };
	/* Most important first: narrow screens cut the end. */
	buf_addf(&t, "alys-bpf top%s",
		 v->waiting    ? " [WAITING]"
		 : v->ended    ? " [ENDED]"
		 : v->feed.off ? " [OFF]"
		 : v->paused   ? " [PAUSED]"
			       : "");
	if (v->late_s && !v->ended)
		buf_addf(&t, " [%u s OLD]", v->late_s);
	buf_addf(&t, ": %s", subjects[v->feed.subject].of);
	if (v->pid)
		buf_addf(&t, "process %u%s%s", v->pid, p ? " " : "", p ? p->comm : "");
	else if (*v->filter)
		buf_addf(&t, "%zu of %zu processes", processes_shown(v), v->feed.processes_cnt);
	else
		buf_addf(&t, "%zu process%s", v->feed.processes_cnt, v->feed.processes_cnt == 1 ? "" : "es");
	buf_addf(&t, ", by %s", nouns[v->by]);
	if (*v->filter)
		buf_addf(&t, ", /%s", v->filter);
	buf_addf(&t, ", largest %s %s", sorts[v->sort], v->turned ? "last" : "first");
	put_line(s, 0, LOOK_HEAD, &t);
}

static void add_row(struct view_row *to, const struct view_row *r)
{
	to->live_sz += r->live_sz;
	to->var += r->var;
	to->rate_sz += r->rate_sz;
	to->rate_cnt += r->rate_cnt;
	to->growth += r->growth;
}

/* Of the filtered rows, or of whole processes if there is no filter. */
static struct view_row sum_of(const struct view *v)
{
	struct view_row sum = { 0 };
	for (size_t i = 0; *v->filter && i < v->rows_cnt; i++)
		add_row(&sum, &v->rows[i]);
	for (size_t i = 0; !*v->filter && i < v->feed.processes_cnt; i++) {
		const struct feed_process *f = &v->feed.processes[i];
		const struct past *p = view_past(v, view_process_key(f->pid));
		struct view_row r = { .live_sz = f->live_sz, .var = f->error * f->error };
		if (v->pid && f->pid != v->pid)
			continue;
		if (p)
			r.rate_sz = p->rate_sz, r.rate_cnt = p->rate_cnt, r.growth = p->growth;
		add_row(&sum, &r);
	}
	return sum;
}

static void draw_sums(const struct view *v, struct screen *s)
{
	const struct view_row sum = sum_of(v);
	struct buf t = { 0 };
	buf_adds(&t, *v->filter ? "filtered: live " : "live ");
	put_bytes(&t, sum.live_sz, "");
	put_error(&t, " +-", sum.var, sum.live_sz);
	buf_adds(&t, ", ");
	put_bytes(&t, sum.growth, "+");
	buf_adds(&t, "/min; new ");
	put_bytes(&t, sum.rate_sz, "");
	buf_adds(&t, "/s, ");
	put_count(&t, sum.rate_cnt);
	buf_addf(&t, " %s/s", subjects[v->feed.subject].each);
	if (v->feed.interval) {
		buf_adds(&t, "; sampled by ");
		put_bytes(&t, (double)v->feed.interval, "");
	}
	put_line(s, 1, LOOK_PLAIN, &t);
}

static void draw_ledger(struct view *v, struct screen *s)
{
	struct buf t = { 0 };
	buf_adds(&t, "lost ");
	text_count(&t, (uint64_t)v->lost);
	buf_adds(&t, "; hits ");
	text_count(&t, (uint64_t)v->hits);
	buf_adds(&t, " = recorded ");
	text_count(&t, (uint64_t)v->recorded);
	buf_adds(&t, " + skipped ");
	text_count(&t, (uint64_t)v->skipped);
	buf_adds(&t, " + lost ");
	text_count(&t, (uint64_t)v->lost);
	if (v->causes.len)
		buf_addf(&t, " (%s)", buf_str(&v->causes));
	put_line(s, 2, v->lost > 0 ? LOOK_BAD : LOOK_PLAIN, &t);
}

/* --- rows -------------------------------------------------------------------------------------- */

/* Narrow screens show fewer numbers, to leave room for names. */
static bool shows_blocks(const struct screen *s)
{
	return s->cols >= 70;
}

static bool shows_growth(const struct screen *s)
{
	return s->cols >= 50;
}

static bool shows_errors(const struct view *v, const struct screen *s)
{
	return v->feed.inexact && s->cols >= 60;
}

static int numbers_cols(const struct view *v, const struct screen *s)
{
	return 8 + 9 + (shows_errors(v, s) ? ERROR_COLS : 0) + (shows_blocks(s) ? 8 : 0) + (shows_growth(s) ? 9 : 0);
}

/* Columns left for the name. */
static int name_cols(const struct view *v, const struct screen *s, int middle)
{
	return s->cols - numbers_cols(v, s) - 2 - middle - (middle ? 1 : 0);
}

static int middle_cols(const struct view *v, const struct screen *s)
{
	if (v->by == VIEW_PROCESSES)
		return s->cols >= 40 ? 8 : 0;
	/* Without types (no garbage collector), the space is used for names. */
	if (v->by == VIEW_TYPES || !v->typed)
		return 0;
	return s->cols >= 120 ? 24 : s->cols >= 70 ? (shows_errors(v, s) ? 11 : 14) : 0;
}

static void draw_columns(const struct view *v, struct screen *s)
{
	static const char *const what[] = { "PROGRAM", "SITE", "TYPE" };
	struct buf *line = screen_line(s, 3, LOOK_HEAD);
	int middle = middle_cols(v, s);
	if (!line)
		return;
	screen_put(line, "LIVE", 8, true);
	if (shows_errors(v, s))
		screen_put(line, "ERR", ERROR_COLS, true);
	if (shows_blocks(s))
		screen_put(line, subjects[v->feed.subject].column, 8, true);
	screen_put(line, subjects[v->feed.subject].rate, 9, true);
	if (shows_growth(s))
		screen_put(line, "GROW/MIN", 9, true);
	buf_adds(line, "  ");
	if (middle) {
		screen_put(line, v->by == VIEW_PROCESSES ? "PID" : "TYPE", middle, false);
		buf_u8(line, ' ');
	}
	screen_put(line, what[v->by], name_cols(v, s, middle), false);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void draw_row(const struct view *v, const struct view_row *r, struct screen *s, int at, bool chosen)
{
	struct buf *line = screen_line(s, at, chosen ? LOOK_CHOSEN : LOOK_PLAIN);
	int middle = middle_cols(v, s);
	char pid[16];
	if (!line)
		return;
	snprintf(pid, sizeof(pid), "%u", r->pid);
	put_cell(line, r->live_sz, 8, true, "");
	if (shows_errors(v, s)) {
		struct buf text = { 0 };
		put_error(&text, "", r->var, r->live_sz);
		screen_put(line, buf_str(&text), ERROR_COLS, true);
		buf_free(&text);
	}
	if (shows_blocks(s))
		put_cell(line, r->live_cnt, 8, false, "");
	put_cell(line, r->rate_sz, 9, true, "");
	if (shows_growth(s))
		put_cell(line, r->growth, 9, true, r->growth > 0 ? "+" : "");
	buf_adds(line, r->key == v->expanded ? " -" : "  ");
	if (middle) {
		/* C++ type names are long: shorten them like function names. */
		if (v->by != VIEW_PROCESSES && strchr(r->type, '<'))
			screen_put_place(line, r->type, "", middle);
		else
			screen_put(line, v->by == VIEW_PROCESSES ? pid : r->type, middle, false);
		buf_u8(line, ' ');
	}
	if (v->by == VIEW_TYPES)
		screen_put(line, r->name, name_cols(v, s, middle), false);
	else
		screen_put_place(line, r->name, v->by == VIEW_PROCESSES ? r->place : last_part(r->place),
				 name_cols(v, s, middle));
}

/* The `which`th largest stack of a row; *cnt is how many it has. */
static const struct feed_stack *stack_of(struct view *v, uint64_t row, uint32_t *cnt)
{
	const struct feed_stack *best = NULL;
	double below = HUGE_VAL;
	size_t below_at = 0;
	*cnt = 0;
	for (size_t i = 0; i < v->feed.stacks_cnt; i++)
		*cnt += view_wants(v, &v->feed.stacks[i]) && view_row_of(v, &v->feed.stacks[i]) == row;
	if (v->which >= *cnt)
		v->which = *cnt ? *cnt - 1 : 0;
	for (uint32_t k = 0; k <= v->which && *cnt; k++) {
		best = NULL;
		for (size_t i = 0; i < v->feed.stacks_cnt; i++) {
			const struct feed_stack *s = &v->feed.stacks[i];
			bool left = s->live_sz < below || (s->live_sz == below && i > below_at);
			if (left && view_wants(v, s) && view_row_of(v, s) == row && (!best || s->live_sz > best->live_sz))
				best = s;
		}
		if (!best)
			return NULL;
		below = best->live_sz;
		below_at = (size_t)(best - v->feed.stacks);
	}
	return best;
}

/* Number of frames beyond the screen, and the key that scrolls there. */
static void put_beyond(struct screen *s, int at, uint32_t n, const char *key)
{
	struct buf t = { 0 };
	buf_addf(&t, "      ... %u more (%s)", n, key);
	put_line(s, at, LOOK_SOFT, &t);
}

static int draw_frames(struct view *v, const struct feed_stack *st, struct screen *s, int at, int end)
{
	bool marks = end - at > 3; /* otherwise no room for frames would be left */
	v->from = v->from < st->frames_cnt ? v->from : st->frames_cnt - 1;
	if (v->from && marks)
		put_beyond(s, at++, v->from, "up");
	uint32_t rest = st->frames_cnt - v->from, room = end > at ? (uint32_t)(end - at) : 0;
	v->shown = rest <= room ? rest : room - marks;
	v->below = rest - v->shown;
	for (uint32_t i = 0; i < v->shown; i++) {
		const struct feed_frame *f = &v->feed.frames[v->feed.path[st->first + v->from + i]];
		struct buf *line = screen_line(s, at++, LOOK_SOFT);
		if (!line)
			continue;
		screen_put(line, "", s->cols < 6 ? s->cols : 6, false);
		screen_put_place(line, f->name, f->place, s->cols - 6);
	}
	if (v->below && marks)
		put_beyond(s, at++, v->below, "down");
	return at;
}

/* Draws the frames, innermost first; returns the next line. */
static int draw_stack(struct view *v, struct screen *s, int at, int end)
{
	uint32_t cnt;
	const struct feed_stack *st = stack_of(v, v->expanded, &cnt);
	struct buf t = { 0 };
	if (!st || at >= end)
		return at;
	buf_addf(&t, "    stack %u of %u%s: ", v->which + 1, cnt, cnt > 1 ? " (left, right)" : "");
	put_bytes(&t, st->live_sz, "");
	put_error(&t, " +-", st->error * st->error, st->live_sz);
	buf_adds(&t, " in ");
	put_count(&t, st->live_cnt);
	buf_addf(&t, " %s of %s, process %u", subjects[v->feed.subject].each, st->type, st->pid);
	put_line(s, at++, LOOK_SOFT, &t);
	return draw_frames(v, st, s, at, end);
}

static size_t place_of(const struct view *v, uint64_t key)
{
	size_t i = 0;
	while (i < v->rows_cnt && v->rows[i].key != key)
		i++;
	return i;
}

static void keep_in_sight(struct view *v, size_t place, size_t height)
{
	size_t expanded = v->expanded ? place_of(v, v->expanded) : v->rows_cnt;
	uint32_t cnt;
	if (place < v->scroll)
		v->scroll = place;
	/* Scroll an expanded row to the top, so that its stack is visible. */
	if (expanded == place && place >= v->scroll + (height > 4 ? height / 3 : 1))
		v->scroll = place;
	if (expanded < place && expanded >= v->scroll) {
		const struct feed_stack *st = stack_of(v, v->expanded, &cnt);
		if (st && place - v->scroll + 1 + st->frames_cnt >= height)
			v->scroll = expanded + 1;
	}
	if (place >= v->scroll + height)
		v->scroll = place - height + 1;
}

static void draw_rows(struct view *v, struct screen *s)
{
	int at = HEAD_ROWS, end = s->rows - FOOT_ROWS;
	size_t chosen = place_of(v, v->chosen);
	if (chosen == v->rows_cnt)
		chosen = 0;
	v->page = end > at ? end - at : 1;
	if (v->rows_cnt)
		keep_in_sight(v, chosen, (size_t)v->page);
	if (v->scroll >= v->rows_cnt)
		v->scroll = 0;
	for (size_t i = v->scroll; i < v->rows_cnt && at < end; i++) {
		draw_row(v, &v->rows[i], s, at++, i == chosen);
		if (v->expanded && v->rows[i].key == v->expanded)
			at = draw_stack(v, s, at, end);
	}
	if (!v->rows_cnt && at < end) {
		struct buf t = { 0 };
		buf_adds(&t, *v->filter ? "nothing matches the filter (Esc clears it)"
			     : v->round ? v->feed.interval ? "nothing was sampled yet" : "nothing was allocated yet"
					: "waiting for the first numbers");
		put_line(s, at++, LOOK_SOFT, &t);
	}
	for (; at < end; at++)
		screen_line(s, at, LOOK_PLAIN);
}

/* --- the rest ---------------------------------------------------------------------------------- */

static void draw_foot(const struct view *v, struct screen *s)
{
	struct buf t = { 0 };
	enum look look = LOOK_SOFT;
	if (v->typing) {
		buf_addf(&t, "filter: %s_", v->filter);
	} else if (v->message && *v->message) {
		text_clean(&t, v->message, strcspn(v->message, "\n"));
		look = LOOK_BAD;
	} else if (v->feed.note && *v->feed.note) {
		buf_adds(&t, v->feed.note);
	} else {
		buf_adds(&t, "q quit  Enter stack  Tab by  s sort  r turn  / filter  p pause  h help");
	}
	put_line(s, s->rows - 1, look, &t);
}

static void draw_help(struct screen *s)
{
	static const char *const lines[] = {
		"alys-bpf top",
		"",
		"", /* what was lost */
		"arrows, j k, PgUp PgDn, Home End   choose a row",
		"Enter        the row's largest stack; left and right: its other stacks;",
		"             up and down go through it when it is longer than the screen",
		"             in the list of processes: that process' sites",
		"Esc          one step back: stack, filter, process",
		"Tab          rows are sites, types, processes",
		"l a g b n    sort by live, allocation rate, growth, blocks, name; s: the next",
		"r            turn the order round",
		"/            only stacks with this text in a function, file or type; processes",
		"             with it in their name, path or number",
		"p, space     hold the picture; recording goes on",
		"q            quit",
		"",
		"LIVE is what was allocated since tracing began and is not freed. GROW/MIN is",
		"its change over the last minute. Lost events are always in the third line.",
		"ERR is the standard error of LIVE, when that is estimated from samples.",
	};
	for (int i = 0; i < s->rows; i++) {
		struct buf *line = screen_line(s, i, i ? LOOK_PLAIN : LOOK_HEAD);
		if (line && (size_t)i < sizeof(lines) / sizeof(lines[0]))
			screen_put(line, lines[i], s->cols, false);
	}
}

void view_draw(struct view *v, struct screen *s)
{
	if (v->help) {
		draw_help(s);
		draw_ledger(v, s);
		return;
	}
	draw_title(v, s);
	draw_sums(v, s);
	draw_ledger(v, s);
	draw_columns(v, s);
	draw_rows(v, s);
	draw_foot(v, s);
}
