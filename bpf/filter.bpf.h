/* SPDX-License-Identifier: GPL-2.0 */
/* Is this hit wanted? The first question of every program. */
#ifndef ALYS_FILTER_BPF_H
#define ALYS_FILTER_BPF_H

static __always_inline struct alys_target *wanted_target(void)
{
	if (!recording)
		return NULL;
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	return bpf_map_lookup_elem(&targets, &tgid);
}

static __always_inline const struct alys_site *site_of(void *ctx)
{
	__u32 i = bpf_get_attach_cookie(ctx);
	return bpf_map_lookup_elem(&sites, &i);
}

#endif
