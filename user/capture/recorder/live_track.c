/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/live: callbacks for the tracker. See live.h. */
#include <errno.h>

#include "recorder/live.h"
#include "recorder/tracker.h"

static struct proc_id on_find(void *ctx, uint32_t tgid)
{
	return target_find(((const struct live *)ctx)->h.targets, tgid);
}

static bool on_has(void *ctx, uint32_t tgid)
{
	return live_has(ctx, tgid);
}

static const char *on_exe(void *ctx, uint32_t tgid)
{
	const struct live *l = ctx;
	const struct proc *p = catalog_proc(l->h.catalog, target_find(l->h.targets, tgid));
	return p ? p->exe : NULL;
}

static size_t on_count(void *ctx)
{
	return target_count(((const struct live *)ctx)->h.targets);
}

static bool on_full(void *ctx)
{
	return ((const struct live *)ctx)->full;
}

static int on_add(void *ctx, uint32_t tgid, struct err *err)
{
	return live_add(ctx, tgid, err);
}

static struct proc_id on_fork(void *ctx, uint32_t parent, uint32_t child, uint64_t time_ns)
{
	struct live *l = ctx;
	struct proc_id from = target_find(l->h.targets, parent), id = target_fork(l->h.targets, parent, child);
	struct event e = { .kind = EVENT_FORK, .tid = child, .time_ns = time_ns };
	if (!id.n)
		return id;
	for (enum subject s = 0; s < SUBJECT_CNT; s++) {
		e.proc = target_heap(l->h.targets, id, s);
		e.old_addr = target_heap(l->h.targets, from, s).n;
		if (record_has(l->h.o, s))
			live_write_event(l, &e);
	}
	live_memory_forks(l, from, id);
	attach_child(l->attach, catalog_proc(l->h.catalog, id));
	return id;
}

static void on_drop(void *ctx, uint32_t tgid)
{
	live_remove(ctx, tgid);
}

static void on_ignore(void *ctx, uint32_t tgid)
{
	const struct live *l = ctx;
	if (live_takes_all(l))
		probe_exclude(l->h.probe, tgid, NULL);
	else
		probe_remove_target(l->h.probe, tgid);
}

static void on_look(void *ctx, struct proc_id proc)
{
	const struct live *l = ctx;
	const struct proc *p;
	if (proc.n)
		target_read_maps(l->h.targets, proc, l->read_ns, NULL);
	for (size_t i = 0; !proc.n && (p = catalog_next_proc(l->h.catalog, &i));) {
		if (target_is_process(l->h.targets, p))
			target_read_maps(l->h.targets, p->id, l->read_ns, NULL);
	}
}

static void on_report(void *ctx, const struct report *report)
{
	target_report(((const struct live *)ctx)->h.targets, report);
}

static bool on_shared(void *ctx)
{
	return attach_is_shared(((const struct live *)ctx)->attach);
}

static void on_share(void *ctx, bool shared)
{
	attach_share(((const struct live *)ctx)->attach, shared);
}

static void on_split(void *ctx)
{
	attach_split(((const struct live *)ctx)->attach);
}

static const struct tracker_ops live_tracker_ops = {
	.find = on_find,
	.has = on_has,
	.exe = on_exe,
	.count = on_count,
	.is_full = on_full,
	.add = on_add,
	.fork = on_fork,
	.drop = on_drop,
	.ignore = on_ignore,
	.look = on_look,
	.report = on_report,
	.is_shared = on_shared,
	.share = on_share,
	.split = on_split,
};

int live_track(struct live *l, struct err *err)
{
	struct tracker_ops ops = live_tracker_ops;
	ops.ctx = l;
	l->tracker = tracker_new(&l->h, &ops);
	if (!l->tracker)
		return err_set(err, ENOMEM, "out of memory");
	tracker_listen(l->tracker);
	return 0;
}

void live_untrack(struct live *l)
{
	tracker_free(l->tracker);
	l->tracker = NULL;
}
