/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lists of a thread as its own refills tell them: behind a refill a register points to the list. So they are found before the kernel
 * knows the thread's pointer (THREAD_POINTER_LATE).
 */
#ifndef ALYS_LEARN_BPF_H
#define ALYS_LEARN_BPF_H

/*
 * While a thread's lists are not known, none has been refilled yet, as they become known by that (lists_learn): each call leaves
 * by an exit that is probed. Remembers which list this one would take, until another call does; what is called to refill it
 * (GC_generic_malloc_many) is none.
 */
static __noinline int lists_ask(struct pt_regs *ctx, const struct alys_site *site, struct call_room *t, __u64 size, __u64 cfa)
{
	const struct alys_object *o = site->flags & ALYS_SITE_LISTS ? object_of(site) : NULL;
	__u64 bias = bias_of(ctx, site);
	if (!o)
		return 0;
	t->asked = 0;
	if (lists_known(t, site, o, bias) ||
	    bpf_probe_read_user(&t->extra, sizeof(t->extra), (void *)(o->lists.extra_vaddr + bias)))
		return 0;
	__s64 at = list_offset(&o->lists, size, t->extra, argument(ctx, site->kind_arg));
	t->asked_at = at;
	t->asked = at < 0 ? 0 : cfa;
	return 0;
}

/* At each exit. */
static __always_inline void lists_learn(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa)
{
	struct call_room *t = site->reg > ALYS_REG_LIST ? thread_room() : NULL;
	if (!t || t->asked != cfa)
		return;
	lists_set(t, list_in(ctx, site) - t->asked_at, THREAD_POINTER(current_task()), site->object);
	t->asked = 0;
}

#endif
