/* SPDX-License-Identifier: Apache-2.0 */
/* target/reports: see reports.h. */
#include "target/reports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define REPORTS_MAX 4096

static void drop_at(struct reports *r, size_t i)
{
	free((char *)r->list[i].line.path);
	memmove(&r->list[i], &r->list[i + 1], (--r->list_cnt - i) * sizeof(*r->list));
}

int reports_put(struct reports *r, const struct report *report)
{
	if (r->list_cnt == REPORTS_MAX)
		drop_at(r, 0);
	char *path = strdup(report->line.path);
	struct report *last = path ? VEC_PUSH(r, list) : NULL;
	if (!last) {
		free(path);
		return -ENOMEM;
	}
	/* Reports of one CPU are in order, those of different CPUs nearly so. */
	size_t i = r->list_cnt - 1;
	for (; i && r->list[i - 1].time_ns > report->time_ns; i--)
		r->list[i] = r->list[i - 1];
	r->list[i] = *report;
	r->list[i].line.path = path;
	return 0;
}

const struct report *reports_first(const struct reports *r, uint32_t tgid, uint64_t until_ns)
{
	for (size_t i = 0; i < r->list_cnt && r->list[i].time_ns <= until_ns; i++) {
		if (r->list[i].tgid == tgid)
			return &r->list[i];
	}
	return NULL;
}

const struct report *reports_first_replacing(const struct reports *r)
{
	for (size_t i = 0; i < r->list_cnt; i++) {
		if (r->list[i].replaces)
			return &r->list[i];
	}
	return NULL;
}

uint64_t reports_due(const struct reports *r)
{
	const struct report *first = reports_first_replacing(r);
	return first ? first->time_ns : UINT64_MAX;
}

size_t reports_overlapping(const struct reports *r, uint32_t tgid, uint64_t after_ns, uint64_t start, uint64_t end)
{
	size_t n = 0;
	for (size_t i = r->list_cnt; i-- > 0 && r->list[i].time_ns > after_ns;) {
		const struct report *one = &r->list[i];
		n += one->tgid == tgid && one->line.start < end && start < one->line.end;
	}
	return n;
}

void reports_drop(struct reports *r, const struct report *one)
{
	drop_at(r, (size_t)(one - r->list));
}

void reports_forget(struct reports *r, uint32_t tgid, uint64_t until_ns)
{
	const struct report *one;
	while ((one = reports_first(r, tgid, until_ns)))
		reports_drop(r, one);
}

void reports_free(struct reports *r)
{
	while (r->list_cnt)
		drop_at(r, r->list_cnt - 1);
	free(r->list);
	*r = (struct reports){ 0 };
}
