/* model/weight: what a sample stands for, and what none says; see model.h. */
#include <math.h>

#include "model/model.h"

double sample_weight(uint64_t size, uint64_t interval)
{
	if (!interval)
		return 1;
	/* A block of 0 bytes is never hit; one that is there all the same counts as 1 byte. */
	double bytes = size ? (double)size : 1;
	return -1 / expm1(-bytes / (double)interval);
}

uint64_t sample_interval(uint64_t size, double weight)
{
	return weight > 1 ? (uint64_t)(-(double)(size ? size : 1) / log1p(-1 / weight) + 0.5) : 0;
}

double event_weight(const struct event *e)
{
	return (e->batch ? e->batch : 1) * sample_weight(e->span ? e->span : e->size, e->interval);
}

double unsampled_below(uint64_t interval)
{
	return -log(0.05) * (double)interval;
}
