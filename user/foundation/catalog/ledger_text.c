/* SPDX-License-Identifier: Apache-2.0 */
/* catalog/ledger_text: the account of all hits, in one sentence. Invariant: hits = recorded + skipped + lost. */
#include <inttypes.h>

#include "base/buf.h"
#include "base/text.h"
#include "catalog/catalog.h"

uint64_t catalog_sum(const struct catalog *c, enum count_class class)
{
	uint64_t sum = 0;
	const struct count *n;
	for (size_t i = 0; (n = catalog_next_count(c, &i));)
		sum += n->class == class ? n->value : 0;
	return sum;
}

/* Appends " (nested 2, failed 1)", or nothing if all are 0. */
static void add_stages(const struct catalog *c, enum count_class class, struct buf *out)
{
	const char *before = " (";
	const struct count *n;
	for (size_t i = 0; (n = catalog_next_count(c, &i));) {
		if (n->class != class || !n->value)
			continue;
		buf_adds(out, before);
		text_clean(out, n->name, SIZE_MAX);
		buf_addf(out, " %" PRIu64, n->value);
		before = ", ";
	}
	if (*before == ',')
		buf_adds(out, ")");
}

void catalog_ledger_text(const struct catalog *c, struct buf *out)
{
	uint64_t hits = catalog_sum(c, COUNT_HIT), recorded = catalog_sum(c, COUNT_RECORDED);
	uint64_t skipped = catalog_sum(c, COUNT_SKIPPED), lost = catalog_sum(c, COUNT_LOST);
	buf_addf(out, "hits %" PRIu64 " = recorded %" PRIu64 " + skipped %" PRIu64, hits, recorded, skipped);
	add_stages(c, COUNT_SKIPPED, out);
	buf_addf(out, " + lost %" PRIu64, lost);
	add_stages(c, COUNT_LOST, out);
	uint64_t known = recorded + skipped + lost;
	if (hits > known)
		buf_addf(out, " + in flight or unaccounted for %" PRIu64, hits - known);
	else if (hits < known)
		buf_addf(out, " - counted twice %" PRIu64, known - hits);
}
