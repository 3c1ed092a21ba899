// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of allocators, by shape: what comes in at the entry waits for what goes out at the return.
 * Two ways to wait: by thread, for plain C allocators under a return probe; by (tgid, CFA), for
 * calls that may run user code, whose return addresses are never touched (a fiber that switches
 * inside would be killed by a return probe).
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "alys.h"
#include "maps.bpf.h"
#include "stats.bpf.h"
#include "filter.bpf.h"
#include "emit.bpf.h"
#include "sample.bpf.h"
#include "stack.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* A thread that seems to be this deep inside an allocator has left it by a jump. */
#define NEST_SPAN (1 << 20)

/*
 * verifier: context fields must be read at constant offsets; without the asm, clang would join the
 * branches of a switch into one read at a computed offset.
 */
#define REGISTER(ctx, name)                                                                        \
	({                                                                                         \
		__u64 value_ = (ctx)->name;                                                        \
		asm volatile("/* " #name " */" : "+r"(value_));                                    \
		value_;                                                                            \
	})

static __always_inline __u64 argument(struct pt_regs *ctx, __u32 n)
{
	switch (n) {
	case 0:
		return REGISTER(ctx, di);
	case 1:
		return REGISTER(ctx, si);
	case 2:
		return REGISTER(ctx, dx);
	case 3:
		return REGISTER(ctx, cx);
	default:
		return REGISTER(ctx, r8);
	}
}

static __always_inline void count_hit(__u8 shape)
{
	if (shape == ALYS_SHAPE_FREE)
		count(ALYS_ST_HIT_FREE);
	else if (shape == ALYS_SHAPE_REALLOC || shape == ALYS_SHAPE_MULREALLOC)
		count(ALYS_ST_HIT_REALLOC);
	else
		count(ALYS_ST_HIT_ALLOC);
}

/* The load bias needs no table: the probed address is known in the file and in the process. */
static __always_inline __u64 bias_of(struct pt_regs *ctx, const struct alys_site *site)
{
	return PT_REGS_IP(ctx) - site->vaddr;
}

/* Does the allocator's own code make this call? */
static __always_inline bool is_internal(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa)
{
	__u64 caller = 0;
	if (bpf_probe_read_user(&caller, sizeof(caller), (void *)(cfa - 8)))
		return false;
	caller -= bias_of(ctx, site);
	return caller >= site->text_lo && caller < site->text_hi;
}

static __always_inline void read_gc(struct pt_regs *ctx, const struct alys_site *site, struct pending *p)
{
	__u64 gc_no;
	if (!site->gc_no_vaddr)
		return;
	if (bpf_probe_read_user(&gc_no, sizeof(gc_no), (void *)(site->gc_no_vaddr + bias_of(ctx, site))))
		return;
	p->gc_no = gc_no;
	p->flags |= ALYS_F_GC;
}

static __always_inline void read_arguments(struct pt_regs *ctx, const struct alys_site *site,
					   struct pending *p)
{
	__u64 a = argument(ctx, site->arg[0]);
	__u64 b = argument(ctx, site->arg[1]);
	p->old = 0;
	p->size = a;
	switch (site->shape) {
	case ALYS_SHAPE_MUL:
		p->size = a * b; /* when this overflows the call returns NULL */
		break;
	case ALYS_SHAPE_REALLOC:
		p->old = a;
		p->size = b;
		break;
	case ALYS_SHAPE_MULREALLOC:
		p->old = a;
		p->size = b * argument(ctx, site->arg[2]);
		break;
	case ALYS_SHAPE_OUTPTR:
		p->out = a;
		p->size = b;
		break;
	}
}

static __always_inline void call_fill(struct pt_regs *ctx, const struct alys_site *site,
				      const struct alys_target *t, struct pending *p, __u64 cfa)
{
	read_arguments(ctx, site, p);
	p->enter = bpf_ktime_get_ns();
	p->shape = site->shape;
	p->frees_on_zero = !!(site->flags & ALYS_SITE_FREES_ON_ZERO);
	p->flags = 0;
	if ((site->flags & ALYS_SITE_ATOMIC) ||
	    ((site->flags & ALYS_SITE_GC_KIND) && (__u32)argument(ctx, site->kind_arg) == 0))
		p->flags = ALYS_F_ATOMIC;
	p->sampled = sample_take(p->size);
	p->stack = 0;
	if (p->sampled) {
		read_gc(ctx, site, p);
		p->stack = stack_take(ctx, t, cfa);
	}
	/* Last, so that an interrupting handler on this thread finds either all of it or nothing. */
	p->cfa = cfa;
	count(ALYS_ST_WAIT_BEGIN);
}

static __always_inline bool is_reallocation(const struct pending *p)
{
	return p->shape == ALYS_SHAPE_REALLOC || p->shape == ALYS_SHAPE_MULREALLOC;
}

/* Neither the old block nor the new one may be of interest to a selective recording. */
static __always_inline void finish_realloc(const struct alys_target *t, const struct pending *p,
					   __u64 addr)
{
	__u64 old = p->old;
	if (!is_selective()) {
		emit_realloc(t, p, addr, old);
		return;
	}
	if (old && !sampled_del(old, p->enter))
		old = 0;
	if (addr && p->sampled) {
		if (sampled_put(addr, p->enter))
			emit_realloc(t, p, addr, old);
		else
			count(ALYS_ST_LOST_SAMPLED_FULL);
	} else if (old) {
		/* The block went away when the call began, not later: its address may have a new owner. */
		emit_free(t, old, p->stack, p->enter);
	} else {
		count(ALYS_ST_UNSAMPLED);
	}
}

static __always_inline void finish_alloc(const struct alys_target *t, const struct pending *p, __u64 addr)
{
	if (!p->sampled)
		count(ALYS_ST_UNSAMPLED);
	else if (is_selective() && !sampled_put(addr, p->enter))
		count(ALYS_ST_LOST_SAMPLED_FULL);
	else
		emit_alloc(t, p, addr);
}

static __always_inline void call_finish(const struct alys_target *t, const struct pending *p, __u64 result)
{
	__u64 addr = result;
	count(ALYS_ST_WAIT_END);
	if (p->shape == ALYS_SHAPE_OUTPTR) {
		addr = 0;
		if ((__u32)result == 0 && bpf_probe_read_user(&addr, sizeof(addr), (void *)p->out)) {
			count(ALYS_ST_LOST_READ);
			return;
		}
	}
	if (!addr && !(is_reallocation(p) && p->old && !p->size && p->frees_on_zero))
		count(ALYS_ST_FAILED);
	else if (is_reallocation(p) && p->old)
		finish_realloc(t, p, addr);
	else
		finish_alloc(t, p, addr);
}

/* A call that began in the frame of one that still waits was jumped to by it: realloc(NULL, n) ends
 * in malloc(n). The last one knows best what comes out. */
static __always_inline void call_superseded(struct pending *p, bool jumped)
{
	p->cfa = 0;
	count(ALYS_ST_WAIT_END);
	count(jumped ? ALYS_ST_NESTED : ALYS_ST_LOST_NO_RETURN);
}

/* By thread. Returns 0 when the return is to be waited for. */
static __always_inline int thread_enter(struct pt_regs *ctx)
{
	struct alys_target *t = wanted_target();
	const struct alys_site *site = site_of(ctx);
	if (!t || !site)
		return 1;
	count_hit(site->shape);
	struct pending *p = bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), NULL,
						 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!p) {
		count(ALYS_ST_LOST_PENDING);
		return 1;
	}
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	if (p->cfa > cfa && p->cfa - cfa < NEST_SPAN) {
		count(ALYS_ST_NESTED);
		return 1;
	}
	if (p->cfa)
		call_superseded(p, p->cfa == cfa);
	call_fill(ctx, site, t, p, cfa);
	return 0;
}

static __always_inline int thread_return(struct pt_regs *ctx)
{
	struct alys_target *t = wanted_target();
	if (!t)
		return 0;
	struct pending *p =
		bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), NULL, 0);
	if (!p || p->cfa != PT_REGS_SP(ctx))
		return 0;
	call_finish(t, p, PT_REGS_RC(ctx));
	p->cfa = 0;
	return 0;
}

extern bool bpf_session_is_return(void) __ksym __weak;

SEC("uprobe")
int call_session(struct pt_regs *ctx)
{
	if (bpf_session_is_return())
		return thread_return(ctx);
	return thread_enter(ctx);
}

SEC("uprobe")
int plain_enter(struct pt_regs *ctx)
{
	thread_enter(ctx);
	return 0;
}

SEC("uprobe")
int plain_return(struct pt_regs *ctx)
{
	return thread_return(ctx);
}

static const struct pending no_call;

static __always_inline __u64 result_of(struct pt_regs *ctx, const struct alys_site *site)
{
	switch (site->reg) {
	case ALYS_REG_RBX:
		return REGISTER(ctx, bx);
	case ALYS_REG_RCX:
		return REGISTER(ctx, cx);
	case ALYS_REG_RDX:
		return REGISTER(ctx, dx);
	case ALYS_REG_RSI:
		return REGISTER(ctx, si);
	case ALYS_REG_RDI:
		return REGISTER(ctx, di);
	case ALYS_REG_RBP:
		return REGISTER(ctx, bp);
	case ALYS_REG_R8:
		return REGISTER(ctx, r8);
	case ALYS_REG_R8 + 1:
		return REGISTER(ctx, r9);
	case ALYS_REG_R8 + 2:
		return REGISTER(ctx, r10);
	case ALYS_REG_R8 + 3:
		return REGISTER(ctx, r11);
	case ALYS_REG_R8 + 4:
		return REGISTER(ctx, r12);
	case ALYS_REG_R8 + 5:
		return REGISTER(ctx, r13);
	case ALYS_REG_R8 + 6:
		return REGISTER(ctx, r14);
	case ALYS_REG_R8 + 7:
		return REGISTER(ctx, r15);
	default:
		return REGISTER(ctx, ax);
	}
}

/* By (tgid, CFA). */
SEC("uprobe")
int frame_enter(struct pt_regs *ctx)
{
	struct alys_target *t = wanted_target();
	const struct alys_site *site = site_of(ctx);
	if (!t || !site)
		return 0;
	count_hit(site->shape);
	struct call_key key = {
		.cfa = PT_REGS_SP(ctx) + site->cfa_off,
		.tgid = bpf_get_current_pid_tgid() >> 32,
	};
	if (site->nest == ALYS_NEST_CALLER && is_internal(ctx, site, key.cfa)) {
		count(ALYS_ST_NESTED);
		return 0;
	}
	struct pending *p = bpf_map_lookup_elem(&frame_calls, &key);
	if (p && p->cfa)
		call_superseded(p, true);
	if (!p) {
		bpf_map_update_elem(&frame_calls, &key, &no_call, BPF_NOEXIST);
		p = bpf_map_lookup_elem(&frame_calls, &key);
	}
	if (p)
		call_fill(ctx, site, t, p, key.cfa);
	else
		count(ALYS_ST_LOST_PENDING);
	return 0;
}

SEC("uprobe")
int frame_exit(struct pt_regs *ctx)
{
	struct alys_target *t = wanted_target();
	const struct alys_site *site = site_of(ctx);
	if (!t || !site)
		return 0;
	struct call_key key = {
		.cfa = PT_REGS_SP(ctx) + site->cfa_off,
		.tgid = bpf_get_current_pid_tgid() >> 32,
	};
	struct pending *p = bpf_map_lookup_elem(&frame_calls, &key);
	if (!p || !p->cfa) {
		count(ALYS_ST_EXIT_UNPAIRED);
		return 0;
	}
	call_finish(t, p, result_of(ctx, site));
	p->cfa = 0;
	bpf_map_delete_elem(&frame_calls, &key);
	return 0;
}

/* free: probed at its entry, before the address can be handed out again. */
static __always_inline bool is_nested_free(struct pt_regs *ctx, const struct alys_site *site, __u64 cfa)
{
	if (site->nest == ALYS_NEST_CALLER)
		return is_internal(ctx, site, cfa);
	struct pending *p =
		bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), NULL, 0);
	return p && p->cfa > cfa && p->cfa - cfa < NEST_SPAN;
}

SEC("uprobe")
int free_enter(struct pt_regs *ctx)
{
	struct alys_target *t = wanted_target();
	const struct alys_site *site = site_of(ctx);
	if (!t || !site)
		return 0;
	count(ALYS_ST_HIT_FREE);
	__u64 addr = argument(ctx, site->arg[0]);
	__u64 cfa = PT_REGS_SP(ctx) + site->cfa_off;
	if (!addr)
		count(ALYS_ST_FREE_NULL);
	else if (is_nested_free(ctx, site, cfa))
		count(ALYS_ST_NESTED);
	else if (is_selective() && !sampled_del(addr, ~0ull))
		count(ALYS_ST_UNSAMPLED);
	else
		emit_free(t, addr, config.free_stacks ? stack_take(ctx, t, cfa) : 0, 0);
	return 0;
}
