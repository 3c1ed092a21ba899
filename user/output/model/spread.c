/* SPDX-License-Identifier: Apache-2.0 */
/* model/spread: how far an estimate may be from the truth; see model.h. */
#include <math.h>

#include "model/model.h"

void spread_add(struct spread *to, const struct spread *s)
{
	to->var += s->var;
	to->windowed += s->windowed;
	for (int i = 0; i < SPREAD_GROUPS; i++)
		to->between[i] += s->between[i];
}

double spread_var(const struct spread *s)
{
	double between = 0;
	for (int i = 0; i < SPREAD_GROUPS; i++)
		between += (double)s->between[i] * (double)s->between[i];
	/* Samples of one window differ among themselves, too: with few groups, their differences alone may be small by chance. */
	return fmax(s->var + fmax(between - s->windowed, 0), 0);
}

/* What 95 % intervals of n - 1 degrees of freedom are wider by than 1.96 (Student's t). */
static double wider(int n)
{
	static const double t[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
				    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131 };
	return t[n < 2 ? 0 : n - 2] / 1.96;
}

void spread_settle(struct spread *s, const double stands[SPREAD_GROUPS])
{
	double sum = 0, all = 0;
	int n = 0;
	for (int i = 0; i < SPREAD_GROUPS; i++) {
		sum += (double)s->between[i];
		all += stands[i];
		n += stands[i] > 0;
	}
	double factor = wider(n) * (n > 1 ? sqrt((double)n / (n - 1)) : 1);
	for (int i = 0; i < SPREAD_GROUPS && n; i++) {
		/* Of one window alone nothing is known: it may as well have met nothing. */
		double expected = n > 1 ? sum * stands[i] / all : 0;
		s->between[i] = (float)(factor * ((double)s->between[i] - expected));
	}
}
