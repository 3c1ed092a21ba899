/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/tier: which ways of attaching this kernel has, asked of its own type information. */
#ifndef ALYS_KERNEL_TIER_H
#define ALYS_KERNEL_TIER_H

#include <stdbool.h>

/* How probes are attached, best first. */
enum probe_tier {
	PROBE_TIER_SESSION, /* one multi link a program; entry may skip the return (uprobe.session) */
	PROBE_TIER_MULTI,   /* one multi link a program, separate return probes */
	PROBE_TIER_PERF,    /* one perf event a site */
};

struct kernel_facts {
	bool btf;
	bool uprobe_multi;   /* commit 89ae89f53d20 ("bpf: Add multi uprobe link"), 6.6 */
	bool uprobe_session; /* commit d920179b3d48 ("bpf: Add support for uprobe multi session attach"), 6.13 */
	bool preempt_off;    /* commit fc7566ad0a82 ("bpf: Introduce bpf_preempt_[disable,enable]"), 6.10 */
	bool perf_admin; /* perf events want CAP_SYS_ADMIN, not only CAP_PERFMON: Debian's own kernel.perf_event_paranoid of 3 */
	bool oom;        /* tells whom it kills for want of memory */
	bool kills_seccomp; /* uretprobe is a system call that seccomp filters kill: 6.11 until fixed in 6.14 */
};

struct kernel_facts kernel_facts(void);
enum probe_tier tier_of(const struct kernel_facts *k);
/* The capability (CAP_...) that this process lacks to probe others here; -1: none. */
int tier_lacks(const struct kernel_facts *k);
/*
 * Probes hit on many processors at once wait for locks of the kernel, which went away in 6.13, as uprobe.session came. With
 * few processors it does not show.
 */
bool tier_crowded(const struct kernel_facts *k, long cpus);
const char *probe_tier_name(enum probe_tier tier);
/* Gives up CAP_SYS_ADMIN, for good, where this kernel lets lesser capabilities do. */
void probe_drop_admin(void);

#endif
