/* SPDX-License-Identifier: Apache-2.0 */
/* model/spread: uncertainty of estimates; see clusters.h and model.h. */
#include <math.h>

#include "model/clusters.h"
#include "model/rules.h"

void spread_add(struct spread *to, const struct spread *s)
{
	to->sum += s->sum;
	to->var += s->var;
	to->placed += s->placed;
	clusters_add(&to->windows, &s->windows);
}

/* `alone`: as if all were independent. At least that: with few groups, the variance between them may be small by chance. */
static double with_windows(const struct spread *s, double alone)
{
	double between = 0;
	for (int i = 0; i < SPREAD_GROUPS; i++)
		between += (double)s->windows.between[i] * (double)s->windows.between[i];
	return fmax(fmax(alone, s->var + between - s->windows.var), 0) + s->windows.common * s->windows.common;
}

double spread_added(const struct spread *s)
{
	return s->placed + with_windows(s, s->var);
}

double spread_var_of_all(const struct spread *s)
{
	return with_windows(s, few_variance(s->var, s->sum));
}

double spread_var(const struct spread *s)
{
	return s->placed + spread_var_of_all(s);
}
