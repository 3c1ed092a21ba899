/* probe/attach: the sites of a file, given to the programs that fit them. See probe.h. */
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.skel.h"
#include "probe/link.h"

/* One batch a program; a site may be in several. */
struct plan {
	struct batch session, plain_enter, plain_return, frame_enter, frame_exit, free_enter;
};

static void plan_begin(struct plan *plan, struct probe *p)
{
	*plan = (struct plan){
		.session = { .prog = p->skel->progs.call_session, .session = true },
		.plain_enter = { .prog = p->skel->progs.plain_enter },
		.plain_return = { .prog = p->skel->progs.plain_return, .at_return = true },
		.frame_enter = { .prog = p->skel->progs.frame_enter },
		.frame_exit = { .prog = p->skel->progs.frame_exit },
		.free_enter = { .prog = p->skel->progs.free_enter },
	};
}

/* A return probe takes the return address from where sp points: with a frame begun, that is not it. */
static bool returns_of(const struct site *s, enum probe_returns returns)
{
	return returns == PROBE_RETURNS_PLAIN ? s->return_probe : returns == PROBE_RETURNS_ALL && s->cfa_off == 8;
}

static int publish_site(struct probe *p, const struct alys_site *s, uint32_t *index, struct err *err)
{
	*index = p->sites_cnt;
	if (*index >= ALYS_MAX_SITES)
		return err_set(err, ENOSPC, "more than %d probe sites: choose fewer processes or --allocator",
			       ALYS_MAX_SITES);
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.sites), index, s, BPF_ANY))
		return err_set(err, errno, "cannot describe a probe site: %s", strerror(errno));
	p->sites_cnt++;
	return 0;
}

static int plan_entry(struct plan *plan, struct probe *p, const struct site_list *l,
		      const struct site *s, enum probe_returns returns, struct err *err)
{
	struct alys_site wire;
	uint32_t index;
	sites_fill_entry(l, s, &wire);
	int rc = publish_site(p, &wire, &index, err);
	if (rc)
		return rc;
	if (wire.shape == ALYS_SHAPE_FREE)
		return batch_add(&plan->free_enter, s->offset, index);
	if (!returns_of(s, returns))
		return batch_add(&plan->frame_enter, s->offset, index);
	if (p->tier == PROBE_TIER_SESSION)
		return batch_add(&plan->session, s->offset, index);
	rc = batch_add(&plan->plain_enter, s->offset, index);
	return rc ? rc : batch_add(&plan->plain_return, s->offset, index);
}

/* Exits of functions that are seen by return probes stay free of probes. */
static int plan_exits(struct plan *plan, struct probe *p, const struct site_list *l,
		      enum probe_returns returns, struct err *err)
{
	int rc = 0;
	for (uint32_t x = 0; x < l->exits_cnt && !rc; x++) {
		bool wanted = false;
		for (size_t i = 0; i < l->sites_cnt && !wanted; i++) {
			const struct site *s = &l->sites[i];
			bool by_exit = s->state == SITE_PROBED && !returns_of(s, returns);
			for (size_t n = 0; by_exit && n < s->exits_cnt; n++)
				wanted |= s->exits[n] == x;
		}
		struct alys_site wire;
		uint32_t index;
		if (!wanted)
			continue;
		sites_fill_exit(l, &l->exits[x], &wire);
		rc = publish_site(p, &wire, &index, err);
		if (!rc)
			rc = batch_add(&plan->frame_exit, l->exits[x].offset, index);
	}
	return rc;
}

/* Ways out first: a call whose entry was seen must not get away. */
static int plan_attach(struct plan *plan, struct probe *p, uint32_t tgid, int file_fd, struct err *err)
{
	const struct batch *order[] = {
		&plan->frame_exit, &plan->plain_return, &plan->session,
		&plan->plain_enter, &plan->frame_enter, &plan->free_enter,
	};
	int rc = 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && !rc; i++)
		rc = batch_attach(order[i], p, tgid, file_fd, err);
	return rc;
}

int probe_attach(struct probe *p, uint32_t tgid, int file_fd, const struct site_list *sites,
		 enum probe_returns returns, struct err *err)
{
	struct plan plan;
	int rc = 0;
	plan_begin(&plan, p);
	for (size_t i = 0; i < sites->sites_cnt && !rc; i++) {
		if (sites->sites[i].state == SITE_PROBED)
			rc = plan_entry(&plan, p, sites, &sites->sites[i], returns, err);
	}
	if (!rc)
		rc = plan_exits(&plan, p, sites, returns, err);
	if (rc == -ENOMEM)
		err_set(err, ENOMEM, "out of memory");
	if (!rc)
		rc = plan_attach(&plan, p, tgid, file_fd, err);
	struct batch *all[] = {
		&plan.session, &plan.plain_enter, &plan.plain_return,
		&plan.frame_enter, &plan.frame_exit, &plan.free_enter,
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		batch_free(all[i]);
	return rc;
}

void probe_close(struct probe *p)
{
	if (!p)
		return;
	probe_detach(p, 0);
	free(p->attachments);
	alys_bpf__destroy(p->skel);
	free(p);
}
