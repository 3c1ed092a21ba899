/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions: see functions.h. The probe goes to the first instruction that the kernel emulates, on the straight way from
 * the entry, which no other instruction leads to: each call passes it exactly once.
 */
#include "functions/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/flow.h"
#include "functions/patterns.h"

#define MAX_STEPS 64

/* The node for the probe; -1: there is none that each call passes exactly once. */
static int32_t place(const struct flow *w)
{
	int32_t plain = -1, i = w->nodes_cnt && !w->nodes[0].preds ? 0 : -1;
	for (int n = 0; i >= 0 && n < MAX_STEPS; n++) {
		const struct flow_node *node = &w->nodes[i];
		if (i && (node->preds != 1 || node->root))
			break;
		if (node->in.cost == INSN_EMULATED)
			return i;
		if (plain < 0 && node->in.cost != INSN_REFUSED)
			plain = i;
		i = node->in.flow == INSN_NEXT && !node->in.reserves ? node->next : -1;
	}
	return plain;
}

/* Symbols of C++ that differ in the kind of constructor or destructor at most: _ZN3BoxD0Ev and _ZN3BoxD1Ev. */
static bool are_kinds(const char *a, const char *b)
{
	size_t n = 0;
	while (a[n] && a[n] == b[n])
		n++;
	return n && (a[n - 1] == 'C' || a[n - 1] == 'D') && a[n] && b[n] && !strcmp(a + n + 1, b + n + 1);
}

/*
 * Does the function leave its work to another kind of the same constructor or destructor, which is counted, too? A deleting destructor
 * calls the complete one. Both are one function to the program.
 */
static bool is_passed_on(const struct flow *w, const struct func *fn, const char *shown, struct patterns *p)
{
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		const char *to = w->nodes[i].to;
		if (to && are_kinds(fn->name, to) && patterns_match(p, to) && !strcmp(shown, buf_str(&p->shown)))
			return true;
	}
	return false;
}

static int choose_place(const struct funcs *funcs, const struct func *fn, struct patterns *p, struct chosen_function *out)
{
	struct flow w = { 0 };
	if (flow_build(&w, funcs, fn->vaddr, fn->size))
		return -ENOMEM;
	if (is_passed_on(&w, fn, out->name, p)) {
		flow_free(&w);
		return -EALREADY;
	}
	int32_t at = place(&w);
	bool found = at >= 0 && elf_offset_of(funcs->elf, w.nodes[at].in.vaddr, &out->offset);
	out->emulated = found && w.nodes[at].in.cost == INSN_EMULATED;
	flow_free(&w);
	return found ? 0 : -ENOENT;
}

/* Has a compiler added this mark, perhaps with a number? Rust's symbols have two dots between the names of a path. */
static bool is_marked(const char *symbol, const char *mark)
{
	for (const char *at = symbol; (at = strstr(at, mark)); at++) {
		char next = at[strlen(mark)];
		if (at > symbol && at[-1] != '.' && (!next || next == '.'))
			return true;
	}
	return false;
}

bool function_is_part(const struct func *fn)
{
	return fn->indirect || is_marked(fn->name, ".cold") || is_marked(fn->name, ".part") || !strncmp(fn->name, "_ZTh", 4) ||
	       !strncmp(fn->name, "_ZTv", 4) || !strncmp(fn->name, "_ZTc", 4);
}

static int note_unplaced(struct function_list *l, const char *shown)
{
	l->unplaceable++;
	if (!l->first_unplaced)
		l->first_unplaced = strdup(shown);
	return l->first_unplaced ? 0 : -ENOMEM;
}

static int add(struct function_list *l, const struct funcs *funcs, const struct func *fn, struct patterns *p)
{
	struct chosen_function found = { .vaddr = fn->vaddr, .name = strdup(buf_str(&p->shown)) };
	int rc = found.name ? choose_place(funcs, fn, p, &found) : -ENOMEM;
	struct chosen_function *at = rc ? NULL : VEC_PUSH(l, at);
	l->matched += rc != -EALREADY;
	if (at) {
		*at = found;
		return 0;
	}
	rc = rc == -EALREADY ? 0 : rc == -ENOENT ? note_unplaced(l, found.name) : -ENOMEM;
	free(found.name);
	return rc;
}

/* Several symbols may name one address: any of them may match, and it counts once. */
static int find_in(const struct funcs *funcs, struct patterns *p, uint32_t most, struct function_list *out)
{
	uint64_t last = UINT64_MAX;
	int rc = 0;
	for (size_t i = 0; i < funcs->list_cnt && !rc; i++) {
		const struct func *fn = &funcs->list[i];
		uint64_t by = function_is_part(fn) ? 0 : patterns_match(p, fn->name);
		out->used |= by;
		if (!by || fn->vaddr == last)
			continue;
		last = fn->vaddr;
		if (out->at_cnt < most)
			rc = add(out, funcs, fn, p);
		else
			out->matched++;
	}
	return rc;
}

int functions_find(const struct elf *e, const char *path, const struct functions_ask *ask, struct function_list *out)
{
	struct patterns *p = patterns_of(ask->patterns, path);
	struct funcs funcs;
	*out = (struct function_list){ .stripped = !elf_has_section(e, ".symtab"),
				       .has_debug = elf_has_section(e, ".debug_info") };
	int rc = p ? 0 : -ENOMEM;
	if (!rc && p->n) {
		rc = funcs_load(&funcs, e, NULL) ? -ENOMEM : find_in(&funcs, p, ask->most, out);
		funcs_free(&funcs);
	}
	patterns_free(p);
	return rc;
}

void functions_free(struct function_list *l)
{
	for (size_t i = 0; i < l->at_cnt; i++)
		free(l->at[i].name);
	free(l->at);
	free(l->first_unplaced);
	*l = (struct function_list){ 0 };
}

void inlined_free(struct inlined_list *l)
{
	for (size_t i = 0; i < l->at_cnt; i++)
		free(l->at[i].name);
	free(l->at);
	*l = (struct inlined_list){ 0 };
}
