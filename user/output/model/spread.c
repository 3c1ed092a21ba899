/* SPDX-License-Identifier: Apache-2.0 */
/* model/spread: uncertainty of estimates; see clusters.h and model.h. */
#include <math.h>

#include "model/clusters.h"

void spread_add(struct spread *to, const struct spread *s)
{
	to->var += s->var;
	to->placed += s->placed;
	clusters_add(&to->windows, &s->windows);
}

double spread_var_of_all(const struct spread *s)
{
	double between = 0;
	for (int i = 0; i < SPREAD_GROUPS; i++)
		between += (double)s->windows.between[i] * (double)s->windows.between[i];
	/* At least the variance within windows: with few groups, the variance between them may be small by chance. */
	return fmax(s->var + fmax(between - s->windows.var, 0), 0) + s->windows.common * s->windows.common;
}

double spread_var(const struct spread *s)
{
	return s->placed + spread_var_of_all(s);
}
