/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/plan: state shared while one ELF file is analysed: its functions, and the analysed bodies of those that matter.
 */
#ifndef ALYS_FINDER_PLAN_H
#define ALYS_FINDER_PLAN_H

#include "code/values.h"
#include "finder/asked.h"
#include "sites/sites.h"

struct body {
	struct flow flow;
	bool leads_out;  /* results of a probed function leave through it */
	bool ret_only;   /* results may be read at its `ret` only */
	bool with_calls; /* nested calls are recognized by their caller, so calls may follow a site */
	uint32_t *exits; /* if leads_out: indices into the list's exits */
	size_t exits_cnt, exits_cap;
};

struct plan {
	const struct sites_options *options;
	const char *path;
	struct site_list *list;
	struct funcs funcs;
	const struct alloc_provider *provider;
	struct body **bodies; /* pointers, so that bodies do not move */
	size_t bodies_cnt, bodies_cap;
};

/* The analysed function at vaddr; NULL when out of memory. */
struct body *plan_body(struct plan *p, uint64_t vaddr, uint64_t size);
void plan_free(struct plan *p);
/* Register (INSN_*) of integer argument n. */
int plan_arg_reg(unsigned int n);
/* Does the unwind table agree about n's CFA, or know nothing of it? ctx is the plan. */
bool plan_cfa_ok(void *ctx, const struct flow_node *n);

/*
 * Are the instructions wanted at which its calls return? For their results; or for the time that they take, where a `ret` costs no more
 * than an entry.
 */
bool plan_ends_wanted(const struct site *s);

/* Does a walk that begins at this node find the return address? */
bool plan_return_known(const struct flow *w, const struct flow_node *n);

#endif
