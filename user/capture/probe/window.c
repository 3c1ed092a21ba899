/* SPDX-License-Identifier: Apache-2.0 */
/* probe/window: see window.h. */
#include "probe/window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "access/rights.h"
#include "alys.skel.h"
#include "base/clock.h"
#include "base/log.h"
#include "probe/detaching.h"
#include "probe/load.h"
#include "probe/stayers.h"

/* A page that is recorded: its stack and its record, in a window whose stacks are new. */
#define PAGE_SAMPLE_NS 2000
#define FEW_CPUS 128

static struct alys_faults faults_of(const struct probe *p)
{
	const struct bpf_map *map = p->skel->maps.rss_counters;
	size_t cpus = (size_t)libbpf_num_possible_cpus(), size = (bpf_map__value_size(map) + 7) & ~7ull;
	uint32_t zero = 0;
	char *each = calloc(cpus, size);
	struct alys_faults sum = { 0 };
	if (each && !bpf_map_lookup_elem(bpf_map__fd(map), &zero, each)) {
		for (size_t i = 0; i < cpus; i++) {
			const struct alys_faults *f = (const void *)(each + i * size);
			sum.all += f->all;
			sum.looked += f->looked;
			sum.ours += f->ours;
		}
	}
	free(each);
	return sum;
}

static int price_of_pages(struct probe *p, struct stop_prices *out, struct err *err)
{
	double fault;
	int rc = price_fault(p, &fault, err);
	if (rc)
		return rc;
	/* Without probes at calls, all is counted in faults. */
	if (!p->windowed)
		*out = (struct stop_prices){ .entry = { .warm_s = fault, .cold_s = fault } };
	p->fault_traps = fault / out->entry.cold_s;
	p->faults = faults_of(p);
	return 0;
}

static int price_of_calls(struct probe *p, struct stop_prices *out, struct err *err)
{
	if (p->tier == PROBE_TIER_PERF)
		return err_set(err, ENOTSUP,
			       "--max-overhead needs a kernel with multi-uprobe links (6.6): see `alys-bpf doctor`");
	int rc = probe_stop_prices(p, out, err);
	return rc ? err_wrap(err, "--max-overhead needs the cost of a probe: record without it") : 0;
}

int probe_window_price(struct probe *p, struct stop_prices *out, struct err *err)
{
	int rc = p->windowed ? price_of_calls(p, out, err) : 0;
	return rc || !p->page_windows ? rc : price_of_pages(p, out, err);
}

size_t probe_window_links(struct probe *p)
{
	size_t n = p->page_windows;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->attachments_cnt; i++)
		n += p->attachments[i].reattach && !p->attachments[i].lingers;
	pthread_mutex_unlock(&p->lock);
	return n;
}

/*
 * To attach or detach a tracepoint the kernel rewrites its own code and makes every processor wait. What this thread spends
 * there, waiting for them as well, is about what each of them loses.
 */
static int listen_in_window(struct probe *p, bool on)
{
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc = listen_pages(p, on);
	p->rewriting_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	return rc;
}

/* A link whose process has ended, or no longer maps the file, stays detached. False: another one could not be made. */
static bool attach_link(struct probe *p, struct attachment *a)
{
	const struct rights_link *l = &a->reattach->link;
	if (!l->cnt)
		return true;
	/* Or calls would be seen twice. */
	detaching_await_of(a->file, a->tgid);
	a->fd = rights_link(l);
	p->came[l->tgid != 0] += a->fd >= 0 ? l->cnt : 0;
	return a->fd >= 0 || a->fd == -ESRCH || a->fd == -ESTALE;
}

/* Those that linger in turned order: begins of collections first, by which it is known whose the marks are. */
static bool attach_links(struct probe *p, bool lingering)
{
	bool made = true;
	size_t n = p->attachments_cnt;
	for (size_t i = 0; i < n; i++) {
		struct attachment *a = &p->attachments[lingering ? n - 1 - i : i];
		if (a->reattach && a->lingers == lingering && a->fd < 0)
			made &= attach_link(p, a);
	}
	return made;
}

static void detach_links(struct probe *p, bool lingering)
{
	for (size_t i = 0; i < p->attachments_cnt; i++) {
		struct attachment *a = &p->attachments[i], gone = *a;
		if (!a->reattach || a->lingers != lingering || a->fd < 0)
			continue;
		gone.reattach = NULL;
		a->fd = -1;
		detaching_put(&gone, 1);
	}
}

/* Before others are attached, and before they are detached. */
static void begin_gc_era(struct probe *p)
{
	__atomic_add_fetch(&p->skel->bss->gc_era, 1, __ATOMIC_SEQ_CST);
}

/* Those at collections first, and without them nothing is sampled: nobody would see its end. */
void probe_window_attach(struct probe *p)
{
	pthread_mutex_lock(&p->lock);
	stayers_go(p, false);
	p->windows_detached = false;
	if (!p->lingering)
		begin_gc_era(p);
	p->lingering = attach_links(p, true);
	if (!p->lingering) {
		log_info("no window: probes at collections could not be attached");
		stayers_go(p, true);
	} else {
		attach_links(p, false);
	}
	if (p->page_windows && !p->listening_pages)
		p->listening_pages = !listen_in_window(p, true);
	pthread_mutex_unlock(&p->lock);
}

void probe_window_open(struct probe *p, uint64_t interval)
{
	probe_set_interval(p, interval);
	__atomic_add_fetch(&p->skel->bss->windows_opened, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&p->skel->bss->window_shut, 0, __ATOMIC_RELEASE);
}

void probe_window_shut(struct probe *p, uint64_t interval)
{
	__atomic_store_n(&p->skel->bss->window_shut, 1, __ATOMIC_RELEASE);
	probe_set_interval(p, interval);
}

void probe_window_detach(struct probe *p)
{
	pthread_mutex_lock(&p->lock);
	p->windows_detached = true;
	stayers_go(p, false);
	detach_links(p, false);
	if (p->page_windows)
		listen_in_window(p, false);
	p->listening_pages = false;
	pthread_mutex_unlock(&p->lock);
	detaching_await();
	pthread_mutex_lock(&p->lock);
	stayers_come(p);
	pthread_mutex_unlock(&p->lock);
}

void probe_window_look(struct probe *p)
{
	pthread_mutex_lock(&p->lock);
	stayers_go(p, false);
	pthread_mutex_unlock(&p->lock);
}

/* The lock is held. */
static bool may_leave(const struct probe *p)
{
	bool some = false;
	for (size_t i = 0; i < p->attachments_cnt; i++) {
		const struct attachment *a = &p->attachments[i];
		if (a->gc_calls)
			return false;
		some |= a->lingers && a->fd >= 0;
	}
	return some;
}

bool probe_window_may_leave(struct probe *p)
{
	pthread_mutex_lock(&p->lock);
	bool may = may_leave(p);
	pthread_mutex_unlock(&p->lock);
	return may;
}

void probe_window_leave(struct probe *p)
{
	pthread_mutex_lock(&p->lock);
	bool may = may_leave(p);
	if (may) {
		begin_gc_era(p);
		detach_links(p, true);
		p->lingering = false;
	}
	pthread_mutex_unlock(&p->lock);
	if (may)
		detaching_await();
}

/* Of faults that were passed over, as large a part is the targets' as of the others since the last call. */
static void note_faults(struct probe *p)
{
	const struct alys_faults now = faults_of(p), *then = &p->faults;
	if (now.looked <= then->looked)
		return;
	double part = (double)(now.ours - then->ours) / (double)(now.looked - then->looked);
	p->faults_ours += (double)(now.all - then->all) * part;
	p->faults = now;
}

int probe_window_spent(struct probe *p, struct window_spent *out)
{
	struct probe_stats s;
	int rc = probe_stats(p, &s);
	uint64_t pages = s.n[ALYS_ST_HIT_PAGE] + s.n[ALYS_ST_HIT_GONE];
	*out = (struct window_spent){ .traps = s.n[ALYS_ST_TRAPS] - s.n[ALYS_ST_TRAPS_RETURN],
				      .kept = s.n[ALYS_ST_TRAPS_KEPT],
				      .collections = s.n[ALYS_ST_TRAPS_GC],
				      .collections_ns = s.n[ALYS_ST_GC_TIME],
				      .returns = s.n[ALYS_ST_TRAPS_RETURN],
				      .sample_ns = s.n[ALYS_ST_SAMPLE_TIME] + s.n[ALYS_ST_GC_TIME] + pages * PAGE_SAMPLE_NS };
	pthread_mutex_lock(&p->lock);
	out->stalled_ns = p->rewriting_ns;
	memcpy(out->came, p->came, sizeof(out->came));
	pthread_mutex_unlock(&p->lock);
	if (p->page_windows) {
		note_faults(p);
		out->traps += (uint64_t)(p->fault_traps * p->faults_ours);
	}
	return rc;
}

/* Called often, and allocators may be probed in this process, too: mostly without one. */
int probe_window_taken(const struct probe *p, uint32_t tgid, struct alys_taken *out)
{
	uint32_t slot = ALYS_TAKEN_SLOT_OF(tgid);
	int cpus = libbpf_num_possible_cpus();
	struct alys_taken few[FEW_CPUS], *each = cpus <= FEW_CPUS ? few : calloc((size_t)cpus, sizeof(*each));
	if (cpus < 1 || !each)
		return -ENOMEM;
	int rc = bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.taken), &slot, each) ? -errno : 0;
	*out = (struct alys_taken){ 0 };
	for (int i = 0; i < cpus && !rc; i++) {
		out->traps += each[i].traps;
		out->returns += each[i].returns;
		out->sample_ns += each[i].sample_ns;
	}
	if (each != few)
		free(each);
	return rc;
}

struct reattach *reattach_new(const struct rights_link *l)
{
	struct reattach *a = calloc(1, sizeof(*a) + 2 * l->cnt * sizeof(uint64_t));
	if (!a)
		return NULL;
	memcpy(a->words, l->offsets, l->cnt * sizeof(uint64_t));
	memcpy(a->words + l->cnt, l->cookies, l->cnt * sizeof(uint64_t));
	a->link = *l;
	a->all = l->cnt;
	a->link.offsets = a->words;
	a->link.cookies = a->words + l->cnt;
	a->link.file_fd = fcntl(l->file_fd, F_DUPFD_CLOEXEC, 3);
	if (a->link.file_fd >= 0)
		return a;
	free(a);
	return NULL;
}

void reattach_free(struct reattach *a)
{
	if (a)
		close(a->link.file_fd);
	free(a);
}
