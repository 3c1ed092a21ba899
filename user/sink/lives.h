/*
 * sink/lives: for event sinks: which block an event begins and which ones it ends, each with a tag
 * of the sink's own. What counts as a block's end is the model's decision, taken from struct
 * applied; this only remembers. Memory grows with live blocks. Not for other rooms.
 */
#ifndef ALYS_SINK_LIVES_H
#define ALYS_SINK_LIVES_H

#include "base/map.h"
#include "model/model.h"

struct life {
	uint64_t id; /* 1, 2, 3... in order of birth */
	uint64_t born_ns;
	uint64_t size;
	double cnt; /* blocks it stands for */
	uint32_t tag;
};

enum life_end {
	LIFE_FREED,
	LIFE_MOVED,   /* realloc took it away */
	LIFE_MISSED,  /* its address was handed out again: the free was not seen */
	LIFE_EXEC,    /* its process became another program */
	LIFE_EXIT,    /* alive when its process ended: still in use */
	LIFE_LEFT,    /* alive at the end of the recording */
};

/* `e` is the event that ended it, NULL for LIFE_LEFT. */
typedef void (*life_fn)(void *ctx, const struct life *life, enum life_end how,
			const struct event *e);

struct lives {
	struct life *at;
	size_t at_cnt, at_cap;
	uint32_t *unused; /* places in `at` */
	size_t unused_cnt, unused_cap;
	struct map proc_index;
	struct map *procs; /* address -> place */
	size_t procs_cnt, procs_cap;
	uint64_t last_id;
	life_fn ended;
	void *ctx;
};

/* 1 when a block began, which goes to *born (borrowed until the next call); 0; or -ENOMEM. */
int lives_apply(struct lives *l, const struct event *e, const struct applied *a, uint32_t tag,
		const struct life **born);
/* Tells of all that are left, in order of birth; then nothing is. 0 or -ENOMEM. */
int lives_end(struct lives *l);
void lives_free(struct lives *l);

#endif
