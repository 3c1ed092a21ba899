/* SPDX-License-Identifier: GPL-2.0-only */
/* Who made a call: the program, or the allocator itself. */
#ifndef ALYS_CALLER_BPF_H
#define ALYS_CALLER_BPF_H

/* Bytes of stack. A thread this far below a recorded call must have left that call by longjmp or an exception. */
#define NEST_SPAN (1 << 20)

/* No table needed: the probed address is known both in the file and in the process. */
static __always_inline __u64 bias_of(struct pt_regs *ctx, const struct alys_site *site)
{
	return PT_REGS_IP(ctx) - site->vaddr;
}

static __always_inline struct walk_start start_of(const struct alys_site *site, __u64 cfa)
{
	return (struct walk_start){ .cfa = cfa, .into = site->into, .fp_off = site->fp_off };
}

static __always_inline struct alys_object *object_of(const struct alys_site *site)
{
	__u32 i = site->object;
	return bpf_map_lookup_elem(&objects, &i);
}

/* Does the allocator's own code make this call? Not counted: wrappers that allocate on the program's behalf (GC_strdup). */
static __always_inline bool is_internal(struct pt_regs *ctx, const struct alys_site *site, __u64 caller)
{
	const struct alys_object *o = object_of(site);
	if (!o || !caller)
		return false;
	caller -= bias_of(ctx, site);
	if (caller < o->text_lo || caller >= o->text_hi)
		return false;
	for (int i = 0; i < ALYS_MAX_WRAPPERS && o->wrappers[i].lo; i++) {
		if (caller >= o->wrappers[i].lo && caller < o->wrappers[i].hi)
			return false;
	}
	return true;
}

#endif
