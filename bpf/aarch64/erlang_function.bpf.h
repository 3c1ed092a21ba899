/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Erlang function that called the VM. A call there leaves its return address in x30, which code of the JIT that calls C saves in a
 * frame record of the thread's own stack (emit_enter_runtime_frame in beam_asm.hpp); on the Erlang stack are the functions above it.
 * The twin is in ../x86_64.
 */
#ifndef ALYS_ERLANG_FUNCTION_BPF_H
#define ALYS_ERLANG_FUNCTION_BPF_H

#define NATIVE_FRAMES 4 /* from the probe to the code of the JIT */

struct frame_record {
	__u64 fp, link;
};

static __always_inline bool is_of_the_vm(const struct alys_object *o, __u64 vaddr)
{
	return vaddr >= o->code.lo && vaddr < o->code.hi;
}

/* 0: it was not called by code of the JIT. */
static __noinline __u64 erlang_function(struct pt_regs *ctx, const struct alys_object *o, __u64 bias)
{
	__u64 caller = CODE_ADDRESS(LINK_REGISTER(ctx)), fp = PT_REGS_FP(ctx);
	struct frame_record r;
	for (__u32 i = 0; i <= NATIVE_FRAMES; i++) {
		if (bpf_probe_read_user(&r, sizeof(r), (void *)fp))
			return 0;
		fp = r.fp;
		/* The probed function has made its record already. */
		if (!i && CODE_ADDRESS(r.link) == caller)
			continue;
		if (!is_of_the_vm(o, caller - bias))
			return is_of_the_vm(o, CODE_ADDRESS(r.link) - bias) ? 0 : CODE_ADDRESS(r.link);
		caller = CODE_ADDRESS(r.link);
	}
	return 0;
}

#endif
