/* SPDX-License-Identifier: Apache-2.0 */
/* probe/entered: see entered.h. */
#include "probe/entered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.skel.h"
#include "base/vec.h"
#include "probe/link.h"
#include "probe/load.h"

int probe_attach_entries(struct probe *p, const struct probe_entries *e, struct err *err)
{
	struct batch b = { .prog = p->skel->progs.count_entry, .not_allocator = true };
	struct probed_file *file = file_prepare(p, probe_file_of(e->file_fd), e->tgid);
	int rc = file ? 0 : err_set(err, ENOMEM, "out of memory");
	if (rc || (!e->tgid && file->entered))
		return rc;
	for (size_t i = 0; i < e->n && !rc; i++) {
		if (batch_add(&b, e->offsets[i], e->numbers[i] | (e->tgid ? ALYS_COOKIE_FILTERED : 0)))
			rc = err_set(err, ENOMEM, "out of memory");
	}
	rc = rc ?: program_ready(p, b.prog, err);
	rc = rc ?: batch_attach(&b, p, e->tgid, e->file_fd, err);
	file->entered |= !e->tgid && !rc;
	batch_free(&b);
	return rc;
}

struct list {
	struct entered_count *at;
	size_t at_cnt, at_cap;
};

static int compare(const void *a, const void *b)
{
	const struct alys_entered *x = &((const struct entered_count *)a)->of, *y = &((const struct entered_count *)b)->of;
	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static int read_all(int map, uint64_t *values, int cpus, struct list *out)
{
	struct alys_entered key, *before = NULL;
	while (!bpf_map_get_next_key(map, before, &key)) {
		struct entered_count *c = VEC_PUSH(out, at);
		if (!c)
			return -ENOMEM;
		*c = (struct entered_count){ .of = key };
		if (bpf_map_lookup_elem(map, &key, values))
			memset(values, 0, (size_t)cpus * sizeof(*values));
		for (int i = 0; i < cpus; i++)
			c->calls += values[i];
		key = c->of;
		before = &key;
	}
	return 0;
}

int probe_entered(const struct probe *p, struct entered_count **out, size_t *n)
{
	struct list found = { 0 };
	int cpus = libbpf_num_possible_cpus();
	uint64_t *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
	int rc = values ? read_all(bpf_map__fd(p->skel->maps.entered), values, cpus, &found) : -ENOMEM;
	free(values);
	if (rc) {
		free(found.at);
		return rc;
	}
	if (found.at_cnt)
		qsort(found.at, found.at_cnt, sizeof(*found.at), compare);
	*out = found.at;
	*n = found.at_cnt;
	return 0;
}

void probe_forget_entered(const struct probe *p, const struct alys_entered *of)
{
	bpf_map_delete_elem(bpf_map__fd(p->skel->maps.entered), of);
}
