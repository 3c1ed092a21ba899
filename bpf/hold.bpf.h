/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads of launched processes wait here when they exec or have loaded libraries, until their files are probed. They
 * are stopped by the holder, with ptrace: the parent does not notice, and the thread is resumed when the holder ends,
 * however it ends. Here they only wait briefly for that stop, and continue if it does not come.
 */
#ifndef ALYS_HOLD_BPF_H
#define ALYS_HOLD_BPF_H

#define JOBCTL_TRAP_STOP (1ul << 19) /* include/linux/sched/jobctl.h: what PTRACE_INTERRUPT sets */
#define HOLD_LOOKS (1 << 22)

/* Set by the loader while a holder is running. */
int hold_answered __weak = 0;

/*
 * Requests to stop a thread, from even and from odd CPUs: see struct alys_hold. Written here, read by the holder. Full:
 * the thread is not stopped, counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} hold_calls_even SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} hold_calls_odd SEC(".maps") __weak;

/* Which ring, and the time of the decision. */
struct hold {
	__u64 time;
	__u16 who; /* 0 = do not wait, else 1 + the CPU's parity */
};

/* A thread that is already traced belongs to another tracer. */
static __always_inline struct hold hold_wanted(void)
{
	struct task_struct *task = current_task();
	__u32 tgid = current_tgid();
	const __u8 *mark = bpf_map_lookup_elem(&targets, &tgid);
	struct hold h = { .time = bpf_ktime_get_ns() };
	if (hold_answered && mark && *mark & ALYS_OURS && !task->ptrace)
		h.who = 1 + (bpf_get_smp_processor_id() & 1);
	return h;
}

static long hold_look(__u32 i, __u64 *until)
{
	struct task_struct *task = current_task();
	return task->jobctl & JOBCTL_TRAP_STOP || bpf_ktime_get_ns() > *until;
}

static __always_inline bool hold_call(const struct hold *h)
{
	struct alys_hold c = { .time = h->time, .tid = (__u32)current_numbers() };
	return h->who == 1 ? !bpf_ringbuf_output(&hold_calls_even, &c, sizeof(c), BPF_RB_FORCE_WAKEUP)
			   : !bpf_ringbuf_output(&hold_calls_odd, &c, sizeof(c), BPF_RB_FORCE_WAKEUP);
}

/* Only if the record in the main ring was sent: otherwise nothing would resume the thread. */
static __always_inline void hold(const struct hold *h, bool sent)
{
	struct task_struct *task = current_task();
	__u64 until = h->time + ALYS_HOLD_WAIT_NS;
	if (!h->who)
		return;
	/* Without bpf_loop (5.17, commit e6f2dd0f8067) threads do not wait. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop) && sent && hold_call(h))
		bpf_loop(HOLD_LOOKS, hold_look, &until, 0);
	if (!(task->jobctl & JOBCTL_TRAP_STOP))
		count(ALYS_ST_UNHELD);
}

#endif
