/* SPDX-License-Identifier: Apache-2.0 */
/* window/ratio: see ratio.h. */
#include "window/ratio.h"

#include <math.h>

/* Windows that stand for less than this part of it have not met it. */
#define FAINT 20

void ratio_stretch_begins(struct ratio *r, double all)
{
	r->since = all;
	r->stretch = true;
}

void ratio_stretch_ends(struct ratio *r, double all)
{
	r->seen += r->stretch ? all - r->since : 0;
	r->stretch = false;
}

double ratio_window(struct ratio *r, double met, double weight)
{
	double stands_for = met * weight;
	r->reported += stands_for;
	r->squares += stands_for * stands_for;
	return stands_for;
}

bool ratio_has_met(const struct ratio *r)
{
	return r->squares > 0;
}

/* Of how many equal ones the windows would stand for as much, with the same sum of squares. */
static double equal_windows(const struct ratio *r)
{
	return ratio_has_met(r) ? r->reported * r->reported / r->squares : 0;
}

double ratio_unseen(const struct ratio *r, double all)
{
	double seen = r->seen + (r->stretch ? all - r->since : 0);
	return all > seen ? all - seen : 0;
}

double ratio_missed(const struct ratio *r, double all)
{
	double unseen = ratio_unseen(r, all);
	return r->reported * FAINT >= unseen ? 0 : unseen;
}

double ratio_unmet(const struct ratio *r, double all)
{
	double unseen = ratio_unseen(r, all), seen = all - unseen;
	bool missed = ratio_missed(r, all) > 0;
	if (!(seen > 0) || !(unseen > 0))
		return 0;
	double met = missed ? 0 : fmin(r->reported / unseen, 1);
	double windows = equal_windows(r), none = windows >= RATIO_ENOUGH ? 1 : pow(0.05, 1 / fmax(windows, 1));
	return fmin((1 - met * none) * unseen / seen, RATIO_UNMET_MAX);
}

double ratio_factor(const struct ratio *r, double all)
{
	return r->reported > 0 && ratio_unseen(r, all) > 0 ? ratio_unseen(r, all) / r->reported : 1;
}
