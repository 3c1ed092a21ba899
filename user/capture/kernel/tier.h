/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/tier: which attach methods this kernel supports, according to its BTF. */
#ifndef ALYS_KERNEL_TIER_H
#define ALYS_KERNEL_TIER_H

#include <stdbool.h>

/* How probes are attached, best first. */
enum probe_tier {
	PROBE_TIER_SESSION, /* one multi link per program; the entry may skip the return (uprobe.session) */
	PROBE_TIER_MULTI,   /* one multi link per program, separate return probes */
	PROBE_TIER_PERF,    /* one perf event per site */
};

struct kernel_facts {
	bool btf;
	bool uprobe_multi;   /* commit 89ae89f53d20 ("bpf: Add multi uprobe link"), 6.6 */
	bool uprobe_session; /* commit d920179b3d48 ("bpf: Add support for uprobe multi session attach"), 6.13 */
	bool preempt_off;    /* for programs, commit fc7566ad0a82 ("bpf: Introduce bpf_preempt_[disable,enable] kfuncs"), 6.10 */
	bool hit_context;    /* what bpf/hit.bpf.h reads */
	bool sleeps;         /* programs may wait for pages that are not in memory */
	bool perf_admin;     /* perf events need CAP_SYS_ADMIN, not only CAP_PERFMON: Debian's kernel.perf_event_paranoid = 3 */
	bool oom;            /* reports victims of the OOM killer */
	bool resident;       /* reports each page that becomes resident: commit f1a7941243c1, 6.2 */
	bool calls;          /* reports system calls */
	bool kills_seccomp;  /* uretprobe is a system call that seccomp filters may kill: 6.11 until fixed in 6.14 */
};

struct kernel_facts kernel_facts(void);
/* By its number: where nothing else tells. */
bool kernel_since(int major, int minor);
enum probe_tier tier_of(const struct kernel_facts *k);
/* The capability (CAP_...) that is missing for probing other processes; -1: none. */
int tier_lacks(const struct kernel_facts *k);
/*
 * Probes hit on many processors at once wait for locks of the kernel, which went away in 6.13, as uprobe.session came. With
 * few processors it does not show.
 */
bool tier_crowded(const struct kernel_facts *k, long cpus);
const char *probe_tier_name(enum probe_tier tier);
/* Drops CAP_SYS_ADMIN, irrevocably, if this kernel does without it. */
void probe_drop_admin(void);

#endif
