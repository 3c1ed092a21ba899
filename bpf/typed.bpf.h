/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks to which the program itself gives a type, as the Erlang VM does: erts_alcu_alloc(type, allocator, size). */
#ifndef ALYS_TYPED_BPF_H
#define ALYS_TYPED_BPF_H

/* As in struct alys_ev_stack; 0 = no type, or a number that does not fit. */
static __noinline __u32 memory_typed(struct pt_regs *ctx, const struct alys_site *site)
{
	__u32 type = site->typed ? argument(ctx, site->kind_arg) : ALYS_MEMORY_TYPED;
	return type < ALYS_MEMORY_TYPED ? ALYS_MEMORY_TYPED | type : 0;
}

/* Global, so that it is verified once. */
__noinline int is_own_type(__u32 object, __u32 memory)
{
	const struct alys_object *o = bpf_map_lookup_elem(&objects, &object);
	__u32 type = memory & (ALYS_MEMORY_TYPED - 1);
	int own = 0;
	for (int i = 0; o && i < ALYS_BEAM_OWN_TYPES; i++)
		own |= o->beam.own_types[i] == type;
	return own && type;
}

/* A block for the heap of an Erlang process, whose words are recorded. */
static __always_inline bool is_counted_elsewhere(struct pt_regs *ctx, const struct alys_site *site)
{
	return site->typed && is_own_type(site->object, memory_typed(ctx, site));
}

#endif
