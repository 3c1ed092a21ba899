/* SPDX-License-Identifier: Apache-2.0 */
/* probe/watchers: attaches the programs that observe collections, at the sites that collections.c found. */
#include "probe/load.h"
#include "sites/collections.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.skel.h"
#include "base/log.h"
#include "probe/link.h"

static int publish(struct probe *p, struct probed_file *file, const struct alys_gc_site *site, uint32_t *index, struct err *err)
{
	bool made = false;
	int rc = files_gc_place(&p->files, file, site, index, &made);
	if (rc == -ENOSPC && files_await(p))
		rc = files_gc_place(&p->files, file, site, index, &made);
	if (rc == -ENOSPC)
		return err_set(err, ENOSPC, "more than %d probes on garbage collectors: choose fewer processes",
			       ALYS_MAX_GC_SITES);
	if (rc)
		return err_set(err, -rc, "out of memory");
	if (made && bpf_map_update_elem(bpf_map__fd(p->skel->maps.gc_sites), index, site, BPF_ANY))
		return err_set(err, errno, "cannot describe a collector: %s", strerror(errno));
	return 0;
}

int probe_attach_collections(struct probe *p, uint32_t tgid, int file_fd, const struct collection_sites *c, struct err *err)
{
	/* Ends first: if a begin was seen, an end is expected. */
	struct batch phases[] = {
		{ .prog = p->skel->progs.gc_end, .window = p->windowed, .lingers = p->windowed },
		{ .prog = p->skel->progs.gc_mark, .window = p->windowed, .lingers = p->windowed },
		{ .prog = p->skel->progs.gc_begin, .window = p->windowed, .lingers = p->windowed },
	};
	const size_t n = sizeof(phases) / sizeof(phases[0]);
	static const uint32_t order[] = { ALYS_GC_ENDS, ALYS_GC_MARKED, ALYS_GC_BEGINS };
	uint64_t flags = tgid ? ALYS_COOKIE_FILTERED : 0;
	struct probed_file *file = file_prepare(p, probe_file_of(file_fd), tgid);
	int rc = file ? 0 : err_set(err, ENOMEM, "out of memory");
	/*
	 * A shared link stays attached when no process uses the file any more; a second one would report each
	 * collection twice.
	 */
	if (rc || (!tgid && file->watched))
		return rc;
	for (size_t i = 0; i < n * c->sites_cnt && !rc; i++) {
		const struct collection_site *s = &c->sites[i % c->sites_cnt];
		uint32_t index;
		if (s->wire.phase != order[i / c->sites_cnt])
			continue;
		rc = publish(p, file, &s->wire, &index, err);
		if (!rc && batch_add(&phases[i / c->sites_cnt], s->offset, index | flags))
			rc = err_set(err, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n && !rc; i++)
		rc = program_ready(p, phases[i].prog, err);
	for (size_t i = 0; i < n && !rc; i++)
		rc = batch_attach(&phases[i], p, tgid, file_fd, err);
	file->watched |= !tgid && !rc;
	for (size_t i = 0; i < n; i++)
		batch_free(&phases[i]);
	return rc;
}

int probe_collections_fd(const struct probe *p)
{
	return bpf_map__fd(p->skel->maps.gc_wakes);
}

/* The start of struct gc_state (bpf/gc_maps.bpf.h), as far as it is used here; the map's values are longer. */
struct state {
	uint64_t serial, stop;
	uint64_t rest[6];
};

static struct state state_of(int states_fd, uint32_t tgid)
{
	struct state s = { 0 };
	return bpf_map_lookup_elem(states_fd, &tgid, &s) ? (struct state){ 0 } : s;
}

int probe_collections_states(const struct probe *p)
{
	return bpf_map__value_size(p->skel->maps.gc_states) <= sizeof(struct state) ? bpf_map__fd(p->skel->maps.gc_states) : -1;
}

uint64_t probe_collections_begun(const struct probe *p, uint32_t tgid)
{
	return state_of(probe_collections_states(p), tgid).serial;
}

uint64_t probe_last_stop(int states_fd, uint32_t tgid)
{
	return state_of(states_fd, tgid).stop;
}

int probe_next_logged_object(const struct probe *p, uint64_t *at, struct alys_sampled_object *out)
{
	uint64_t cnt = p->object_log ? __atomic_load_n(&p->skel->bss->object_log_cnt, __ATOMIC_ACQUIRE) : UINT64_MAX;
	if (cnt - *at >= ALYS_OBJECT_LOG_SLOTS)
		return -EOVERFLOW;
	if (cnt == *at)
		return 0;
	const struct alys_sampled_object *b = &p->object_log[*at & (ALYS_OBJECT_LOG_SLOTS - 1)];
	uint64_t before = __atomic_load_n(&b->number, __ATOMIC_ACQUIRE);
	*out = *b;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	uint64_t after = __atomic_load_n(&b->number, __ATOMIC_RELAXED);
	if (before == *at + 1 && after == before) {
		++*at;
		return 1;
	}
	/* Either it is being written, or a later entry has overwritten it. */
	return before > *at + 1 || after > *at + 1 ? -EOVERFLOW : 0;
}

uint64_t probe_objects_logged(const struct probe *p)
{
	return __atomic_load_n(&p->skel->bss->object_log_cnt, __ATOMIC_ACQUIRE);
}

uint32_t probe_gc_era(const struct probe *p)
{
	return __atomic_load_n(&p->skel->bss->gc_era, __ATOMIC_SEQ_CST);
}

void probe_collections_idle(struct probe *p, uint32_t tgid, const struct alys_gc_idle *idle)
{
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.gc_idle), &tgid, idle, BPF_ANY))
		log_dbg("collections of process %u wake the mark reader: %s", tgid, strerror(errno));
}

void probe_collections_not_idle(struct probe *p, uint32_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(p->skel->maps.gc_idle), &tgid);
}

void probe_call_at_begins(struct probe *p, int on)
{
	__atomic_store_n(&p->skel->bss->gc_wake_begins, on, __ATOMIC_RELEASE);
}

void probe_allow_stops(struct probe *p, uint64_t until_ns)
{
	__atomic_store_n(&p->skel->bss->gc_stop_until, until_ns, __ATOMIC_RELEASE);
}
