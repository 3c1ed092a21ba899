/* SPDX-License-Identifier: Apache-2.0 */
/* window/schedule: see schedule.h. */
#include "window/schedule.h"

#include <math.h>

/* xorshift64* (Vigna 2016): fast, and its period is more than long enough. */
static double uniform(struct schedule *s)
{
	uint64_t x = s->random ?: 0x9e3779b97f4a7c15ull;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	s->random = x;
	return ((double)((x * 0x2545f4914f6cdd1dull) >> 11) + 0.5) / 9007199254740992.0;
}

void schedule_stretch(struct schedule *s, uint64_t now_ns)
{
	s->closed_ns = now_ns;
	s->first = true;
}

/*
 * The sum of two exponential parts. Less regular than a fixed period, so that no program can run in step with it (at no
 * frequency is it worse than single exponential gaps); more regular than those, so that windows stand for more equal
 * parts. A gap after a stretch is entered somewhere in its middle, as if windows had been opened before: in its first
 * part or in its second.
 */
double schedule_gap(struct schedule *s, double mean_s)
{
	double parts = -log(uniform(s));
	if (!s->first || uniform(s) < 0.5)
		parts -= log(uniform(s));
	s->mean_s = mean_s;
	return parts * mean_s / 2;
}

/* Expected length of a gap that was entered in its middle and lasted `t` seconds from there. */
static double whole_gap(double t, double mean_s)
{
	double parts = 2 * t / mean_s;
	return t + mean_s / 2 * (2 + parts) / (1 + parts);
}

struct window schedule_window(struct schedule *s, uint64_t opened_ns, uint64_t closed_ns)
{
	double length = (double)(closed_ns - opened_ns), gap = (double)(opened_ns - s->closed_ns);
	if (s->first && s->mean_s > 0)
		gap = 1e9 * whole_gap(gap / 1e9, s->mean_s);
	struct window w = {
		.number = ++s->number,
		.group = (s->number - 1) % WINDOW_GROUPS + 1,
		.opened_ns = opened_ns,
		.closed_ns = closed_ns,
		.stands_ns = (uint64_t)(gap + length),
		.weight = (gap + length) / length,
	};
	s->closed_ns = closed_ns;
	s->first = false;
	return w;
}
