/* probe/attach: the sites of a file, given to the programs that fit them. See probe.h. */
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.skel.h"
#include "base/vec.h"
#include "probe/link.h"
#include "probe/programs.h"

/* One batch a program; a site may be in several. */
struct plan {
	uint32_t next_site; /* index of the next site that is described */
	uint64_t cookie_flags; /* ALYS_COOKIE_* of every site */
	struct batch session, plain_enter, plain_return, frame_enter, frame_exit, free_enter, refill;
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
		.refill = { .prog = p->skel->progs.refill },
	};
}

/* A return probe takes the return address from where sp points: with a frame begun, that is not it. */
static bool returns_of(const struct site *s, enum probe_returns returns)
{
	if (s->row->shape == ALYS_SHAPE_REFILL)
		return false;
	return returns == PROBE_RETURNS_PLAIN ? s->return_probe : returns == PROBE_RETURNS_ALL && s->cfa_off == 8;
}

static int publish_site(struct plan *plan, struct probe *p, const struct alys_site *s,
			uint64_t *cookie, struct err *err)
{
	uint32_t index = plan->next_site;
	if (index >= ALYS_MAX_SITES)
		return err_set(err, ENOSPC, "more than %d probe sites: choose fewer processes or --allocator",
			       ALYS_MAX_SITES);
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.sites), &index, s, BPF_ANY))
		return err_set(err, errno, "cannot describe a probe site: %s", strerror(errno));
	if (++plan->next_site > p->sites_cnt)
		p->sites_cnt = plan->next_site;
	*cookie = index | plan->cookie_flags;
	return 0;
}

/* The places of a file, its old ones when it has some. NULL when memory is out. */
static struct described *describe_file(struct probe *p, int fd, const struct site_list *l,
					     enum probe_returns returns)
{
	struct stat st = { 0 };
	fstat(fd, &st);
	for (size_t i = 0; i < p->files_cnt; i++) {
		struct described *d = &p->files[i];
		if (d->dev == st.st_dev && d->ino == st.st_ino && d->returns == returns &&
		    d->sites_cnt == l->sites_cnt && d->exits_cnt == l->exits_cnt)
			return d;
	}
	struct described *d = VEC_PUSH(p, files);
	if (d)
		*d = (struct described){ .dev = st.st_dev, .ino = st.st_ino, .returns = returns,
					 .sites_cnt = l->sites_cnt, .exits_cnt = l->exits_cnt,
					 .object = p->objects_cnt++, .first_site = p->sites_cnt };
	return d;
}

static int publish_object(struct probe *p, const struct site_list *l, const uint32_t *index, struct err *err)
{
	struct alys_object wire;
	if (*index >= ALYS_MAX_OBJECTS)
		return err_set(err, ENOSPC, "more than %d files with allocators: choose fewer processes or --allocator",
			       ALYS_MAX_OBJECTS);
	sites_fill_object(l, &wire);
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.objects), index, &wire, BPF_ANY))
		return err_set(err, errno, "cannot describe a file: %s", strerror(errno));
	return 0;
}

static int plan_entry(struct plan *plan, struct probe *p, uint32_t object, const struct site *s,
		      enum sample_at at, enum probe_returns returns, struct err *err)
{
	struct alys_site wire;
	uint64_t cookie;
	sites_fill_entry(s, object, &wire);
	if (s->predicted)
		wire.flags |= ALYS_SITE_LISTS;
	if (at == SAMPLE_AT_REFILL && s->row->family == ALLOC_LIBGC)
		wire.flags |= ALYS_SITE_UNFREED;
	int rc = publish_site(plan, p, &wire, &cookie, err);
	if (rc)
		return rc;
	if (wire.shape == ALYS_SHAPE_FREE)
		return batch_add(&plan->free_enter, s->offset, cookie);
	if (wire.shape == ALYS_SHAPE_REFILL)
		return batch_add(&plan->refill, s->offset, cookie);
	if (!returns_of(s, returns))
		return batch_add(&plan->frame_enter, s->offset, cookie);
	if (p->tier == PROBE_TIER_SESSION)
		return batch_add(&plan->session, s->offset, cookie);
	rc = batch_add(&plan->plain_enter, s->offset, cookie);
	return rc ? rc : batch_add(&plan->plain_return, s->offset, cookie);
}

/* A site whose results are seen at this exit, NULL when none are. */
static const struct site *exit_user(const struct site_list *l, uint32_t exit, enum probe_returns returns)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		const uint32_t *exits;
		size_t n = sites_exits(s, true, &exits);
		if (s->state != SITE_PROBED || returns_of(s, returns))
			continue;
		for (size_t k = 0; k < n; k++) {
			if (exits[k] == exit)
				return s;
		}
	}
	return NULL;
}

/* Exits of functions that are seen by return probes stay free of probes. */
static int plan_exits(struct plan *plan, struct probe *p, uint32_t object, const struct site_list *l,
		      enum probe_returns returns, struct err *err)
{
	int rc = 0;
	for (uint32_t x = 0; x < l->exits_cnt && !rc; x++) {
		const struct site *s = exit_user(l, x, returns);
		struct alys_site wire;
		uint64_t cookie;
		if (!s)
			continue;
		sites_fill_exit(&l->exits[x], object, s->row->nest, &wire);
		rc = publish_site(plan, p, &wire, &cookie, err);
		if (!rc)
			rc = batch_add(&plan->frame_exit, l->exits[x].offset, cookie);
	}
	return rc;
}

/* Ways out first: a call whose entry was seen must not get away. */
static int plan_attach(struct plan *plan, struct probe *p, uint32_t tgid, int file_fd, struct err *err)
{
	const struct batch *order[] = {
		&plan->frame_exit, &plan->plain_return, &plan->session,
		&plan->plain_enter, &plan->frame_enter, &plan->free_enter, &plan->refill,
	};
	const size_t n = sizeof(order) / sizeof(order[0]);
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = order[i]->offsets_cnt ? program_ready(p, order[i]->prog, err) : 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = batch_attach(order[i], p, tgid, file_fd, err);
	return rc;
}

int probe_attach(struct probe *p, uint32_t tgid, int file_fd, const struct site_list *sites,
		 enum probe_returns returns, struct err *err)
{
	struct plan plan;
	struct described *d = describe_file(p, file_fd, sites, returns);
	if (!d)
		return err_set(err, ENOMEM, "out of memory");
	/* Twice for all would be every call twice. */
	if (!tgid && d->attached)
		return 0;
	uint32_t object = d->object;
	plan_begin(&plan, p);
	plan.next_site = d->first_site;
	plan.cookie_flags = tgid ? ALYS_COOKIE_FILTERED : 0;
	int rc = publish_object(p, sites, &object, err);
	for (size_t i = 0; i < sites->sites_cnt && !rc; i++) {
		if (sites->sites[i].state == SITE_PROBED)
			rc = plan_entry(&plan, p, object, &sites->sites[i], sites->at, returns, err);
	}
	if (!rc)
		rc = plan_exits(&plan, p, object, sites, returns, err);
	if (rc == -ENOMEM)
		err_set(err, ENOMEM, "out of memory");
	if (!rc)
		rc = plan_attach(&plan, p, tgid, file_fd, err);
	struct batch *all[] = {
		&plan.session, &plan.plain_enter, &plan.plain_return,
		&plan.frame_enter, &plan.frame_exit, &plan.free_enter, &plan.refill,
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		batch_free(all[i]);
	d->attached |= !tgid && !rc;
	return rc;
}

void probe_close(struct probe *p)
{
	if (!p)
		return;
	probe_detach(p, 0);
	tables_free(p->tables);
	free(p->attachments);
	programs_close(p->programs);
	free(p->files);
	alys_bpf__destroy(p->skel);
	free(p);
}
