/* SPDX-License-Identifier: Apache-2.0 */
/* probe/kernel_checks: what the kernel offers and this user may use, found by trying. See probe.h. */
#include "probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "access/pidns.h"
#include "kernel/tier.h"
#include "machine/unported.h"
#include "probe/price.h"
#include "sandbox/caps.h"

static void line(struct buf *out, const char *what, bool ok, const char *words)
{
	buf_addf(out, "%-14s %-4s %s\n", what, ok ? "yes" : "no", words);
}

static void rights_line(struct buf *out, const struct kernel_facts *k)
{
	char missing[CAPS_MISSING_TEXT];
	int lacks = tier_lacks(k);
	bool root = geteuid() == 0;
	if (lacks < 0 && *caps_missing(missing)) {
		buf_addf(out, "%-14s no   probes can be attached, but files of others' processes cannot be opened without %s\n",
			 "rights", missing);
		return;
	}
	line(out, "rights", lacks < 0,
	     root && lacks < 0        ? "root may probe any process"
	     : root                   ? "root without the capabilities that probes need: a container needs CAP_BPF, CAP_PERFMON, "
					"CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE"
	     : lacks < 0              ? "not root, but the capabilities that probes need"
	     : lacks == CAP_SYS_ADMIN ? "not root, and kernel.perf_event_paranoid is above 2: probes need CAP_SYS_ADMIN, too"
				      : "not root: recording needs sudo; convert and info do not");
}

static bool namespace_line(struct buf *out)
{
	struct err err = { 0 };
	bool seen = !pidns_check(&err);
	line(out, "PID namespace", seen,
	     !seen ? err.text
	     : !pidns_own().ino
		     ? "the machine's first: every process can be recorded"
		     : "a container's own: only its processes can be recorded, for those of the host start it with the "
		       "host's (docker run --pid=host, hostPID: true)");
	return seen;
}

/* "none [integrity] confidentiality": the mode in brackets. Not there: the kernel has no lockdown. */
static void lockdown_line(struct buf *out)
{
	char text[64] = "";
	int fd = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	if (n > 0 && strstr(text, "[confidentiality]"))
		line(out, "lockdown", false, "confidentiality: the kernel lets no program read its memory, which stacks need");
}

static void crowd_line(struct buf *out, const struct kernel_facts *k)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (tier_crowded(k, cpus))
		buf_addf(out,
			 "%-14s %-4s %ld CPUs wait for each other at probes (kernel before 6.13): use --sample, or a newer "
			 "kernel\n",
			 "many CPUs", "no", cpus);
}

static void kernel_lines(struct buf *out, const struct kernel_facts *k)
{
	if (unported())
		line(out, "architecture", false, unported());
	line(out, "BTF", k->btf,
	     k->btf ? "the programs fit themselves to this kernel"
	     : access("/sys/kernel", F_OK)
		     ? "no /sys: mount it into the container (read only is enough); nothing works without it"
		     : "no /sys/kernel/btf/vmlinux: boot a kernel with CONFIG_DEBUG_INFO_BTF; nothing works without it");
	line(out, "uprobe.multi", k->uprobe_multi,
	     k->uprobe_multi ? "all probes of a file in one link: quick to attach and to detach"
			     : "one perf event a probe (kernel before 6.6): detaching takes up to 0.5 s each");
	line(out, "uprobe.session", k->uprobe_session,
	     k->uprobe_session ? "entry and return of plain C allocators in one probe"
			       : "separate probes for entry and return (kernel before 6.13): about 10 % slower");
	line(out, "sleeping walk", k->sleeps,
	     k->sleeps ? "stacks whose pages are away are read in" : "stacks are cut where a page is away (kernel before 6.12)");
	crowd_line(out, k);
	if (k->kills_seccomp)
		line(out, "seccomp", false,
		     "this kernel kills seccomp-confined processes at return probes: they get exit sites instead");
}

static void price_line(struct buf *out, struct probe *p, enum price_of what, const char *name, const char *words)
{
	struct err err = { 0 };
	struct trap_price price;
	if (probe_price(p, what, &price, &err))
		line(out, name, false, err.text);
	else
		buf_addf(out, "%-14s %6.2f us (%.2f with cold caches) %s\n", name, price.warm_s * 1e6, price.cold_s * 1e6, words);
}

static void price_lines(struct buf *out, struct probe *p)
{
	price_line(out, p, PRICE_EMULATED, "a probe", "on an instruction that the kernel emulates: nearly all of ours");
	price_line(out, p, PRICE_STEPPED, "stepped", "on one that it has to step through: only where there is no other");
	price_line(out, p, PRICE_RETURN, "entry, return", "both, at a call of a plain C allocator");
}

/* Loading tests capabilities, lockdown and the verifier together. Configured like a sampled recording. */
static bool try_load(struct buf *out)
{
	struct err err = { 0 };
	struct probe_config cfg = { .ring_sz = 4096,
				    .max_frames = 16,
				    .interval = 1 << 19,
				    .subjects = 1u << ALYS_SUBJECT_ALLOCATIONS,
				    .windowed = true };
	struct probe *p = probe_open(&cfg, &err);
	bool ok = p && !probe_ready(p, &err);
	line(out, "programs", ok, ok ? "loaded and unloaded" : err.text);
	if (ok) {
		buf_addf(out, "%-14s      %s\n", "probes used", probe_tier_name(probe_tier(p)));
		price_lines(out, p);
	}
	probe_close(p);
	return ok;
}

bool probe_doctor(struct buf *out)
{
	struct kernel_facts k = kernel_facts();
	rights_line(out, &k);
	bool seen = namespace_line(out);
	kernel_lines(out, &k);
	lockdown_line(out);
	bool maps = faccessat(AT_FDCWD, "/proc/1/map_files", R_OK | X_OK, AT_EACCESS) == 0 &&
		    (caps_has(CAP_CHECKPOINT_RESTORE) || caps_has(CAP_SYS_ADMIN));
	line(out, "map_files", maps,
	     maps ? "files of other namespaces and deleted files can be read"
		  : "deleted and replaced files of targets cannot be read");
	return try_load(out) && seen;
}
