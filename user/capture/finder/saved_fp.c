/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/saved_fp: see saved_fp.h. Prologues push the register before they use it; epilogues pop it, after which it is the caller's
 * again.
 */
#include "finder/saved_fp.h"

#include <stdlib.h>

#define UNREACHED (-2)
#define MAX_ROUNDS 64

static bool writes_fp(const struct insn *in)
{
	return in->frame != INSN_BP_KEPT;
}

static bool restores_fp(const struct insn *in)
{
	return writes_fp(in) && (in->stack == INSN_SP_LEAVE || (in->stack == INSN_SP_ADD && in->sp_delta > 0));
}

static int32_t after(const struct flow_node *n, int32_t before)
{
	const struct insn *in = &n->in;
	/* What is below the stack pointer is anybody's. */
	if (before > 0 && flow_cfa_known(n) && before > n->cfa)
		return SAVED_FP_LOST;
	if (in->pushes_fp && !before && flow_cfa_known(n))
		return n->cfa - in->sp_delta;
	if (!writes_fp(in))
		return before;
	if (before > 0)
		return restores_fp(in) ? 0 : before;
	return SAVED_FP_LOST;
}

static bool note(int32_t *at, int32_t value)
{
	int32_t had = *at;
	*at = had == UNREACHED || had == value ? value : SAVED_FP_LOST;
	return *at != had;
}

static bool step(const struct flow *w, size_t i, int32_t *at)
{
	const struct flow_node *n = &w->nodes[i];
	const int32_t to[2] = { n->next, n->jump };
	int32_t value = after(n, at[i]);
	bool changed = false;
	for (int k = 0; k < 2; k++)
		changed |= to[k] >= 0 && note(&at[to[k]], value);
	return changed;
}

int32_t *saved_fp(const struct flow *w)
{
	int32_t *at = calloc(w->nodes_cnt + 1, sizeof(*at));
	bool changed = at && insn_machine.link < 0;
	for (size_t i = 0; changed && i < w->nodes_cnt; i++)
		at[i] = i ? w->nodes[i].root ? SAVED_FP_LOST : UNREACHED : 0;
	for (int round = 0; changed && round < MAX_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < w->nodes_cnt; i++)
			changed |= at[i] != UNREACHED && step(w, i, at);
	}
	for (size_t i = 0; at && i < w->nodes_cnt; i++)
		at[i] = changed || at[i] == UNREACHED ? SAVED_FP_LOST : at[i];
	return at;
}
