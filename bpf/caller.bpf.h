/* SPDX-License-Identifier: GPL-2.0-only */
/* Who made a call: the program, or the allocator itself. */
#ifndef ALYS_CALLER_BPF_H
#define ALYS_CALLER_BPF_H

/* A thread that seems to be this deep inside an allocator has left it by a jump. */
#define NEST_SPAN (1 << 20)

/* The load bias needs no table: the probed address is known in the file and in the process. */
static __always_inline __u64 bias_of(struct pt_regs *ctx, const struct alys_site *site)
{
	return PT_REGS_IP(ctx) - site->vaddr;
}

static __always_inline struct alys_object *object_of(const struct alys_site *site)
{
	__u32 i = site->object;
	return bpf_map_lookup_elem(&objects, &i);
}

/* Does the allocator's own code make this call, other than for the program's sake (GC_strdup)? */
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
