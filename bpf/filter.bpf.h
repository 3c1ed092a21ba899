/* SPDX-License-Identifier: GPL-2.0-only */
/* Is this hit wanted? The first check of every program. */
#ifndef ALYS_FILTER_BPF_H
#define ALYS_FILTER_BPF_H

static __always_inline bool is_target(void)
{
	__u32 tgid = current_tgid();
	if (!recording)
		return false;
	const __u8 *mark = bpf_map_lookup_elem(&targets, &tgid);
	return mark ? *mark : config.all;
}

/* Are its start and end reported, although it may not be a target? */
static __always_inline bool is_reported(void)
{
	__u32 tgid = current_tgid();
	if (!recording)
		return false;
	const __u8 *mark = bpf_map_lookup_elem(&targets, &tgid);
	return mark ? *mark : config.report_all;
}

/*
 * The site of this hit; NULL if the hit is not wanted. A link that the kernel filters to one process says so in its
 * cookie, which saves looking the process up.
 */
static __always_inline const void *wanted_of(__u64 cookie, void *table)
{
	if (!recording)
		return NULL;
	if (!(cookie & ALYS_COOKIE_FILTERED) && !is_target())
		return NULL;
	__u32 i = cookie;
	return bpf_map_lookup_elem(table, &i);
}

static __always_inline void note_met(__u64 cookie)
{
	__u8 *met = &sites_met[(__u32)cookie & (ALYS_MAX_SITES - 1)];
	if (!*met)
		*met = 1;
}

static __always_inline const struct alys_site *wanted_site(void *ctx)
{
	__u64 cookie = hit_cookie(ctx);
	/* Of any process: a probe that nothing has hit may stay between windows, where it would slow others down, too. */
	if (config.windowed)
		note_met(cookie);
	const struct alys_site *site = wanted_of(cookie, &sites);
	if (config.windowed && site) {
		count(ALYS_ST_TRAPS);
		/* Those that stay slow the program down in windows and between them alike: they are its own. */
		if (site->flags & ALYS_SITE_WINDOW)
			charge_trap();
		else
			count(ALYS_ST_TRAPS_KEPT);
	}
	return site;
}

/* Is this process known by its own probes? What its allocator is asked for would count a second time. */
static __always_inline bool is_left_to_notes(void)
{
	if (!config.noted)
		return false;
	__u32 tgid = current_tgid();
	const __u8 *mark = bpf_map_lookup_elem(&targets, &tgid);
	if (!mark || !(*mark & ALYS_NOTED))
		return false;
	count(ALYS_ST_LEFT_TO_NOTES);
	return true;
}

/* The same for the start of a call: one outside any window is not part of the recording. */
static __always_inline const struct alys_site *wanted_call(void *ctx)
{
	const struct alys_site *site = wanted_site(ctx);
	if (site && is_left_to_notes())
		return NULL;
	if (!config.windowed || !site || !window_shut || !(site->flags & ALYS_SITE_WINDOW))
		return site;
	count(ALYS_ST_OUTSIDE);
	return NULL;
}

/* The probe stays for what ends old blocks; new ones are sampled in windows only. */
static __always_inline bool may_draw(const struct alys_site *site)
{
	return !config.windowed || !window_shut || !(site->flags & ALYS_SITE_DRAW_IN_WINDOW);
}

#endif
