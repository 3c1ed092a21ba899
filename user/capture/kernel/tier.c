/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/tier: see tier.h. */
#include "kernel/tier.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sandbox/caps.h"

#define NAME_MAX_SZ 64
#define MANY_CPUS 16

static void note_names(struct kernel_facts *k, const char *text, size_t n)
{
	static const char multi[] = "\0BPF_TRACE_UPROBE_MULTI", session[] = "\0BPF_TRACE_UPROBE_SESSION",
			  preempt[] = "\0bpf_preempt_disable", oom[] = "\0btf_trace_mark_victim",
			  resident[] = "\0btf_trace_rss_stat", context[] = "\0bpf_uprobe_multi_run_ctx",
			  calls[] = "\0btf_trace_sys_enter";
	k->uprobe_multi |= memmem(text, n, multi, sizeof(multi)) != NULL;
	k->uprobe_session |= memmem(text, n, session, sizeof(session)) != NULL;
	k->preempt_off |= memmem(text, n, preempt, sizeof(preempt)) != NULL;
	k->hit_context |= memmem(text, n, context, sizeof(context)) != NULL;
	k->oom |= memmem(text, n, oom, sizeof(oom)) != NULL;
	k->resident |= memmem(text, n, resident, sizeof(resident)) != NULL;
	k->calls |= memmem(text, n, calls, sizeof(calls)) != NULL;
}

/*
 * The names of the kernel's functions and constants are enough. Parsing the types takes ten times as long, and libbpf
 * does it again.
 */
static void read_names(struct kernel_facts *k, int fd)
{
	char text[(1 << 14) + NAME_MAX_SZ];
	struct btf_header h;
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || h.magic != BTF_MAGIC)
		return;
	k->btf = true;
	uint64_t at = (uint64_t)h.hdr_len + h.str_off, end = at + h.str_len;
	size_t kept = 0; /* bytes of the previous read: a name may cross its end */
	while (at < end) {
		ssize_t got = pread(fd, text + kept, sizeof(text) - kept, (off_t)at);
		if (got <= 0)
			return;
		size_t have = kept + (size_t)got;
		note_names(k, text, have);
		at += (uint64_t)got;
		kept = have < NAME_MAX_SZ ? have : NAME_MAX_SZ;
		memmove(text, text + have - kept, kept);
	}
}

/* Not visible in BTF: commit ff474a78cef5 made uretprobe a system call in 6.11, and seccomp allows it only since 6.14. */
static bool in_seccomp_window(const int *release)
{
	return release[0] == 6 && release[1] >= 11 && release[1] <= 13;
}

static bool is_since(const int *release, int major, int minor)
{
	return release[0] > major || (release[0] == major && release[1] >= minor);
}

/* Before, threads counted up to 64 pages for themselves, and the tracepoint reported the sum. */
static bool tells_each_page(const int *release)
{
	return is_since(release, 6, 2);
}

/* The oldest kernel on which the programs were seen to sleep; multi links could since 6.6. */
static bool sleeps_in_programs(const int *release)
{
	return is_since(release, 6, 12);
}

static void read_release(int *release)
{
	struct utsname u;
	if (uname(&u) || sscanf(u.release, "%d.%d", &release[0], &release[1]) != 2)
		release[0] = release[1] = 0;
}

bool kernel_since(int major, int minor)
{
	int release[2];
	read_release(release);
	return is_since(release, major, minor);
}

static bool is_perf_restricted(void)
{
	int level = 0;
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	bool read = f && fscanf(f, "%d", &level) == 1;
	if (f)
		fclose(f);
	return read && level > 2;
}

static struct kernel_facts find_facts(void)
{
	int release[2];
	read_release(release);
	struct kernel_facts k = { .kills_seccomp = in_seccomp_window(release), .perf_admin = is_perf_restricted() };
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return k;
	read_names(&k, fd);
	close(fd);
	k.resident &= tells_each_page(release);
	k.sleeps = k.uprobe_multi && sleeps_in_programs(release);
	return k;
}

/* Cached, because it takes a millisecond or two. */
struct kernel_facts kernel_facts(void)
{
	static struct kernel_facts facts;
	static bool known;
	if (!known)
		facts = find_facts();
	known = true;
	return facts;
}

enum probe_tier tier_of(const struct kernel_facts *k)
{
	return k->uprobe_session ? PROBE_TIER_SESSION : k->uprobe_multi ? PROBE_TIER_MULTI : PROBE_TIER_PERF;
}

int tier_lacks(const struct kernel_facts *k)
{
	if (caps_has(CAP_SYS_ADMIN))
		return -1;
	if (k->perf_admin && tier_of(k) == PROBE_TIER_PERF)
		return CAP_SYS_ADMIN;
	return !caps_has(CAP_BPF) ? CAP_BPF : !caps_has(CAP_PERFMON) ? CAP_PERFMON : -1;
}

bool tier_crowded(const struct kernel_facts *k, long cpus)
{
	return cpus > MANY_CPUS && !k->uprobe_session;
}

void probe_drop_admin(void)
{
	if (!kernel_facts().perf_admin)
		caps_drop(CAP_SYS_ADMIN);
}

const char *probe_tier_name(enum probe_tier tier)
{
	static const char *const names[] = {
		[PROBE_TIER_SESSION] = "uprobe.session",
		[PROBE_TIER_MULTI] = "uprobe.multi",
		[PROBE_TIER_PERF] = "perf uprobe",
	};
	return names[tier];
}
