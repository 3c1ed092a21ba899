/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/limits: see limits.h. */
#include "monitor/limits.h"

#include <stddef.h>

#include "window/rate.h"

/* Pause between steps, so that the effect of one is measured before the next. */
#define PAUSE_NS 1000000000ull
/* Shorter pause near the limit; at FULL_PERCENT there is none. */
#define HURRY_NS 100000000ull
#define THIN_PERCENT 88
#define REFUSE_PERCENT 93
#define FULL_PERCENT 97
#define CALM_PERCENT 70
/* Pause before sampling more again, so that the rate does not oscillate. */
#define CALM_NS 10000000000ull
/* The measured overhead is an average over seconds: effects of a step show late, and short bursts are ignored. */
#define OVERHEAD_PAUSE_NS 5000000000ull
#define USELESS_MAX 3
#define INTERVAL_MAX (64ull << 20)

void limits_set_interval(struct limits *l, uint64_t interval)
{
	l->interval_wanted = l->interval = interval;
	if (!l->refusing)
		l->cause = CAUSE_NONE;
}

static void coarsen(struct limits *l, enum limits_cause cause)
{
	l->interval = l->interval ? l->interval * 2 : 4096;
	l->cause = cause;
	l->coarsened++;
}

/* True if thinning no longer frees memory: further steps would only degrade the profiles. */
static bool is_at_bottom(struct limits *l, uint64_t memory)
{
	if (memory > l->memory + l->memory / 50)
		l->useless = 0;
	return l->refusing && l->useless >= USELESS_MAX;
}

/* The cause is cleared as soon as memory is available, although the rate recovers only step by step. */
static void forget_pressure(struct limits *l, uint64_t memory)
{
	if (memory * 100 / l->memory_max >= LIMITS_PERCENT)
		return;
	l->memory = 0;
	if (l->cause == CAUSE_MEMORY && !l->refusing)
		l->cause = CAUSE_NONE;
}

/* Sampling less slows the growth of memory, and frees none: where it does not grow, it would only degrade the profiles. */
static bool is_growing(const struct limits *l, uint64_t memory)
{
	return memory > l->memory + l->memory_max / 100;
}

static enum limits_step less_memory(struct limits *l, const struct limits_use *u)
{
	uint64_t percent = u->memory * 100 / l->memory_max;
	if (is_at_bottom(l, u->memory))
		return LIMITS_FINE;
	if (percent >= REFUSE_PERCENT && !l->refusing) {
		l->refusing = true;
		l->cause = CAUSE_MEMORY;
		return LIMITS_REFUSE;
	}
	if (percent >= THIN_PERCENT) {
		if (l->interval < INTERVAL_MAX)
			coarsen(l, CAUSE_MEMORY);
		l->thinned++;
		l->useless = u->memory > l->memory - l->memory / 50 ? l->useless + 1 : 0;
		l->memory = u->memory;
		return LIMITS_THIN;
	}
	if (percent >= LIMITS_PERCENT && l->interval < INTERVAL_MAX && is_growing(l, u->memory)) {
		coarsen(l, CAUSE_MEMORY);
		l->memory = u->memory;
		return LIMITS_COARSEN;
	}
	return LIMITS_FINE;
}

/* Whether memory allows more samples: below CALM_PERCENT of the limit, or half of what is not permanently used is free. */
static bool has_room(const struct limits *l, uint64_t memory)
{
	uint64_t first = l->memory_max / 100 * LIMITS_PERCENT, half = l->memory_least / 2 + first / 2;
	uint64_t calm = l->memory_max / 100 * CALM_PERCENT;
	return memory < (half > calm && half < first ? half : calm);
}

static enum limits_step back(struct limits *l, const struct limits_use *u)
{
	if (l->refusing && u->memory * 100 / l->memory_max < LIMITS_PERCENT) {
		l->refusing = false;
		l->cause = l->interval > l->interval_wanted ? l->cause : CAUSE_NONE;
		return LIMITS_ACCEPT;
	}
	if (l->interval <= l->interval_wanted || !has_room(l, u->memory) ||
	    (l->overhead_max > 0 && u->overhead * 2 > l->overhead_max) || u->now_ns - l->stepped_ns < CALM_NS)
		return LIMITS_FINE;
	l->interval /= 2;
	if (l->interval <= l->interval_wanted) {
		l->interval = l->interval_wanted;
		l->cause = CAUSE_NONE;
	}
	return LIMITS_REFINE;
}

/* If samples are less than a tenth of the overhead, fewer of them would not help: the calls themselves cost too much. */
static enum limits_step less_overhead(struct limits *l, const struct limits_use *u)
{
	bool ours = l->cause != CAUSE_MEMORY;
	bool over = l->overhead_max > 0 && u->overhead > l->overhead_max, helps = u->samples * 10 >= u->overhead;
	if (over && helps && l->interval < INTERVAL_MAX && (!l->stepped_ns || u->now_ns - l->stepped_ns >= OVERHEAD_PAUSE_NS)) {
		coarsen(l, CAUSE_OVERHEAD);
		return LIMITS_COARSEN;
	}
	if (ours && over && !helps)
		l->cause = CAUSE_CALLS;
	else if (!over && l->cause == CAUSE_CALLS)
		l->cause = l->interval > l->interval_wanted ? CAUSE_OVERHEAD : CAUSE_NONE;
	return LIMITS_FINE;
}

static uint64_t pause_of(const struct limits *l, uint64_t percent)
{
	if (percent >= FULL_PERCENT || (percent >= REFUSE_PERCENT && !l->refusing))
		return 0;
	return percent >= REFUSE_PERCENT ? HURRY_NS : PAUSE_NS;
}

const char *limits_cause_text(enum limits_cause c)
{
	static const char *const texts[] = {
		[CAUSE_NONE] = NULL,
		[CAUSE_MEMORY] = "--max-memory is nearly used up",
		[CAUSE_OVERHEAD] = "--max-overhead is reached",
		[CAUSE_CALLS] = "--max-overhead is passed by calls, not by samples: trace fewer processes",
		[CAUSE_READER] = RATE_SLOWER,
	};
	return texts[c];
}

uint64_t limits_room(const struct limits *l, uint64_t memory)
{
	uint64_t most = l->memory_max / 100 * THIN_PERCENT;
	return most > memory ? most - memory : 0;
}

bool limits_has_room(const struct limits *l, uint64_t memory, bool needed)
{
	return memory * 100 / l->memory_max < (needed ? 100 : REFUSE_PERCENT);
}

bool limits_is_full(const struct limits *l, uint64_t memory)
{
	return l->refusing && memory * 100 / l->memory_max >= FULL_PERCENT;
}

enum limits_step limits_next(struct limits *l, const struct limits_use *u)
{
	forget_pressure(l, u->memory);
	if (l->stepped_ns && u->now_ns - l->stepped_ns < pause_of(l, u->memory * 100 / l->memory_max))
		return LIMITS_FINE;
	enum limits_step step = less_memory(l, u);
	if (step == LIMITS_FINE)
		step = less_overhead(l, u);
	if (step == LIMITS_FINE)
		step = back(l, u);
	if (step != LIMITS_FINE)
		l->stepped_ns = u->now_ns;
	return step;
}
