/* SPDX-License-Identifier: Apache-2.0 */
/* See attach.h. */
#include "attach.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The beginning of union bpf_attr for BPF_LINK_CREATE (include/uapi/linux/bpf.h of 6.6). */
struct create_multi {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 cnt, multi_flags, pid, pad;
};

bool attach_has_multi(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
	btf__free(btf);
	return has;
}

void attach_prepare(struct bpf_program *prog, bool multi)
{
	if (multi)
		bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
}

static int attach_each(struct bpf_program *prog, bool at_return, uint32_t tgid, const char *path,
		       const uint64_t *offsets, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		/* Never closed: the kernel detaches them at exit. */
		if (!bpf_program__attach_uprobe(prog, at_return, tgid ? (pid_t)tgid : -1, path, offsets[i])) {
			fprintf(stderr, "attach %s: %s\n", path, strerror(errno));
			exit(2);
		}
	}
	return -1;
}

int attach_probe(struct bpf_program *prog, bool multi, bool at_return, uint32_t tgid, const char *path,
		 const uint64_t *offsets, uint32_t n)
{
	if (!multi)
		return attach_each(prog, at_return, tgid, path, offsets, n);
	struct create_multi attr = {
		.prog_fd = (__u32)bpf_program__fd(prog),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (__u64)(uintptr_t)path,
		.offsets = (__u64)(uintptr_t)offsets,
		.cnt = n,
		.multi_flags = at_return,
		.pid = tgid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0) {
		fprintf(stderr, "attach %s: %s\n", path, strerror(errno));
		exit(2);
	}
	return fd;
}
