/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What GC_malloc_kind will return, known at its entry: with thread-local free lists nearly every call
 * takes the head of a list, and nobody but this thread can change that list. One probe instead of two.
 */
#ifndef ALYS_PREDICT_BPF_H
#define ALYS_PREDICT_BPF_H

#define GRANULE 16 /* GC_GRANULE_BYTES on 64-bit machines */

static __always_inline bool read_word(__u64 *out, __u64 addr)
{
	return bpf_probe_read_user(out, sizeof(*out), (void *)addr) == 0;
}

/* Blocks that fit into a page: no freshly filled list has more. */
#define LIST_MAX (ALYS_REFILL_SPAN / GRANULE)
/* Blocks per call of list_step: a call and its return take longer than a block. */
#define LIST_AT_ONCE 8

_Static_assert(WINDOW_SZ >= USER_PAGE, "a page is read into a walk's window");

struct list_walk {
	__u64 block;
	__u64 page; /* address of the words read last */
	__u64 *words;
	__u64 n;
};

/* The next block is mostly in the same page, which is read at once. */
static long list_step(__u32 i, struct list_walk *l)
{
	__u64 block = l->block;
	(void)i;
	for (int k = 0; k < LIST_AT_ONCE && block; k++) {
		__u64 page = block & ~(USER_PAGE - 1ull);
		l->n++;
		if (page != l->page && bpf_probe_read_user(l->words, USER_PAGE, (void *)page))
			return 1;
		l->page = page;
		block = l->words[block % USER_PAGE / 8];
	}
	l->block = block;
	return !block;
}

static __always_inline int list_walk(__u64 block)
{
	struct walk_slot *w = slot_claim();
	if (!w)
		return 0;
	struct list_walk l = { .block = block, .words = w->window };
	bpf_loop(LIST_MAX / LIST_AT_ONCE, list_step, &l, 0);
	slot_release(w);
	return l.n;
}

/*
 * Number of blocks that are linked by their first words; 0 if unknown. Global, so that it is verified once. The page
 * is read with bpf_loop only (5.17, commit e6f2dd0f8067): unrolled, it would take the verifier too many instructions.
 */
__weak int list_length(__u64 block)
{
	int n = 0;
	if (!block)
		return 0;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return list_walk(block);
	for (int i = 0; i < LIST_MAX && block; i++) {
		n++;
		if (!read_word(&block, block))
			break;
	}
	return n;
}

/* Address of the thread-local variable; the table of blocks has one entry of 16 bytes per module. */
static __always_inline __u64 tls_address(const struct alys_lists *l, __u64 fsbase, __u64 bias)
{
	__u64 index[2], dtv, block;
	if (THREAD_POINTER_LATE && !fsbase)
		return 0;
	if (!l->tls_index_vaddr)
		return fsbase + l->tls_offset;
	if (bpf_probe_read_user(index, sizeof(index), (void *)(l->tls_index_vaddr + bias)))
		return 0;
	if (TLS_OFFSET(index))
		return fsbase + TLS_OFFSET(index);
	if (TLS_INDEX_AT(index) && bpf_probe_read_user(index, sizeof(index), (void *)TLS_INDEX_AT(index)))
		return 0;
	if (!read_word(&dtv, DTV_AT(fsbase)) || !read_word(&block, dtv + index[0] * 16))
		return 0;
	return block + index[1];
}

static __always_inline void lists_set(struct call_room *t, __u64 lists, __u64 fsbase, __u32 object)
{
	t->fsbase = fsbase;
	t->object = object;
	t->lists = lists;
	t->execution = current_task()->self_exec_id;
}

static __noinline bool lists_look_up(struct call_room *t, const struct alys_site *site, const struct alys_object *o, __u64 bias)
{
	__u64 fsbase = THREAD_POINTER(current_task());
	bool stale = THREAD_POINTER_LATE && fsbase == t->stale;
	__u64 pointer = stale ? 0 : tls_address(&o->lists, fsbase, bias), lists = 0;
	if (!pointer || !read_word(&lists, pointer) ||
	    bpf_probe_read_user(&t->extra, sizeof(t->extra), (void *)(o->lists.extra_vaddr + bias)))
		lists = 0;
	lists_set(t, lists, fsbase, site->object);
	return lists != 0;
}

/* False when the thread has no lists (yet). */
static __always_inline bool lists_known(struct call_room *t, const struct alys_site *site, const struct alys_object *o,
					__u64 bias)
{
	struct task_struct *task = current_task();
	bool same = t->execution == task->self_exec_id && t->fsbase == THREAD_POINTER(task) && t->object == site->object;
	return (same && t->lists) || lists_look_up(t, site, o, bias);
}

/* Where the list for this request lies in a thread's lists; negative if there is none. */
static __always_inline __s64 list_offset(const struct alys_lists *l, __u64 size, __u32 extra, __u32 kind)
{
	__u64 granules = (size + extra + GRANULE - 1) / GRANULE;
	if (kind >= l->kinds || size > 1 << 20 || granules >= l->per_kind)
		return -1;
	return (kind * l->per_kind + granules) * 8;
}

enum prediction {
	PREDICT_NOTHING, /* the call ends at one of the slow exits, with its result in a register */
	PREDICT_REFILL,  /* at the exit after the refill the list's head is the result */
	PREDICT_RESULT,
};

/* *word: the list's head; *out: the address of that. */
static __always_inline enum prediction predict(const struct alys_object *o, const struct call_room *t, __u64 size, __u32 kind,
					       __u64 *word, __u64 *out)
{
	__s64 at = list_offset(&o->lists, size, t->extra, kind);
	if (at < 0)
		return PREDICT_NOTHING;
	*out = t->lists + at;
	/* Through the BPF stack: the kernel checks other destinations longer before it copies. */
	__u64 head;
	if (!read_word(&head, *out))
		return PREDICT_NOTHING;
	*word = head;
	if (head > o->lists.top)
		return PREDICT_RESULT;
	return !head || head > o->lists.counting ? PREDICT_REFILL : PREDICT_NOTHING;
}

#endif
