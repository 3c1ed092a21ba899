/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings that a process makes, moves and gives back: its own system calls, by the raw tracepoints at which the kernel
 * enters and leaves every call. What a call did is known at its end. Another thread may have mapped the same range by then, so records of what went
 * carry the time at which the call began: what came later is not meant.
 */
#ifndef ALYS_MAPPING_BPF_H
#define ALYS_MAPPING_BPF_H

/* include/uapi/linux/mman.h, include/uapi/asm-generic/mman-common.h */
#define MAP_IS_SHARED 1
#define MAP_IS_ANONYMOUS 0x20
#define REMAP_KEEPS_OLD 4 /* MREMAP_DONTUNMAP */
#define CALL_ERRORS (-4095ull)

/* The call that a thread is in. */
struct mapping_call {
	__u64 enter; /* 0 = none */
	__u64 brk;   /* end of the heap before it */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mapping_call);
} mapping_calls SEC(".maps") __weak;

static __always_inline __u64 page_up(__u64 addr)
{
	return (addr + ALYS_PAGE_SZ - 1) & -ALYS_PAGE_SZ;
}

static __always_inline bool is_mapping_call(__s64 number)
{
	return number == CALL_MMAP || number == CALL_MUNMAP || number == CALL_MREMAP || number == CALL_BRK;
}

static __always_inline struct mapping_call *mapping_call(__u64 flags)
{
	return is_target() ? bpf_task_storage_get(&mapping_calls, current_task(), NULL, flags) : NULL;
}

/* What a call has done: ranges of addresses, none where start and end are equal. */
struct mapping_change {
	__u64 moved, moved_end, to;
	__u64 gone, gone_end;
	__u64 come, come_end;
	__u32 memory; /* ALYS_MEMORY_* of what came */
};

static __always_inline __u32 memory_mapped(__u64 prot, __u64 flags)
{
	if (!(flags & MAP_IS_ANONYMOUS))
		return ALYS_MEMORY_FILE;
	return flags & MAP_IS_SHARED ? ALYS_MEMORY_SHARED : prot ? ALYS_MEMORY_ANONYMOUS : ALYS_MEMORY_RESERVED;
}

/* What moves keeps the stack that mapped it; what is new has this call's. */
static __always_inline void change_by_mremap(const struct pt_regs *regs, __u64 to, struct mapping_change *c)
{
	__u64 from = SYSCALL_ARG_0(regs), had = page_up(SYSCALL_ARG_1(regs)), has = page_up(SYSCALL_ARG_2(regs));
	__u64 kept = had < has ? had : has;
	if (SYSCALL_ARG_3(regs) & REMAP_KEEPS_OLD)
		kept = had = 0;
	c->moved = from;
	c->moved_end = to == from ? from : from + kept;
	c->to = to;
	c->gone = from + kept;
	c->gone_end = from + had;
	c->come = to + kept;
	c->come_end = to + has;
}

/* brk returns the heap's end, whether that could be changed or not. */
static __always_inline void change_by_brk(__u64 had, __u64 has, struct mapping_change *c)
{
	c->gone = has;
	c->gone_end = had > has ? had : has;
	c->come = had;
	c->come_end = had > has ? had : has;
}

static __always_inline void change_of(const struct pt_regs *regs, __u64 result, __u64 brk, struct mapping_change *c)
{
	switch (SYSCALL_NUMBER(regs)) {
	case CALL_MMAP:
		c->come = result;
		c->come_end = result + page_up(SYSCALL_ARG_1(regs));
		c->memory = memory_mapped(SYSCALL_ARG_2(regs), SYSCALL_ARG_3(regs));
		break;
	case CALL_MUNMAP:
		c->gone = SYSCALL_ARG_0(regs);
		c->gone_end = page_up(SYSCALL_ARG_0(regs) + SYSCALL_ARG_1(regs));
		break;
	case CALL_MREMAP: change_by_mremap(regs, result, c); break;
	case CALL_BRK: change_by_brk(page_up(brk), page_up(result), c); break;
	}
}

static __always_inline void change_send(struct pt_regs *regs, const struct mapping_change *c, __u64 enter)
{
	if (c->moved < c->moved_end)
		range_send(ALYS_EV_MOVED, c->moved, c->moved_end, c->to, enter);
	if (c->gone < c->gone_end)
		range_send(ALYS_EV_GONE, c->gone, c->gone_end, 0, enter);
	if (c->come >= c->come_end)
		return;
	count(ALYS_ST_HIT_MAPPING);
	memory_send(regs, &(struct memory_come){ c->come, c->come_end - c->come, 0, c->memory, ALYS_SUBJECT_MAPPINGS });
}

SEC("raw_tp/sys_enter")
int on_call(struct bpf_raw_tracepoint_args *ctx)
{
	struct mapping_call *call = is_mapping_call(ctx->args[1]) ? mapping_call(BPF_LOCAL_STORAGE_GET_F_CREATE) : NULL;
	if (!call)
		return 0;
	call->enter = bpf_ktime_get_ns();
	call->brk = BPF_CORE_READ(current_task(), mm, brk);
	return 0;
}

SEC("raw_tp/sys_exit")
int on_called(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(current_task());
	struct mapping_call *call = is_mapping_call(SYSCALL_NUMBER(regs)) ? mapping_call(0) : NULL;
	struct mapping_change change = { .memory = ALYS_MEMORY_ANONYMOUS };
	if (!call || !call->enter)
		return 0;
	if (ctx->args[1] < CALL_ERRORS) {
		change_of(regs, ctx->args[1], call->brk, &change);
		change_send(regs, &change, call->enter);
	}
	call->enter = 0;
	return 0;
}

#endif
