/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages that enter and leave the resident set of a process, without a probe in it. What is watched:
 *
 *   page faults                          an address is touched; whether a page comes is not known yet (fault.bpf.h)
 *   the tracepoint rss_stat              a counter of the process' memory has changed: that is the truth
 *   the tracepoint vm_unmapped_area      mremap has found a new place
 *
 * Where pages come or leave, the thread's registers at its entry into the kernel show what it was doing: the stack of a
 * first touch, or the call and its range. All are about the current thread and its own memory: what the kernel does to
 * others (reclaim, the copy at fork) is not asked here.
 */
#ifndef ALYS_RESIDENT_BPF_H
#define ALYS_RESIDENT_BPF_H

#define RSS_SWAP 2
#define RSS_COUNTERS 4
/* Faults a tick of the kernel's clock and processor that are looked at whatever the sampling interval. */
#define EXACT_A_TICK 4
/* What a fault brings: a page, those around it if they are a file's, or a huge page. */
#define AROUND_PAGES 16
#define HUGE_PAGES 512

/* Last fault of a thread, until its page has come. */
struct touch {
	__u64 addr; /* 0 = none */
	__u64 ip, sp;
	__u64 every; /* faults that it stands for, 0 = only itself */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct touch);
} touches SEC(".maps") __weak;

/* What this processor's counters of a process held at the last change: the difference is how many pages came or left. */
struct rss_seen {
	struct alys_faults faults; /* first: the loader reads it */
	__u32 opening;             /* value of windows_opened */
	__u64 owner;               /* mm and process; 0 = not known */
	__s64 sum[RSS_COUNTERS];
	__s32 own[RSS_COUNTERS];
	__u64 tick;
	__u32 in_tick;
	__u32 placed;        /* part is known */
	__u64 every, left;   /* one fault in so many is looked at, 0 = all; how many are not before the next one */
	__u64 passed;        /* the last fault was not looked at */
	__u64 part;          /* of the kernel's memory: what a common address is to be added to here */
	__u64 map, self, mm; /* pointers, for arithmetic as numbers */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rss_seen);
} rss_counters SEC(".maps") __weak;

static __always_inline void count_pages(enum alys_stat id, __u64 pages)
{
	__u32 zero = 0;
	struct alys_stats *s = bpf_map_lookup_elem(&stats, &zero);
	if (s)
		__sync_fetch_and_add(&s->n[id], pages);
}

/*
 * Where the kernel keeps this processor's counters. There is no interface for that, but a map with a copy for each
 * processor lies there, too: this copy's address, less the common one, is the same distance.
 */
static __noinline int rss_place(struct rss_seen *seen)
{
	__u64 common = 0;
	*(void *volatile *)&seen->map = &rss_counters;
	*(void *volatile *)&seen->self = seen;
	__u64 at = *(volatile __u64 *)&seen->map + bpf_core_field_offset(struct bpf_array, pptrs);
	if (!bpf_probe_read_kernel(&common, sizeof(common), (void *)at)) {
		seen->part = *(volatile __u64 *)&seen->self - common;
		seen->placed = 1;
	}
	return 0;
}

static __always_inline bool is_shut(void)
{
	return config.page_windows && window_shut;
}

/* True if this is the first of this processor in a window: counters from before are not known any more. */
static __always_inline bool is_opened(struct rss_seen *seen)
{
	if (seen->opening == windows_opened)
		return false;
	seen->opening = windows_opened;
	seen->owner = 0;
	return true;
}

static __always_inline struct rss_seen *rss_seen(void)
{
	__u32 zero = 0;
	struct rss_seen *seen = bpf_map_lookup_elem(&rss_counters, &zero);
	if (seen && !seen->placed)
		rss_place(seen);
	return seen;
}

/* As a number: the verifier lets no pointer be mixed, and this costs a tenth of a call that reads it. */
static __always_inline __u64 mm_of(const struct task_struct *task, struct rss_seen *seen)
{
	*(void *volatile *)&seen->mm = task->mm;
	return *(volatile __u64 *)&seen->mm;
}

static __always_inline __u64 rss_owner(const struct task_struct *task, __u64 mm)
{
	return mm ^ (__u64)(__u32)task->tgid << 48;
}

#ifndef ALYS_NO_KFUNCS
/* Loads that the kernel's exception table guards: copies by bpf_probe_read_kernel were half the cost of a page. */
static __always_inline void rss_load(__u64 part, __u64 at, __s64 *sum, __s32 *own)
{
	const struct percpu_counter *c = bpf_rdonly_cast((void *)at, bpf_core_type_id_kernel(struct percpu_counter));
	*sum = c->count;
	const struct refcount_struct *n =
		bpf_rdonly_cast((void *)c->counters + part, bpf_core_type_id_kernel(struct refcount_struct));
	*own = n->refs.counter;
}
#else
static __always_inline void rss_load(__u64 part, __u64 at, __s64 *sum, __s32 *own)
{
	const struct percpu_counter *c = (void *)at;
	*sum = BPF_CORE_READ(c, count);
	bpf_probe_read_kernel(own, sizeof(*own), (void *)BPF_CORE_READ(c, counters) + part);
}
#endif

/* CO-RE knows the place of the first counter and their size. */
static __always_inline void rss_read(__u64 part, __u64 mm, __u32 member, __s64 *sum, __s32 *own)
{
	__u64 first = mm + bpf_core_field_offset(struct mm_struct, rss_stat);
	rss_load(part, first + member * bpf_core_type_size(struct percpu_counter), sum, own);
}

/* Before a page comes: what is there. */
static __noinline int rss_begin(struct rss_seen *seen, __u64 owner, __u64 mm)
{
	for (__u32 i = 0; i < RSS_COUNTERS; i++)
		rss_read(seen->part, mm, i, &seen->sum[i], &seen->own[i]);
	seen->owner = owner;
	return 0;
}

/*
 * This processor's count has become 0, and the sum has changed: either this count was added to the sum, which takes a batch,
 * or it has come to 0 by itself while another processor added its own. Others may have added theirs in both cases: what a
 * fault can bring decides, and where it cannot, the least that fits.
 */
static __noinline __s64 rss_added(__s64 added, __s64 had)
{
	__s64 batch = config.rss_batch;
	/* Pages leave by hundreds, and how many is not asked. */
	if (added < 0)
		return -1;
	if (added == had + HUGE_PAGES)
		return HUGE_PAGES;
	if (had < 0)
		return -had;
	/* It cannot have come to 0 by itself. */
	if (!had && added < HUGE_PAGES)
		return added;
	if (had + AROUND_PAGES < batch && added < HUGE_PAGES)
		return -had;
	if (added > had && added <= had + AROUND_PAGES)
		return added - had;
	count(ALYS_ST_PAGES_GUESSED);
	if (added >= HUGE_PAGES)
		return HUGE_PAGES;
	return had < batch ? batch - had : 1;
}

/* Pages by which the counter has changed; of what leaves, only that it does is sure. */
static __always_inline __s64 rss_change(struct rss_seen *seen, __u32 member, __u64 mm)
{
	__s64 sum = 0, before = seen->sum[member];
	__s32 own = 0, had = seen->own[member];
	rss_read(seen->part, mm, member, &sum, &own);
	seen->sum[member] = sum;
	seen->own[member] = own;
	return own || sum == before ? own - had : rss_added(sum - before, had);
}

static __always_inline bool in_fault(const struct pt_regs *regs)
{
	return SYSCALL_NUMBER(regs) == CALL_NONE;
}

static __always_inline bool is_fast(struct rss_seen *seen)
{
	__u64 tick = bpf_jiffies64();
	if (seen->tick == tick)
		return seen->in_tick >= EXACT_A_TICK;
	seen->tick = tick;
	seen->in_tick = 0;
	return false;
}

/*
 * Where pages come fast, most faults are passed over unseen: to count pages costs more than to sample them. The gaps are
 * drawn, so a fault that is looked at stands for as many, whatever it brings. The draw does not ask whose the fault is: that
 * would cost something, too.
 */
static __always_inline bool pass_over(struct rss_seen *seen)
{
	__u64 every = (interval ?: config.page_interval) / ALYS_PAGE_SZ;
	if (seen->every != every) {
		seen->every = every;
		seen->left = every ? next_gap(every) : 0;
	}
	if (seen->left) {
		seen->left--;
		return true;
	}
	if (every)
		seen->left = next_gap(every);
	return false;
}

/* What has come: a page, or a mapping. */
struct memory_come {
	__u64 addr, size;
	__u64 interval;
	__u32 memory; /* ALYS_MEMORY_* */
	__u8 subject;
};

static __always_inline void memory_send(struct pt_regs *regs, const struct memory_come *m)
{
	__u64 stack = stack_take_anywhere(regs, m->memory);
	struct alys_ev_alloc *e = ring_reserve(sizeof(*e));
	if (!e) {
		count_loss(ALYS_ST_LOST_RING_ALLOC);
		return;
	}
	head_fill(&e->h, ALYS_EV_ALLOC);
	e->h.subject = m->subject;
	if (config.page_windows && m->subject == ALYS_SUBJECT_PAGES)
		e->h.flags = ALYS_F_WINDOW;
	e->addr = m->addr;
	e->size = m->size;
	e->stack = stack;
	e->interval = m->interval;
	e->batch = 0;
	e->span = 0;
	ring_submit(e, sizeof(*e), wakes(count(ALYS_ST_REC_ALLOC)));
}

static __always_inline __u32 memory_of(__u32 member, __u64 size)
{
	if (member == 1)
		return size >= ALYS_HUGE_SZ ? ALYS_MEMORY_HUGE : ALYS_MEMORY_ANONYMOUS;
	return member ? ALYS_MEMORY_SHARED : ALYS_MEMORY_FILE;
}

/* The fault that the thread is in now. */
static __always_inline bool is_of(const struct touch *t, const struct pt_regs *regs)
{
	return t && t->addr && t->ip == PT_REGS_IP(regs) && t->sp == PT_REGS_SP(regs);
}

static __always_inline void pages_come(struct touch *t, struct pt_regs *regs, __u32 member, __u64 pages)
{
	count(ALYS_ST_HIT_PAGE);
	count_pages(ALYS_ST_PAGES, pages);
	if (!is_of(t, regs)) {
		count(ALYS_ST_NO_PLACE);
		count_pages(ALYS_ST_PAGES_NO_PLACE, pages);
		return;
	}
	__u64 size = pages * ALYS_PAGE_SZ, addr = t->addr & -(size >= ALYS_HUGE_SZ ? ALYS_HUGE_SZ : ALYS_PAGE_SZ);
	t->addr = 0;
	/* Gaps of this mean: a chance of 1 - exp(-1 / every), as of so many bytes sampled every `every` times as many. */
	memory_send(regs, &(struct memory_come){ addr, size, t->every ? size * t->every : 1, memory_of(member, size),
						 ALYS_SUBJECT_PAGES });
}

#define REMAP_FIXED 2 /* MREMAP_FIXED, include/uapi/linux/mman.h */

/* Which pages the call in hand takes away; false: not known. A file's page that is written to gives way to a copy. */
static __always_inline bool range_of(const struct pt_regs *regs, const struct touch *t, __u64 *start, __u64 *end)
{
	__u64 addr = SYSCALL_ARG_0(regs), len = SYSCALL_ARG_1(regs), to = SYSCALL_ARG_2(regs);
	switch (SYSCALL_NUMBER(regs)) {
	case CALL_NONE:
		addr = is_of(t, regs) ? t->addr & -ALYS_PAGE_SZ : 0;
		len = ALYS_PAGE_SZ;
		break;
	case CALL_MMAP:
	case CALL_MUNMAP:
	case CALL_MADVISE: break;
	case CALL_BRK: /* the heap's old end is not known any more */
		*start = (addr + ALYS_PAGE_SZ - 1) & -ALYS_PAGE_SZ;
		*end = 0;
		return addr;
	case CALL_MREMAP:
		/* Made smaller, or put where something else was. Without the flag the new address is not an argument. */
		addr = to < len ? addr + to : SYSCALL_ARG_3(regs) & REMAP_FIXED ? SYSCALL_ARG_4(regs) : 0;
		len = to < len ? len - to : to;
		break;
	default: addr = 0;
	}
	*start = (addr + ALYS_PAGE_SZ - 1) & -ALYS_PAGE_SZ;
	*end = (addr + len + ALYS_PAGE_SZ - 1) & -ALYS_PAGE_SZ;
	return addr;
}

/* enter: of mappings, when the call began; of pages 0. */
static __always_inline void range_send(__u8 kind, __u64 start, __u64 end, __u64 to, __u64 enter)
{
	struct alys_ev_range *e = ring_reserve(sizeof(*e));
	count(enter ? ALYS_ST_HIT_UNMAPPED : ALYS_ST_HIT_GONE);
	if (!e) {
		count_loss(ALYS_ST_LOST_RING_FREE);
		return;
	}
	head_fill(&e->h, kind);
	e->h.subject = enter ? ALYS_SUBJECT_MAPPINGS : ALYS_SUBJECT_PAGES;
	e->start = start;
	e->end = end;
	e->to = to;
	e->enter = enter;
	ring_submit(e, sizeof(*e), wakes(count(ALYS_ST_REC_FREE)));
}

static __always_inline void pages_leave(const struct touch *t, const struct pt_regs *regs)
{
	__u64 start, end;
	if (range_of(regs, t, &start, &end)) {
		range_send(ALYS_EV_GONE, start, end, 0, 0);
		return;
	}
	count(ALYS_ST_HIT_GONE);
	count(ALYS_ST_NO_PLACE);
}

static __always_inline int touch_begin(__u64 addr)
{
	struct task_struct *task = current_task();
	const struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct rss_seen *seen = recording ? rss_seen() : NULL;
	if (!seen)
		return 0;
	seen->faults.all++;
	if (is_shut())
		return 0;
	is_opened(seen);
	bool fast = in_fault(regs) && is_fast(seen);
	seen->passed = fast && pass_over(seen);
	if (seen->passed)
		return 0;
	seen->faults.looked++;
	if (!is_target())
		return 0;
	seen->faults.ours++;
	seen->in_tick++;
	struct touch *t = bpf_task_storage_get(&touches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 mm = mm_of(task, seen);
	if (!t || !mm)
		return 0;
	t->addr = addr;
	t->ip = PT_REGS_IP(regs);
	t->sp = PT_REGS_SP(regs);
	t->every = fast ? seen->every : 0;
	if (seen->owner != rss_owner(task, mm))
		rss_begin(seen, rss_owner(task, mm), mm);
	return 0;
}

#include "fault.bpf.h"

SEC("raw_tp/rss_stat")
int on_rss(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u64 mm = ctx->args[0], owner = rss_owner(task, mm);
	__u32 member = (__u32)ctx->args[1];
	struct rss_seen *seen = rss_seen();
	if (!seen || member >= RSS_COUNTERS || is_shut())
		return 0;
	/* The fault that is under way began unseen. */
	if (is_opened(seen))
		seen->passed = 1;
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	if (seen->passed && in_fault(regs)) {
		seen->owner = 0; /* its counters are not known any more */
		return 0;
	}
	if (mm_of(task, seen) != mm) {
		/* Someone else changes it, on this processor: a reclaimer, or who ends. */
		if ((seen->owner & 0xffffffffffffull) == (owner & 0xffffffffffffull))
			seen->owner = 0;
		return 0;
	}
	/* Only a target's counters are held. */
	if (seen->owner == owner ? !recording : !is_target())
		return 0;
	struct touch *t = bpf_task_storage_get(&touches, task, NULL, 0);
	/* Without counts from before: a fault brings a page, and a call takes some away. */
	__s64 change = in_fault(regs) ? 1 : -1;
	if (seen->owner == owner)
		change = rss_change(seen, member, mm);
	else
		rss_begin(seen, owner, mm);
	if (member == RSS_SWAP)
		return 0;
	if (change > 0)
		pages_come(t, regs, member, change);
	else if (change < 0)
		pages_leave(t, regs);
	return 0;
}

#define SEARCH_DOWN 1 /* VM_UNMAPPED_AREA_TOPDOWN, include/linux/mm.h */

/*
 * For what huge pages would fill, the kernel looks for room for one more, and takes the place in it that is to huge pages what the
 * offset in the file is, or 0 (__thp_get_unmapped_area, mm/huge_memory.c).
 */
static __always_inline __u64 place_of(__u64 room, const struct vm_unmapped_area_info *search, const struct pt_regs *regs)
{
	__u64 length = (SYSCALL_ARG_2(regs) + ALYS_PAGE_SZ - 1) & -ALYS_PAGE_SZ;
	if (BPF_CORE_READ(search, length) != length + ALYS_HUGE_SZ)
		return room;
	__u64 by = (BPF_CORE_READ(search, align_offset) - room) & (ALYS_HUGE_SZ - 1);
	return room + (by || !(BPF_CORE_READ(search, flags) & SEARCH_DOWN) ? by : ALYS_HUGE_SZ);
}

/* Nothing leaves when pages move, so the counters do not show it. */
SEC("raw_tp/vm_unmapped_area")
int on_place(struct bpf_raw_tracepoint_args *ctx)
{
	const struct pt_regs *regs = (void *)bpf_task_pt_regs(current_task());
	__u64 to = ctx->args[0];
	if (SYSCALL_NUMBER(regs) != CALL_MREMAP || !is_target() || (__s64)to < 0)
		return 0;
	to = place_of(to, (const void *)ctx->args[1], regs);
	__u64 len = SYSCALL_ARG_1(regs) < SYSCALL_ARG_2(regs) ? SYSCALL_ARG_1(regs) : SYSCALL_ARG_2(regs);
	range_send(ALYS_EV_MOVED, SYSCALL_ARG_0(regs), (SYSCALL_ARG_0(regs) + len + ALYS_PAGE_SZ - 1) & -ALYS_PAGE_SZ, to, 0);
	return 0;
}

#endif
