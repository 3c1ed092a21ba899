/* report/growth: what a group's live bytes over time say about leaks; see group.h. */
#include "base/text.h"
#include "report/group.h"

double growth_steadiness(const struct growth_row *r)
{
	int rose = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		for (uint32_t k = i + 1; k < r->n; k++)
			rose += (r->live_sz[k] > r->live_sz[i]) - (r->live_sz[k] < r->live_sz[i]);
	}
	return rose > 0 ? 2.0 * rose / ((double)r->n * (r->n - 1)) : 0;
}

double growth_gained(const struct growth_row *r)
{
	return r->n ? r->live_sz[r->n - 1] - (r->n > 1 ? r->live_sz[0] : 0) : 0;
}

double growth_score(const struct growth_row *r)
{
	double gained = growth_gained(r);
	return gained > 0 ? gained * growth_steadiness(r) : 0;
}

void ages_text(const double ages[AGE_CNT], struct buf *out)
{
	static const char *const limits[AGE_CNT] = {
		"<1ms", "<10ms", "<100ms", "<1s", "<10s", "<1min", "<10min", ">=10min",
	};
	size_t before = out->len;
	for (size_t i = 0; i < AGE_CNT; i++) {
		if (!(ages[i] >= 0.5))
			continue;
		buf_addf(out, "%s%s:", out->len > before ? " " : "", limits[i]);
		text_count(out, (uint64_t)(ages[i] + 0.5));
	}
}
