/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that we started wait where they begin a program or have loaded libraries, until its files are probed. They are stopped by
 * who is called here, with ptrace: its parent hears nothing of that, and it goes on when that one ends, however it ends. Here they
 * only wait for the stop to be due, a moment, and go on without it when nobody comes.
 */
#ifndef ALYS_HOLD_BPF_H
#define ALYS_HOLD_BPF_H

#define JOBCTL_TRAP_STOP (1ul << 19) /* include/linux/sched/jobctl.h: what PTRACE_INTERRUPT sets */
#define HOLD_LOOKS (1 << 20)

/* Set by the loader while somebody answers. */
int hold_answered __weak = 0;

/* Threads that wait, called for from processors of even and of odd number: see struct alys_hold. Written here, read by who
 * holds them. Full: they are not held, counted. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} hold_calls_even SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} hold_calls_odd SEC(".maps") __weak;

/* Whom to call, and when it was decided. */
struct hold {
	__u64 time;
	__u16 who; /* 0 = the thread is not to wait, or 1 + the processor's parity */
};

/* Who is traced already belongs to somebody else. */
static __always_inline struct hold hold_wanted(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid;
	const __u8 *mark = bpf_map_lookup_elem(&targets, &tgid);
	struct hold h = { .time = bpf_ktime_get_ns() };
	if (hold_answered && mark && *mark == ALYS_OURS && !task->ptrace)
		h.who = 1 + (bpf_get_smp_processor_id() & 1);
	return h;
}

static long hold_look(__u32 i, __u64 *until)
{
	struct task_struct *task = bpf_get_current_task_btf();
	return task->jobctl & JOBCTL_TRAP_STOP || bpf_ktime_get_ns() > *until;
}

static __always_inline bool hold_call(const struct hold *h)
{
	struct alys_hold c = { .time = h->time, .tid = (__u32)bpf_get_current_pid_tgid() };
	return h->who == 1 ? !bpf_ringbuf_output(&hold_calls_even, &c, sizeof(c), BPF_RB_FORCE_WAKEUP)
			   : !bpf_ringbuf_output(&hold_calls_odd, &c, sizeof(c), BPF_RB_FORCE_WAKEUP);
}

/* Behind the record in the main ring that tells why: where that is lost (told is false), no word would let the thread go. */
static __always_inline void hold(const struct hold *h, bool told)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 until = h->time + ALYS_HOLD_WAIT_NS;
	if (!h->who)
		return;
	/* Without bpf_loop (5.17, commit e6f2dd0f8067) there is no waiting. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop) && told && hold_call(h))
		bpf_loop(HOLD_LOOKS, hold_look, &until, 0);
	if (!(task->jobctl & JOBCTL_TRAP_STOP))
		count(ALYS_ST_UNHELD);
}

#endif
