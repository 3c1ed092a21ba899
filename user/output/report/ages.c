/* SPDX-License-Identifier: Apache-2.0 */
/* report/ages: a histogram of block ages as text; see group.h. */
#include "base/text.h"
#include "report/group.h"

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
