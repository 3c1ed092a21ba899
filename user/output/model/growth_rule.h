/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model/growth_rule: when bytes in use grew steadily, for reports and for the HTML page, which applies it to intervals.
 * web/rule.mjs makes JavaScript of this file: only what both languages have goes in here.
 */
#ifndef ALYS_MODEL_GROWTH_RULE_H
#define ALYS_MODEL_GROWTH_RULE_H

/*
 * From 0 to 1, of the bytes live at n moments: over all pairs of moments, the share in which the later one holds more, minus
 * the share in which it holds less (Kendall's tau). A leak has about 1, however coarse its steps; what was filled once
 * and kept has 0.5 at most, and little if that was at the start.
 */
static inline double growth_steadiness(const double *live, int n)
{
	int rose = 0;
	for (int i = 0; i < n; i++) {
		for (int k = i + 1; k < n; k++)
			rose += (live[k] > live[i]) - (live[k] < live[i]);
	}
	return rose > 0 ? 2.0 * rose / (n * (n - 1.0)) : 0;
}

/* From the first moment to the last; negative if it shrank. At a single moment all of it is new. */
static inline double growth_gained(const double *live, int n)
{
	return n > 1 ? live[n - 1] - live[0] : n > 0 ? live[0] : 0;
}

/* What suspects are ranked by; 0 is none. */
static inline double growth_score(double gained, double steadiness)
{
	return gained > 0 ? gained * steadiness : 0;
}

#endif
