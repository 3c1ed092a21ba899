/* SPDX-License-Identifier: Apache-2.0 */
/* model/spread: how far an estimate may be from the truth; see clusters.h and model.h. */
#include <math.h>

#include "model/clusters.h"

void spread_add(struct spread *to, const struct spread *s)
{
	to->var += s->var;
	clusters_add(&to->windows, &s->windows);
}

double spread_var(const struct spread *s)
{
	double between = 0;
	for (int i = 0; i < SPREAD_GROUPS; i++)
		between += (double)s->windows.between[i] * (double)s->windows.between[i];
	/* Samples of one window differ among themselves, too: with few groups, their differences alone may be small by chance. */
	return fmax(s->var + fmax(between - s->windows.var, 0), 0);
}
