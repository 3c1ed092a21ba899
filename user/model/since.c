/* model/since: what was allocated between two snapshots of one heap. See model.h. */
#include "model/model.h"

static int compare(const struct snapshot_row *x, const struct snapshot_row *y)
{
	if (x->stack.n != y->stack.n)
		return x->stack.n < y->stack.n ? -1 : 1;
	if (x->proc.n != y->proc.n)
		return x->proc.n < y->proc.n ? -1 : 1;
	return (x->split > y->split) - (x->split < y->split);
}

/* Never below zero: rows of a heap that was thinned in between are smaller than they were. */
static void subtract(struct totals *now, const struct totals *then)
{
	now->alloc_cnt -= then->alloc_cnt < now->alloc_cnt ? then->alloc_cnt : now->alloc_cnt;
	now->alloc_sz -= then->alloc_sz < now->alloc_sz ? then->alloc_sz : now->alloc_sz;
	now->est_alloc_cnt -= then->est_alloc_cnt < now->est_alloc_cnt ? then->est_alloc_cnt : now->est_alloc_cnt;
	now->est_alloc_sz -= then->est_alloc_sz < now->est_alloc_sz ? then->est_alloc_sz : now->est_alloc_sz;
	now->var_alloc_sz -= then->var_alloc_sz < now->var_alloc_sz ? then->var_alloc_sz : now->var_alloc_sz;
}

void snapshot_since(struct snapshot *now, const struct snapshot *then)
{
	size_t k = 0;
	for (size_t i = 0; i < now->n; i++) {
		while (k < then->n && compare(&then->rows[k], &now->rows[i]) < 0)
			k++;
		if (k < then->n && !compare(&then->rows[k], &now->rows[i]))
			subtract(&now->rows[i].t, &then->rows[k].t);
	}
	subtract(&now->all, &then->all);
}
