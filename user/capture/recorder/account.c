/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/account: see account.h. */
#include "recorder/account.h"

#include <errno.h>
#include <stdio.h>

struct account account_read(const struct probe *p, uint32_t tgid, uint64_t recorded)
{
	struct account a = { .recorded = recorded };
	probe_losses(p, tgid, &a.lost);
	for (int i = 0; i < ALYS_LOST_FUNCTIONS; i++)
		a.left[i] = a.lost.left[i].account ? probe_function(p, a.lost.left[i].account) : NULL;
	return a;
}

uint64_t account_lost(const struct account *a)
{
	uint64_t sum = 0;
	for (int i = 0; i < ALYS_LOSS_CNT; i++)
		sum += a->lost.n[i];
	return sum;
}

void account_lost_by(const struct account *a, char *out, size_t cap)
{
	static const char *const names[ALYS_ST_CNT] = {
#define X(n, id, cls, text, what) [n] = text,
		ALYS_STAT_LIST(X)
#undef X
	};
	size_t n = 0;
	*out = 0;
	for (int i = 0; i < ALYS_LOSS_CNT && n < cap; i++) {
		if (a->lost.n[i])
			n += (size_t)snprintf(out + n, cap - n, "%s%s %llu", n ? ", " : "", names[ALYS_LOSS_FIRST + i],
					      (unsigned long long)a->lost.n[i]);
	}
}

struct account account_since(const struct account *now, const struct account *before)
{
	struct account out = { .recorded = now->recorded - before->recorded };
	for (int i = 0; i < ALYS_LOSS_CNT; i++)
		out.lost.n[i] = now->lost.n[i] - before->lost.n[i];
	for (int i = 0; i < ALYS_LOST_FUNCTIONS; i++) {
		out.left[i] = now->left[i];
		out.lost.left[i].n = now->lost.left[i].n - before->lost.left[i].n;
	}
	return out;
}

/* Subtracts from *rest what is listed by function. */
static int put_functions(const struct account *a, struct catalog *to, uint64_t *rest)
{
	int rc = 0;
	for (int i = 0; i < ALYS_LOST_FUNCTIONS && !rc; i++) {
		char name[PROBE_FUNCTION_LEN + 16];
		uint64_t n = a->lost.left[i].n < *rest ? a->lost.left[i].n : *rest;
		if (!a->left[i] || !n)
			continue;
		snprintf(name, sizeof(name), "no-return-%s", a->left[i]);
		*rest -= n;
		rc = catalog_put_count(to, &(struct count){ .name = name,
							    .class = COUNT_LOST,
							    .value = n,
							    .help = "calls of this function that were not seen to leave" });
	}
	return rc;
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
		{ .name = "hits",
		  .help = "calls of this process that were recorded or lost",
		  .class = COUNT_HIT,
		  .value = a->recorded + account_lost(a) },
		{ .name = "recorded", .help = "events of this process", .class = COUNT_RECORDED, .value = a->recorded },
	};
	int rc = catalog_put_count(to, &sums[0]);
	rc = rc ? rc : catalog_put_count(to, &sums[1]);
	const int no_return = ALYS_ST_LOST_NO_RETURN - ALYS_LOSS_FIRST;
	uint64_t rest = a->lost.n[no_return];
	rc = rc ? rc : put_functions(a, to, &rest);
	for (int i = 0; !rc && i < ALYS_LOSS_CNT; i++) {
		struct count c = { .name = stages[ALYS_LOSS_FIRST + i].name,
				   .help = stages[ALYS_LOSS_FIRST + i].help,
				   .class = COUNT_LOST,
				   .value = i == no_return ? rest : a->lost.n[i] };
		rc = catalog_put_count(to, &c);
	}
	return rc ? -ENOMEM : 0;
}
