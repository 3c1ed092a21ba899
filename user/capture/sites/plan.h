/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/plan: what the files that choose sites share while one ELF file is looked at: its functions,
 * and the analysed bodies of those that matter.
 */
#ifndef ALYS_SITES_PLAN_H
#define ALYS_SITES_PLAN_H

#include "code/values.h"
#include "sites/sites.h"

struct body {
	struct flow flow;
	bool leads_out;  /* results of some probed function leave through it */
	bool ret_only;   /* a result may be looked at only when the function is done */
	bool with_calls; /* nested calls are told by their caller, so a site may precede some */
	uint32_t *exits; /* when leads_out: indices into the list's exits */
	size_t exits_cnt, exits_cap;
};

struct plan {
	const struct sites_options *options;
	const char *path;
	struct site_list *list;
	struct funcs funcs;
	const struct alloc_provider *provider;
	struct body **bodies; /* pointers, so that a body stays where it is */
	size_t bodies_cnt, bodies_cap;
};

/* The analysed function at vaddr; NULL when memory is out. */
struct body *plan_body(struct plan *p, uint64_t vaddr, uint64_t size);
void plan_free(struct plan *p);
/* Register (INSN_*) of integer argument n. */
int plan_arg_reg(unsigned int n);
/* ALYS_REG_* of the best of these registers (INSN_BIT). */
uint8_t plan_wire_reg(uint16_t regs);
/* Whether another source says the same about n's CFA, or nothing. ctx is the plan. */
bool plan_cfa_ok(void *ctx, const struct flow_node *n);

#endif
