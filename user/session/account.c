/* session/account: see account.h. */
#include "session/account.h"

#include <errno.h>

struct account account_read(const struct probe *p, uint32_t tgid, uint64_t recorded)
{
	struct account a = { .recorded = recorded };
	probe_losses(p, tgid, &a.lost);
	return a;
}

uint64_t account_lost(const struct account *a)
{
	uint64_t sum = 0;
	for (int i = 0; i < ALYS_LOSS_CNT; i++)
		sum += a->lost.n[i];
	return sum;
}

struct account account_since(const struct account *now, const struct account *before)
{
	struct account out = { .recorded = now->recorded - before->recorded };
	for (int i = 0; i < ALYS_LOSS_CNT; i++)
		out.lost.n[i] = now->lost.n[i] - before->lost.n[i];
	return out;
}

int account_put(const struct account *a, struct catalog *to)
{
	static const struct {
		const char *name, *help;
	} stages[ALYS_ST_CNT] = {
#define X(n, id, cls, text, what) [n] = { text, what },
		ALYS_STAT_LIST(X)
#undef X
	};
	const struct count sums[] = {
		{ .name = "hits", .help = "calls of this process that were recorded or lost", .class = COUNT_HIT,
		  .value = a->recorded + account_lost(a) },
		{ .name = "recorded", .help = "events of this process", .class = COUNT_RECORDED, .value = a->recorded },
	};
	int rc = catalog_put_count(to, &sums[0]);
	rc = rc ? rc : catalog_put_count(to, &sums[1]);
	for (int i = 0; !rc && i < ALYS_LOSS_CNT; i++) {
		struct count c = { .name = stages[ALYS_LOSS_FIRST + i].name, .help = stages[ALYS_LOSS_FIRST + i].help,
				   .class = COUNT_LOST, .value = a->lost.n[i] };
		rc = catalog_put_count(to, &c);
	}
	return rc ? -ENOMEM : 0;
}
