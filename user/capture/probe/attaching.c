/* SPDX-License-Identifier: Apache-2.0 */
/* probe/attaching: attaches BPF programs at the sites of a file. See probe.h. */
#include "probe/balance.h"
#include "probe/load.h"
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.skel.h"
#include "kernel/programs.h"
#include "probe/link.h"

/* One batch per program; a site may be in several. */
struct batches {
	struct batch whole_call, whole_collected, session, plain_enter, plain_return, frame_enter, frame_exit, free_enter, refill,
		frame_predict;
	struct batch noted_alloc, noted_free; /* a program's own probes */
	struct batch heapful, heapful_session, heapful_exit;
};

struct plan {
	const struct probe_order *order;
	bool exits_only; /* entries are attached already */
	bool gc_calls;   /* there are some that stay */
	struct site_set *set;
	size_t next_place;           /* number of the next site within `set` */
	struct batches stay, window; /* attached always, or during windows only */
};

static bool is_collected(const struct site *s)
{
	return s->row->family == ALLOC_LIBGC;
}

/* A call that ends blocks: those of windows would outlive it unseen between windows. */
static bool ends_blocks(const struct probe *p, const struct site *s)
{
	uint8_t shape = s->row->shape;
	return !p->no_frees && (shape == ALYS_SHAPE_FREE || shape == ALYS_SHAPE_REALLOC || shape == ALYS_SHAPE_MULREALLOC);
}

/* A collector's calls need its own counter of bytes; those of others are weighed by CPU time. */
static bool may_come_and_go(const struct probe *p, const struct site_list *l, const struct site *s)
{
	if (is_collected(s))
		return p->windowed && l->at == SAMPLE_AT_REFILL && l->counter.known;
	return p->windowed && !ends_blocks(p, s);
}

/* Whose probe stays for the blocks that it ends allocates in windows only, all the same. */
static uint32_t window_flags(const struct probe *p, const struct site_list *l, const struct site *s)
{
	if (may_come_and_go(p, l, s))
		return ALYS_SITE_WINDOW;
	return p->windowed && !is_collected(s) && s->row->shape != ALYS_SHAPE_FREE ? ALYS_SITE_DRAW_IN_WINDOW : 0;
}

static void batches_begin(struct batches *b, const struct probe *p, uint32_t trial, bool window)
{
	*b = (struct batches){
		.whole_call = { .prog = p->skel->progs.whole_call, .window = window },
		.whole_collected = { .prog = p->skel->progs.whole_collected, .window = window },
		.session = { .prog = p->skel->progs.call_session, .session = true, .window = window },
		.plain_enter = { .prog = p->skel->progs.plain_enter, .window = window },
		.plain_return = { .prog = p->skel->progs.plain_return, .at_return = true, .window = window },
		.frame_enter = { .prog = p->skel->progs.frame_enter, .window = window },
		.frame_exit = { .prog = p->skel->progs.frame_exit, .trial = trial, .window = window && !trial },
		.frame_predict = { .prog = p->skel->progs.frame_predict, .trial = trial, .window = window && !trial },
		.free_enter = { .prog = p->skel->progs.free_enter, .window = window },
		.refill = { .prog = p->skel->progs.refill, .window = window },
		.noted_alloc = { .prog = p->skel->progs.noted_alloc },
		.noted_free = { .prog = p->skel->progs.noted_free },
		.heapful = { .prog = p->skel->progs.heapful, .window = window },
		.heapful_exit = { .prog = p->skel->progs.heapful_exit, .trial = trial, .window = window && !trial },
		.heapful_session = { .prog = p->skel->progs.heapful_session, .session = true, .window = window },
	};
}

/* trial: number of the trial that begins, or 0. */
static void plan_begin(struct plan *plan, const struct probe_order *order, uint32_t trial, struct probe *p, struct site_set *set)
{
	*plan = (struct plan){ .order = order, .set = set };
	batches_begin(&plan->stay, p, trial, false);
	batches_begin(&plan->window, p, trial, true);
}

static struct batches *batches_of(struct plan *plan, const struct alys_site *wire)
{
	return wire->flags & ALYS_SITE_WINDOW ? &plan->window : &plan->stay;
}

/*
 * Are the site's results seen by a return probe? It takes the return address from where sp points, so it works only
 * before a frame has been set up.
 */
static bool returns_of(const struct site *s, enum probe_returns returns)
{
	if (!alloc_returns_block(s->row) || s->row->shape == ALYS_SHAPE_BATCH)
		return false;
	return returns == PROBE_RETURNS_PLAIN ? s->return_probe : returns == PROBE_RETURNS_ALL && s->unchanged;
}

static int take_place(struct plan *plan, struct probe *p, uint32_t *index, struct err *err)
{
	int rc = files_place(&p->files, plan->set, plan->next_place, index);
	if (rc == -ENOSPC && files_await(p))
		rc = files_place(&p->files, plan->set, plan->next_place, index);
	if (rc == -ENOSPC)
		return err_set(err, ENOSPC, "more than %d probe sites: choose fewer processes or --allocator", ALYS_MAX_SITES);
	return rc;
}

static int publish_site(struct plan *plan, struct probe *p, struct alys_site *s, uint64_t *cookie, struct err *err)
{
	uint32_t index;
	int rc = take_place(plan, p, &index, err);
	if (rc)
		return rc;
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.sites), &index, s, BPF_ANY))
		return err_set(err, errno, "cannot describe a probe site: %s", strerror(errno));
	plan->next_place++;
	*cookie = index | (plan->order->tgid ? ALYS_COOKIE_FILTERED : 0);
	return 0;
}

static int publish_object(struct probe *p, uint32_t index, const struct alys_object *o, struct err *err)
{
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.objects), &index, o, BPF_ANY))
		return err_set(err, errno, "cannot describe a file: %s", strerror(errno));
	return 0;
}

/* The file's entry and site numbers, its existing ones if it has some. NULL: see err. */
static struct site_set *describe_file(struct probe *p, struct probed_file *file, const struct probe_order *o, struct err *err)
{
	const struct site_set like = {
		.returns = o->returns,
		.trial = o->proof != NULL,
		.digest = sites_digest(o->sites),
	};
	const struct alys_object none = { 0 };
	bool made;
	int rc;
	struct site_set *d = files_put_set(&p->files, file, &like, &made, &rc);
	if (rc == -ENOSPC && files_await(p))
		d = files_put_set(&p->files, file, &like, &made, &rc);
	if (rc == -ENOSPC)
		err_set(err, ENOSPC, "more than %d files with allocators: choose fewer processes or --allocator",
			ALYS_MAX_OBJECTS);
	else if (rc)
		err_set(err, -rc, "out of memory");
	/* The number may have been another file's: resets its trial counts. */
	return !d || (made && publish_object(p, d->object, &none, err)) ? NULL : d;
}

static int describe_object(struct probe *p, const struct site_list *l, uint32_t index, struct err *err)
{
	struct alys_object wire, known = { 0 };
	sites_fill_object(l, &wire);
	bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.objects), &index, &known);
	/* Another process may be added during a trial: keep its counts. */
	wire.agreed = known.agreed;
	wire.wrong = known.wrong;
	wire.tcache.taken = known.tcache.taken;
	wire.tcache.resized = known.tcache.resized;
	return publish_object(p, index, &wire, err);
}

/* Where its arguments are, and the probe to the batch of its program. */
static int plan_noted(struct plan *plan, struct probe *p, const struct site *s, struct err *err)
{
	struct batches *to = &plan->stay;
	struct alys_site wire;
	uint64_t cookie;
	sites_fill_entry(s, plan->set->object, &wire);
	int rc = publish_site(plan, p, &wire, &cookie, err);
	if (rc)
		return rc;
	uint32_t index = (uint32_t)cookie;
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.notes), &index, &s->note, BPF_ANY))
		return err_set(err, errno, "cannot describe a program's own probe: %s", strerror(errno));
	return batch_add_counted(s->row->shape == ALYS_SHAPE_FREE ? &to->noted_free : &to->noted_alloc, s->offset, cookie,
				 s->semaphore);
}

/* Only with sessions an entry can leave the return alone, as most do. Where a `ret` is cheap, exits are probed instead. */
static bool is_timed_at_return(const struct plan *plan, const struct probe *p, const struct site *s)
{
	bool safe = plan->order->returns != PROBE_RETURNS_NONE && s->unchanged && !s->exits_cnt;
	return p->tier == PROBE_TIER_SESSION && s->row->timed && safe;
}

/* Before a second one is attached. */
static void note_free(struct probe *p, const struct site *s, uint64_t cookie)
{
	uint32_t number = (uint32_t)cookie + 1;
	if (s->row->nest != ALYS_NEST_THREAD)
		return;
	if (p->only_free && p->only_free != number)
		p->skel->bss->frees_nest = 1;
	p->only_free = number;
}

/* Adds an entry to the batch of its program. */
static int add_entry(const struct plan *plan, struct batches *to, struct probe *p, const struct site *s, bool by_frame,
		     uint64_t cookie)
{
	if (by_frame)
		return batch_add(&to->frame_enter, s->offset, cookie);
	if (s->row->shape == ALYS_SHAPE_FREE) {
		note_free(p, s, cookie);
		return batch_add(&to->free_enter, s->offset, cookie);
	}
	if (s->row->shape == ALYS_SHAPE_REFILL)
		return batch_add(&to->refill, s->offset, cookie);
	if (s->row->shape == ALYS_SHAPE_HEAPFUL)
		return batch_add(is_timed_at_return(plan, p, s) ? &to->heapful_session : &to->heapful, s->offset, cookie);
	if (p->tier == PROBE_TIER_SESSION)
		return batch_add(&to->session, s->offset, cookie);
	int rc = batch_add(&to->plain_enter, s->offset, cookie);
	return rc ? rc : batch_add(&to->plain_return, s->offset, cookie);
}

static int plan_entry(struct plan *plan, struct probe *p, const struct site *s, struct err *err)
{
	const struct probe_order *o = plan->order;
	bool by_frame = alloc_returns_block(s->row) && !returns_of(s, o->returns);
	struct alys_site wire;
	uint64_t cookie;
	sites_fill_entry(s, plan->set->object, &wire);
	wire.account = calls_number(p, s->row->symbol, o->file_fd);
	if (s->predicted)
		wire.flags |= ALYS_SITE_LISTS;
	/* Elsewhere an entry cannot tell the kernel to leave the return alone. */
	if (s->cached && !by_frame && p->tier == PROBE_TIER_SESSION)
		wire.flags |= ALYS_SITE_TCACHE;
	if (o->sites->at == SAMPLE_AT_REFILL && s->row->family == ALLOC_LIBGC)
		wire.flags |= ALYS_SITE_UNFREED;
	if (by_frame && o->proof)
		wire.flags |= ALYS_SITE_TRIAL;
	wire.flags |= window_flags(p, o->sites, s);
	plan->gc_calls |= is_collected(s) && !(wire.flags & ALYS_SITE_WINDOW);
	int rc = publish_site(plan, p, &wire, &cookie, err);
	return rc || plan->exits_only ? rc : add_entry(plan, batches_of(plan, &wire), p, s, by_frame, cookie);
}

static bool ends_at(const struct site *s, uint32_t exit)
{
	const uint32_t *exits;
	size_t n = sites_exits(s, true, &exits);
	for (size_t k = 0; k < n; k++) {
		if (exits[k] == exit)
			return true;
	}
	return false;
}

/* A site whose results are seen at this exit, NULL when none are. */
static const struct site *exit_user(const struct site_list *l, uint32_t exit, enum probe_returns returns)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		if (s->state == SITE_PROBED && !returns_of(s, returns) && ends_at(s, exit))
			return s;
	}
	return NULL;
}

/* An exit that several share stays as long as one of them does. */
static uint32_t exit_flags(const struct probe *p, const struct site_list *l, uint32_t exit)
{
	uint32_t flags = ALYS_SITE_WINDOW;
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		if (s->state == SITE_PROBED && ends_at(s, exit))
			flags &= window_flags(p, l, s);
	}
	return flags;
}

/* Is it an exit at which this list's results are seen? */
static bool sees_at(const struct site_list *l, uint64_t offset, enum probe_returns returns)
{
	for (uint32_t i = 0; i < l->exits_cnt; i++) {
		if (l->exits[i].offset == offset && exit_user(l, i, returns))
			return true;
	}
	return false;
}

static bool is_late(const struct site *s)
{
	return s->whole && s->row->nest == ALYS_NEST_THREAD;
}

static struct batch *batch_of_exit(struct batches *to, const struct site *s, bool predict)
{
	if (s->row->shape == ALYS_SHAPE_HEAPFUL)
		return &to->heapful_exit;
	return predict ? &to->frame_predict : &to->frame_exit;
}

/*
 * Exits of functions with return probes are not probed. A `ret` in both lists of a trial has nothing to be compared
 * with.
 */
static int plan_exits(struct plan *plan, struct probe *p, const struct site_list *l, bool predict, struct err *err)
{
	const struct site_list *other = l == plan->order->proof ? plan->order->sites : plan->order->proof;
	int rc = 0;
	for (uint32_t x = 0; x < l->exits_cnt && !rc; x++) {
		const struct site *s = exit_user(l, x, plan->order->returns);
		bool shared = other && sees_at(other, l->exits[x].offset, plan->order->returns);
		struct alys_site wire;
		uint64_t cookie;
		if (!s || (shared && predict))
			continue;
		sites_fill_exit(&l->exits[x], plan->set->object, s->row->nest, &wire);
		wire.flags |= is_late(s) ? ALYS_SITE_LATE : 0;
		if (other && !shared)
			wire.flags |= ALYS_SITE_TRIAL;
		wire.flags |= exit_flags(p, l, x);
		struct batches *to = batches_of(plan, &wire);
		rc = publish_site(plan, p, &wire, &cookie, err);
		if (!rc)
			rc = batch_add(batch_of_exit(to, s, predict), l->exits[x].offset, cookie);
	}
	return rc;
}

/* An exit without an entry. With refills, blocks are followed by marks only. */
static int add_whole(struct plan *plan, struct probe *p, const struct site *s, const struct site_exit *x, struct err *err)
{
	bool refills = plan->order->sites->at == SAMPLE_AT_REFILL && is_collected(s);
	struct alys_site wire;
	uint64_t cookie;
	sites_fill_whole(plan->order->sites, x, plan->set->object, &wire);
	wire.account = calls_number(p, s->row->symbol, plan->order->file_fd);
	wire.flags |= window_flags(p, plan->order->sites, s) | (refills ? ALYS_SITE_UNFREED : 0);
	struct batches *to = batches_of(plan, &wire);
	int rc = publish_site(plan, p, &wire, &cookie, err);
	struct batch *batch = refills ? &to->refill : is_collected(s) ? &to->whole_collected : &to->whole_call;
	return rc ?: batch_add(batch, x->offset, cookie);
}

/* Calls that one exit probe sees whole. */
static int plan_whole_calls(struct plan *plan, struct probe *p, const struct site_list *l, struct err *err)
{
	int rc = 0;
	for (size_t x = 0; x < l->exits_cnt && !rc; x++) {
		const struct site_exit *exit = &l->exits[x];
		const struct site *s = exit->whole_call_of ? &l->sites[exit->whole_call_of - 1] : NULL;
		if (s && s->whole)
			rc = add_whole(plan, p, s, exit, err);
	}
	return rc;
}

static int plan_all(struct plan *plan, struct probe *p, struct err *err)
{
	const struct probe_order *o = plan->order;
	int rc = describe_object(p, o->sites, plan->set->object, err);
	for (size_t i = 0; i < o->sites->sites_cnt && !rc; i++) {
		const struct site *s = &o->sites->sites[i];
		bool dropped = p->no_frees && s->row->shape == ALYS_SHAPE_FREE && !is_collected(s);
		if (s->state == SITE_PROBED && !dropped)
			rc = s->row->family == ALLOC_USDT ? plan_noted(plan, p, s, err) : plan_entry(plan, p, s, err);
	}
	/* Until the new exits are attached, those of the trial keep their numbers. */
	if (plan->exits_only)
		plan->next_place = plan->set->ended;
	if (!rc && o->proof)
		rc = plan_exits(plan, p, o->proof, false, err);
	if (!rc)
		rc = plan_exits(plan, p, o->sites, o->proof != NULL, err);
	if (!rc)
		rc = plan_whole_calls(plan, p, o->sites, err);
	return rc == -ENOMEM ? err_set(err, ENOMEM, "out of memory") : rc;
}

/* Exits first: otherwise a call could be seen at its entry and missed at its exit. */
static int plan_attach(struct plan *plan, struct probe *p, struct err *err)
{
	struct batches *stay = &plan->stay, *window = &plan->window;
	struct batch *order[] = {
		&stay->heapful_exit,  &window->heapful_exit,  &stay->frame_exit,      &window->frame_exit,
		&stay->frame_predict, &window->frame_predict, &stay->plain_return,    &window->plain_return,
		&stay->whole_call,    &window->whole_call,    &stay->whole_collected, &window->whole_collected,
		&stay->session,       &window->session,       &stay->plain_enter,     &window->plain_enter,
		&stay->frame_enter,   &window->frame_enter,   &stay->free_enter,      &window->free_enter,
		&stay->refill,        &window->refill,        &stay->noted_free,      &stay->noted_alloc,
		&stay->heapful,       &window->heapful,       &stay->heapful_session, &window->heapful_session,
	};
	const size_t n = sizeof(order) / sizeof(order[0]);
	int rc = plan_all(plan, p, err);
	/* The last one first: the one for calls is being loaded from the beginning. */
	for (size_t i = n; i-- && !rc;)
		rc = order[i]->offsets_cnt ? program_ready(p, order[i]->prog, err) : 0;
	for (size_t i = 0; i < n && !rc; i++) {
		order[i]->gc_calls = plan->gc_calls && !order[i]->window;
		rc = batch_attach(order[i], p, plan->order->tgid, plan->order->file_fd, err);
	}
	for (size_t i = 0; i < n; i++)
		batch_free(order[i]);
	return rc;
}

#define NO_OBJECT UINT32_MAX

/*
 * *object: the file's number; NO_OBJECT: it was attached before. Attached twice for all processes, with or without a
 * trial, every call would be recorded twice.
 */
static int attach(struct probe *p, const struct probe_order *o, uint32_t trial, uint32_t *object, struct err *err)
{
	struct plan plan;
	const struct probe_file id = probe_file_of(o->file_fd);
	struct probed_file *file = file_prepare(p, id, o->tgid);
	if (!file)
		return err_set(err, ENOMEM, "out of memory");
	struct site_set *d = describe_file(p, file, o, err);
	if (!d)
		return -err->code;
	*object = d->object;
	if (o->tgid ? is_attached(p, o->tgid, file->id) : file->attached) {
		*object = NO_OBJECT;
		files_serve(file, id);
		return 0;
	}
	plan_begin(&plan, o, trial, p, d);
	int rc = plan_attach(&plan, p, err);
	file->attached |= !o->tgid && !rc;
	/* Otherwise, at the next attempt, the links made so far would make the file seem attached. */
	if (rc && o->tgid)
		detach_of(p, o->tgid, file->id);
	return rc;
}

int probe_attach(struct probe *p, const struct probe_order *o, struct err *err)
{
	uint32_t object;
	return attach(p, o, 0, &object, err);
}

int probe_attach_on_trial(struct probe *p, const struct probe_order *o, struct probe_trial *out, struct err *err)
{
	*out = (struct probe_trial){ .number = ++p->trials_cnt, .tgid = o->tgid };
	int rc = attach(p, o, out->number, &out->object, err);
	if (!rc && out->object == NO_OBJECT)
		out->number = 0;
	return rc;
}

int probe_trial_read(const struct probe *p, struct probe_trial *t)
{
	struct alys_object o;
	if (bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.objects), &t->object, &o))
		return -errno;
	t->agreed = o.agreed;
	t->wrong = o.wrong;
	return 0;
}

/*
 * Entries stay attached and are only described again. Exits of both lists are attached for a while: the second one that
 * a call passes finds the call ended.
 */
int probe_trial_end(struct probe *p, const struct probe_trial *t, const struct probe_order *o, struct err *err)
{
	struct site_set *set = files_set_of(&p->files, t->object);
	struct plan plan;
	if (!set)
		return err_set(err, ENOENT, "the trial's file is not in use any more");
	if (!set->ended)
		set->ended = set->places_cnt;
	plan_begin(&plan, o, 0, p, set);
	plan.exits_only = true;
	return plan_attach(&plan, p, err);
}

void probe_trial_detach(struct probe *p, uint32_t number)
{
	detach_trial(p, number);
}

void probe_close(struct probe *p)
{
	if (!p)
		return;
	probe_detach(p, 0);
	if (p->skel)
		probe_listen(p, false, NULL);
	tables_free(p->tables);
	if (p->object_log)
		munmap((void *)p->object_log, OBJECT_LOG_SZ);
	free(p->attachments);
	free(p->faulting);
	programs_close(p->programs);
	files_free(&p->files);
	calls_free(&p->counted);
	alys_bpf__destroy(p->skel);
	free(p);
}
