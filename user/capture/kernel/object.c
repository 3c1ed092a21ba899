/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/object: see object.h. */
#include "kernel/object.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.h"
#include "alys.lean.skel.h"
#include "alys.skel.h"

/* Can kfuncs be resolved here, with this process' capabilities? */
static bool has_kfuncs(const struct kernel_facts *facts)
{
	uint32_t id;
	bool all = facts->uprobe_session; /* bpf_rdonly_cast is older */
	return all || !bpf_btf_get_next_id(0, &id) || errno != EPERM;
}

/* Maps and programs of both builds have the same names in the same order: one skeleton serves both. */
static struct alys_bpf *open_lean(void)
{
	struct alys_bpf *skel = calloc(1, sizeof(*skel));
	int rc = skel ? alys_bpf__create_skeleton(skel) : -ENOMEM;
	if (!rc) {
		skel->skeleton->data = (void *)alys_lean_bpf__elf_bytes(&skel->skeleton->data_sz);
		rc = bpf_object__open_skeleton(skel->skeleton, NULL);
	}
	if (!rc)
		return skel;
	alys_bpf__destroy(skel);
	errno = -rc;
	return NULL;
}

struct alys_bpf *object_open(const struct kernel_facts *facts)
{
	return has_kfuncs(facts) ? alys_bpf__open() : open_lean();
}
