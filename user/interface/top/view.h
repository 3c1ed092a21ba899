/* SPDX-License-Identifier: Apache-2.0 */
/* top/view: the contents of the screen, without a terminal: lists and keys in, lines out. Private to this module. */
#ifndef ALYS_TOP_VIEW_H
#define ALYS_TOP_VIEW_H

#include "base/buf.h"
#include "base/map.h"
#include "top/feed.h"

enum look { LOOK_PLAIN, LOOK_HEAD, LOOK_CHOSEN, LOOK_BAD, LOOK_SOFT };

#define SCREEN_ROWS_MAX 200
#define SCREEN_COLS_MAX 500

/* Lines of at most `cols` columns, without control characters. */
struct screen {
	int rows, cols;
	struct buf line[SCREEN_ROWS_MAX];
	enum look look[SCREEN_ROWS_MAX];
};

/* Keys other than characters. */
enum view_key {
	VIEW_UP = 0x110000,
	VIEW_DOWN,
	VIEW_LEFT,
	VIEW_RIGHT,
	VIEW_PAGE_UP,
	VIEW_PAGE_DOWN,
	VIEW_HOME,
	VIEW_END,
	VIEW_ENTER,
	VIEW_ERASE,
	VIEW_ESCAPE,
	VIEW_TAB,
};

enum view_by { VIEW_PROCESSES, VIEW_SITES, VIEW_TYPES, VIEW_BY_CNT };
enum view_sort { SORT_LIVE, SORT_RATE, SORT_GROWTH, SORT_BLOCKS, SORT_NAME, SORT_CNT };

#define PAST_POINTS 16
#define PAST_APART_NS 4000000000ull

/* Earlier values of a stack or a process, for rates and growth. */
struct past {
	uint64_t key, round, when_ns;
	bool fresh;        /* not in the previous list */
	bool cut, was_cut; /* of a process: its stacks in the list, or in the previous one, are incomplete */
	double alloc_sz, alloc_cnt;
	double rate_sz, rate_cnt; /* per second */
	double told_sz, told_cnt; /* of a process: the part of its rates attributed to stacks */
	double growth;            /* live bytes per minute */
	struct {
		uint64_t ns;
		double live;
	} at[PAST_POINTS]; /* oldest first */
	size_t at_cnt;
};

struct view_row {
	uint64_t key;
	uint32_t pid;
	const char *name, *place, *type; /* in the feed */
	double live_sz, live_cnt, rate_sz, rate_cnt, growth;
	double var; /* of live_sz; its square root is the standard error */
	uint32_t stacks_cnt;
};

#define FILTER_MAX 60

struct view {
	struct feed feed;                     /* what is shown */
	double hits, recorded, skipped, lost; /* of the newest, also when paused */
	struct buf causes;                    /* the same, of what was lost */
	struct past *past;
	size_t past_cnt, past_cap;
	struct map past_index; /* key -> place in past */
	uint64_t round, now_ns;
	uint64_t taken_ns; /* arrival of the newest list, also when paused; 0 = none yet */
	uint32_t late_s;   /* seconds since then, if longer than expected */

	uint32_t pid;   /* only this process, 0 = all */
	uint32_t fixed; /* the requested pid: it cannot be left */
	enum view_by by;
	enum view_sort sort;
	bool turned, paused, help, typing;
	bool typed; /* the type of at least one row is known */
	char filter[FILTER_MAX + 1];
	uint64_t chosen;             /* key of a row */
	uint64_t expanded;           /* key of the row whose stack is shown; 0 = none */
	uint32_t which;              /* of its stacks */
	uint32_t from, shown, below; /* its frames: above the visible part, visible, below */
	size_t scroll;
	int page; /* rows that were shown last */

	struct view_row *rows;
	size_t rows_cnt, rows_cap;
	const char *message; /* borrowed; NULL */
	bool ended, waiting; /* waiting: what has ended may start again */
};

void view_begin(struct view *v, uint32_t pid);
/* A newer list; takes its contents. */
void view_take(struct view *v, struct feed *f, uint64_t now_ns);
/* A character or enum view_key. False: quit. */
bool view_key(struct view *v, int key);
void view_draw(struct view *v, struct screen *s);
void view_free(struct view *v);

/* Rebuilds v->rows from what is shown, sorted. */
void view_rows(struct view *v);
/* Does a stack match process and filter? */
bool view_wants(const struct view *v, const struct feed_stack *s);
/* The row that a stack is part of. */
uint64_t view_row_of(const struct view *v, const struct feed_stack *s);
const struct past *view_past(const struct view *v, uint64_t key);
uint64_t view_process_key(uint32_t pid);

void screen_free(struct screen *s);
/* Clears line `row`; NULL beyond the screen. */
struct buf *screen_line(struct screen *s, int row, enum look look);
/* Appends text truncated or padded to `cols` columns; right: right-aligned. */
void screen_put(struct buf *line, const char *text, int cols, bool right);
/*
 * A name and its location in `cols` columns. A long location is shortened at the front; a long name loses its
 * arguments, then its qualifiers, then its end.
 */
void screen_put_place(struct buf *line, const char *name, const char *place, int cols);

#endif
