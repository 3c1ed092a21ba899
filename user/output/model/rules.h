/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model/rules: when bytes in use grew steadily, and how sure a sum of few samples is, for reports and for the HTML page, which applies
 * them to intervals. web/rule.mjs makes JavaScript of this file: only what both languages have goes in here.
 */
#ifndef ALYS_MODEL_RULES_H
#define ALYS_MODEL_RULES_H

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

/*
 * Samples of independent blocks are counts of a Poisson process, and n of them have an estimated variance of n. Where that is small
 * by chance, the estimate is small, too, so +-1.96 of its root holds the truth in as little as 84 % of cases (mean 3), and in 92 % at
 * mean 15. With n + 2 it is 93 % or more at every mean, if anything was sampled: about 1.96^2 / 2 is what is added to counts of
 * binomials, too (Agresti and Coull, The American Statistician 52, 1998, p. 119). n is the square of the estimate over its variance,
 * and at least 1. Variances are added before; where windows have made them larger already, as on the page and in top, this is a
 * little too much.
 */
static inline double few_variance(double variance, double estimate)
{
	double square = estimate * estimate, samples = variance > 0 && square > variance ? square / variance : 1;
	return square > 0 ? variance * (1 + 2 / samples) : variance;
}

#endif
