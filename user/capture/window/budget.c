/* SPDX-License-Identifier: Apache-2.0 */
/* window/budget: see budget.h. */
#include "window/budget.h"

#include <math.h>

#define SMOOTH_S 1.0
#define LATE_S 5.0
#define CREDIT_S 2.0 /* unspent budget is kept for this long, for bursts that follow quiet times */
#define GAP_MIN_S 0.02
#define GAP_MAX_S 10.0
/* Overspending is made up for over several turns: during one long gap nothing would be seen. */
#define PAY_TURNS 4

/* What probes that stay attached take is taken off the others' budget, but for this part of it: windows must meet something. */
#define LEFT_MIN 0.25

/* Share of the CPU time that is surely the programs' own: if probes seem to take all, the price is too high. */
#define OWN_MIN 0.05

static double left(const struct budget *b)
{
	return fmax(b->max - b->kept_load, LEFT_MIN * b->max);
}

static void follow(double *of, double now, double share)
{
	*of += (now - *of) * share;
}

/* What probes cost, and of that those that stay attached. */
struct cost {
	double all, kept;
};

/* Not more than all CPU time: the price is too high where a program does little but allocate and free. */
static struct cost cost_of(const struct spending *s)
{
	double part = s->cpu_s > 0 && s->probes_s > s->cpu_s ? s->cpu_s / s->probes_s : 1;
	return (struct cost){ s->probes_s * part, s->kept_s * part };
}

void budget_note(struct budget *b, const struct spending *s)
{
	double share = b->known ? 1 - exp(-s->wall_s / SMOOTH_S) : 1;
	if (!(s->wall_s > 0))
		return;
	const struct cost probes = cost_of(s);
	double all = probes.all + s->stalled_s * s->cpu_s / s->wall_s, kept = probes.kept, cost = all - kept;
	/* The programs' CPU time includes that of the probes. Probes that stay attached count as the programs' own time. */
	double own = s->cpu_s > cost ? s->cpu_s - cost : 0;
	b->spent_s += all;
	b->kept_s += kept;
	b->cpu_s += own;
	b->debt_s = fmax(b->debt_s + cost - left(b) * own, -left(b) * b->cpu_rate * CREDIT_S);
	double late = b->known ? 1 - exp(-s->wall_s / LATE_S) : 1;
	follow(&b->late_s, all / s->wall_s, late);
	follow(&b->late_cpu_s, own / s->wall_s, late);
	/* Without probes the programs use at least `own`, and hardly more than all. */
	follow(&b->cpu_rate, (own + s->cpu_s) / 2 / s->wall_s, share);
	if (own > 0)
		follow(&b->kept_load, kept / own, share);
	if (s->cpu_s > 0 && s->in_s > 0)
		follow(&b->load, cost / s->in_s * s->wall_s / fmax(own, OWN_MIN * s->cpu_s), share);
	if (s->turn) {
		double few = b->turn_in_s > 0 ? 0.25 : 1;
		follow(&b->turn_s, cost, few);
		follow(&b->turn_in_s, s->in_s, few);
	}
	b->known |= s->cpu_s > 0 || s->probes_s > 0;
}

/* Length of a turn before the first one: as most are. */
#define TURN_S 0.02

double budget_gap(const struct budget *b)
{
	double in = b->turn_in_s > 0 ? b->turn_in_s : TURN_S;
	if (!b->max || !b->known || (b->load <= left(b) && b->debt_s <= 0))
		return 0;
	/* The cost of recent turns, or the one expected from the load, which may have just grown. */
	double cost = fmax(b->turn_s, fmin(b->load, 1) * b->cpu_rate * in) + fmax(b->debt_s, 0) / PAY_TURNS;
	double earned = left(b) * b->cpu_rate;
	double gap = earned > 0 ? cost / earned - in : GAP_MAX_S;
	return fmin(fmax(gap, GAP_MIN_S), GAP_MAX_S);
}

double budget_spent(const struct budget *b)
{
	return b->cpu_s > 0 ? b->spent_s / b->cpu_s : 0;
}

double budget_kept(const struct budget *b)
{
	return b->cpu_s > 0 ? b->kept_s / b->cpu_s : 0;
}

double budget_spent_late(const struct budget *b)
{
	return b->late_cpu_s > 0 ? b->late_s / b->late_cpu_s : 0;
}
