/* probe/tier: see tier.h. */
#include "probe/tier.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/btf.h>

/* Does the kernel's enum bpf_attach_type know this value? */
static bool has_attach_type(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, "bpf_attach_type", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	if (!t)
		return false;
	const struct btf_enum *e = btf_enum(t);
	for (int i = 0; i < btf_vlen(t); i++) {
		if (!strcmp(btf__name_by_offset(btf, e[i].name_off), name))
			return true;
	}
	return false;
}

/*
 * The one fact that types do not tell: commit ff474a78cef5 made uretprobe a system call in 6.11, and
 * seccomp let it pass only from 6.14 on.
 */
static bool in_seccomp_window(void)
{
	struct utsname u;
	int major = 0, minor = 0;
	if (uname(&u) || sscanf(u.release, "%d.%d", &major, &minor) != 2)
		return false;
	return major == 6 && minor >= 11 && minor <= 13;
}

static struct kernel_facts find_facts(void)
{
	struct kernel_facts k = { .kills_seccomp = in_seccomp_window() };
	struct btf *btf = btf__load_vmlinux_btf();
	if (!btf)
		return k;
	k.btf = true;
	k.uprobe_multi = has_attach_type(btf, "BPF_TRACE_UPROBE_MULTI");
	k.preempt_off = btf__find_by_name_kind(btf, "bpf_preempt_disable", BTF_KIND_FUNC) > 0;
	k.uprobe_session = has_attach_type(btf, "BPF_TRACE_UPROBE_SESSION");
	btf__free(btf);
	return k;
}

/* Once: reading all types of a kernel takes tens of milliseconds. */
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
	return k->uprobe_session ? PROBE_TIER_SESSION :
	       k->uprobe_multi   ? PROBE_TIER_MULTI :
				   PROBE_TIER_PERF;
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
