/* SPDX-License-Identifier: Apache-2.0 */
/* probe/price: see price.h. */
#include "probe/price.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "alys.skel.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "probe/link.h"
#include "probe/load.h"

#define ROUNDS 15
#define CALLS 200
#define COLD_CALLS 16
/* Of memory, before each cold call: more than any first-level cache. */
#define TOUCHED_FIRST ((size_t)512 << 10)
#define TOUCHED_MAX ((size_t)4 << 20)
#define LINE 64
#define TOUCHES 1000
/* A thread sees times between these pass at once where it is interrupted, and longer ones where another got its processor. */
#define STALL_MIN_NS 500
#define STALL_MAX_NS 200000
#define STALL_ROUNDS 3
#define STALL_TRIES 6
#define STALL_GAPS 1024
#define NICE_LEAST -20
/* A start of two programs was never seen to take less. */
#define FAULT_MIN_S 50e-9

static double warm_call(void)
{
	uint64_t from = now_ns();
	for (int i = 0; i < CALLS; i++)
		priced();
	return (double)(now_ns() - from) / 1e9 / CALLS;
}

/* All that a second-level cache holds, as far as its size is known. */
static size_t second_level(void)
{
	long sz = sysconf(_SC_LEVEL2_CACHE_SIZE);
	size_t known = sz > 0 ? (size_t)sz : 0;
	return known < TOUCHED_FIRST ? TOUCHED_FIRST : known > TOUCHED_MAX ? TOUCHED_MAX : known;
}

/*
 * What a program and the kernel do between two stops always takes the first-level cache, and the second one now and then, mostly
 * where processes take turns: each second call finds that one cold, too.
 */
static double cold_call(void)
{
	const size_t second = second_level();
	volatile char *touched = mmap(NULL, TOUCHED_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0;
	if (touched == MAP_FAILED)
		return warm_call();
	for (int i = 0; i < COLD_CALLS; i++) {
		for (size_t at = 0, sz = i & 1 ? second : TOUCHED_FIRST; at < sz; at += LINE)
			touched[at]++;
		uint64_t from = now_ns();
		priced();
		sum += now_ns() - from;
	}
	munmap((void *)(uintptr_t)touched, TOUCHED_MAX);
	return (double)sum / 1e9 / COLD_CALLS;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* share: the part of the rounds that took less. Not the mean, because the thread may be preempted. */
static double quantile_of(double (*call)(void), double share)
{
	double took[ROUNDS];
	for (int i = 0; i < ROUNDS; i++)
		took[i] = call();
	qsort(took, ROUNDS, sizeof(*took), by_size);
	return took[(size_t)(share * ROUNDS)];
}

/* Of cold ones the upper quartile: neighbours use the machine's caches more at one time than at another. */
static struct trap_price take_calls(void)
{
	return (struct trap_price){ .warm_s = quantile_of(warm_call, 0.5), .cold_s = quantile_of(cold_call, 0.75) };
}

/* The offset of an instruction of ours in our executable; 0: not found. */
static uint64_t offset_of(void (*code)(void))
{
	uint64_t at = (uint64_t)(uintptr_t)code, start, end, offset, found = 0;
	char line[4352];
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) == 3 && at >= start && at < end)
			found = at - start + offset;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* As for a call while no window is open, which is the cost of nearly all hits except sampled ones. */
static int describe_called(const struct probe *p, uint32_t index)
{
	const struct alys_site site = { .flags = ALYS_SITE_WINDOW };
	return bpf_map_update_elem(bpf_map__fd(p->skel->maps.sites), &index, &site, BPF_ANY) ? -errno : 0;
}

static void forget_stats(const struct probe *p)
{
	int cpus = libbpf_num_possible_cpus();
	struct alys_stats *none = cpus > 0 ? calloc((size_t)cpus, sizeof(*none)) : NULL;
	uint32_t zero = 0;
	if (none)
		bpf_map_update_elem(bpf_map__fd(p->skel->maps.stats), &zero, none, BPF_ANY);
	free(none);
}

static struct trap_price take_probed_calls(struct probe *p)
{
	p->skel->bss->window_shut = 1;
	probe_start(p);
	struct trap_price took = take_calls();
	probe_stop(p);
	p->skel->bss->window_shut = 0;
	forget_stats(p);
	return took;
}

/* What is left of one price without another. warm_s is not above 0 if noise was larger. */
static struct trap_price without(const struct trap_price *price, const struct trap_price *other)
{
	double warm = price->warm_s - other->warm_s;
	return (struct trap_price){ .warm_s = warm, .cold_s = fmax(price->cold_s - other->cold_s, warm) };
}

/* Of a probe at the entry, and one at the return if that is asked for. */
static int attach_priced(struct probe *p, struct batch *b, bool at_return, int exe, struct err *err)
{
	uint32_t tgid = (uint32_t)getpid();
	int rc = batch_attach(b, p, tgid, exe, err);
	b->at_return = true;
	return rc || !at_return ? rc : batch_attach(b, p, tgid, exe, err);
}

static int take_price(struct probe *p, struct batch *b, enum price_of what, const struct trap_price *empty,
		      struct trap_price *out, struct err *err)
{
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (exe < 0)
		return err_set(err, errno, "cannot open our own file, /proc/self/exe: mount /proc");
	int rc = attach_priced(p, b, what == PRICE_RETURN, exe, err);
	close(exe);
	struct trap_price took = rc ? *empty : take_probed_calls(p);
	probe_detach(p, (uint32_t)getpid());
	probe_await_detached();
	*out = without(&took, empty);
	return rc || out->warm_s > 0 ? rc : err_set(err, EIO, "the cost of a probe could not be measured");
}

/* Of our own memory, each touched for the first time. */
static double touches_take(void)
{
	size_t sz = TOUCHES * ALYS_PAGE_SZ;
	volatile char *at = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 0;
	madvise((void *)(uintptr_t)at, sz, MADV_NOHUGEPAGE);
	uint64_t from = now_ns();
	for (size_t i = 0; i < TOUCHES; i++)
		at[i * ALYS_PAGE_SZ] = 1;
	double took = (double)(now_ns() - from) / 1e9 / TOUCHES;
	munmap((void *)(uintptr_t)at, sz);
	return took;
}

/* The least: to touch a page takes the kernel long, and other programs make it longer. */
static double least_touch(void)
{
	double least = touches_take();
	for (int i = 1; i < ROUNDS; i++) {
		double took = touches_take();
		least = took < least ? took : least;
	}
	return least;
}

int price_fault(struct probe *p, double *seconds, struct err *err)
{
	uint32_t self = (uint32_t)getpid();
	if (probe_exclude(p, self, err))
		return -err->code;
	probe_start(p);
	double took = least_touch();
	probe_stop(p);
	probe_remove_target(p, self);
	forget_stats(p);
	int rc = listen_pages(p, false);
	double empty = least_touch();
	rc = rc ?: listen_pages(p, true);
	/* Noise is larger than the price now and then. */
	*seconds = took - empty > FAULT_MIN_S ? took - empty : FAULT_MIN_S;
	return rc ? err_set(err, -rc, "--max-overhead needs the cost of a page: %s", strerror(-rc)) : 0;
}

/* A kernel that kills confined processes at return probes would kill us, too: by a container's filter, or by our own. */
static bool may_return(const struct probe *p)
{
	return !p->facts.kills_seccomp || prctl(PR_GET_SECCOMP) == 0;
}

static int price_beyond(struct probe *p, enum price_of what, const struct trap_price *empty, struct trap_price *out,
			struct err *err)
{
	uint32_t site = ALYS_MAX_SITES - 1;
	uint64_t offset = offset_of(what == PRICE_STEPPED ? priced_stepped : priced), cookie = site | ALYS_COOKIE_FILTERED;
	struct batch b = {
		.prog = p->skel->progs.refill, .offsets = &offset, .offsets_cnt = 1, .cookies = &cookie, .cookies_cnt = 1
	};
	if (what == PRICE_RETURN && !may_return(p))
		return err_set(err, EPERM,
			       "not measured: this kernel kills processes under seccomp at return probes, and this one is");
	int rc = program_ready(p, b.prog, err);
	if (rc)
		return rc;
	return describe_called(p, site) ? err_set(err, EIO, "the cost of a probe could not be measured")
					: take_price(p, &b, what, empty, out, err);
}

int probe_price(struct probe *p, enum price_of what, struct trap_price *out, struct err *err)
{
	const struct trap_price empty = take_calls();
	return price_beyond(p, what, &empty, out, err);
}

/* A thread that does nothing but look at the clock, and notes for how long it was interrupted. */
struct watch {
	cpu_set_t cpus;
	atomic_bool over;
	size_t cnt;
	double gaps[STALL_GAPS]; /* seconds */
};

static void *look_at_clock(void *ctx)
{
	struct watch *w = ctx;
	sched_setaffinity(0, sizeof(w->cpus), &w->cpus);
	setpriority(PRIO_PROCESS, 0, NICE_LEAST);
	uint64_t last = now_ns();
	while (!atomic_load_explicit(&w->over, memory_order_relaxed)) {
		uint64_t now = now_ns(), gap = now - last;
		if (gap >= STALL_MIN_NS && gap <= STALL_MAX_NS && w->cnt < STALL_GAPS)
			w->gaps[w->cnt++] = (double)gap / 1e9;
		last = now;
	}
	return NULL;
}

/*
 * Of the longest ones, as many as probes came, the middle one: other interrupts are mostly shorter. False if there were fewer: on a
 * busy machine the thread had no processor just then.
 */
static bool stall_of(struct watch *w, double *stall)
{
	if (w->cnt < PRICED_CNT)
		return false;
	qsort(w->gaps, w->cnt, sizeof(*w->gaps), by_size);
	*stall = w->gaps[w->cnt - PRICED_CNT / 2];
	return true;
}

static bool stall_once(struct probe *p, const struct batch *b, int exe, const cpu_set_t *others, double *stall)
{
	struct watch w = { .cpus = *others };
	struct err err = { 0 };
	pthread_t thread;
	if (signals_thread(&thread, look_at_clock, &w))
		return false;
	int rc = batch_attach(b, p, (uint32_t)getpid(), exe, &err);
	atomic_store(&w.over, true);
	pthread_join(thread, NULL);
	probe_detach(p, (uint32_t)getpid());
	probe_await_detached();
	if (rc)
		log_dbg("what probes that come and go take is not known: %s", err.text);
	return !rc && stall_of(&w, stall);
}

/* The middle one of some; twice that, because the same is done when probes go. */
static double median_stall(struct probe *p, const struct batch *b, const cpu_set_t *others)
{
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	double took[STALL_ROUNDS] = { 0 };
	size_t known = 0;
	for (int i = 0; exe >= 0 && i < STALL_TRIES && known < STALL_ROUNDS; i++)
		known += stall_once(p, b, exe, others, &took[known]);
	if (exe >= 0)
		close(exe);
	qsort(took, known, sizeof(*took), by_size);
	return 2 * took[known / 2];
}

/*
 * This thread keeps to its processor, and leaves the others to the one that looks at the clock. Both come before other programs, for
 * some milliseconds: on a busy machine one of them would mostly have no processor just while the other works.
 */
static double stall_apart(struct probe *p, const struct batch *b)
{
	cpu_set_t all, one, others;
	int nice = getpriority(PRIO_PROCESS, 0), here = sched_getcpu();
	if (here < 0 || sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return 0;
	CPU_ZERO(&one);
	CPU_SET(here, &one);
	CPU_XOR(&others, &all, &one);
	sched_setaffinity(0, sizeof(one), &one);
	setpriority(PRIO_PROCESS, 0, NICE_LEAST);
	double stall = median_stall(p, b, &others);
	setpriority(PRIO_PROCESS, 0, nice);
	sched_setaffinity(0, sizeof(all), &all);
	return stall;
}

static double probe_stall(struct probe *p)
{
	uint64_t offsets[PRICED_CNT], cookies[PRICED_CNT], first = offset_of(priced_many);
	struct batch b = { .prog = p->skel->progs.refill,
			   .offsets = offsets,
			   .offsets_cnt = PRICED_CNT,
			   .cookies = cookies,
			   .cookies_cnt = PRICED_CNT };
	for (size_t i = 0; i < PRICED_CNT; i++) {
		offsets[i] = first + i * PRICED_SZ;
		cookies[i] = (ALYS_MAX_SITES - 1) | ALYS_COOKIE_FILTERED;
	}
	return first ? stall_apart(p, &b) : 0;
}

int probe_stop_prices(struct probe *p, struct stop_prices *out, struct err *err)
{
	const struct trap_price empty = take_calls();
	struct err why;
	int rc = price_beyond(p, PRICE_EMULATED, &empty, &out->entry, err);
	if (rc)
		return rc;
	struct trap_price both = out->entry;
	if (price_beyond(p, PRICE_RETURN, &empty, &both, &why))
		log_dbg("return probes: %s", why.text);
	const struct trap_price back = without(&both, &out->entry);
	out->back = back.warm_s > 0 ? back : out->entry;
	out->stall_s = probe_stall(p);
	log_dbg("a stop: %.0f ns, with cold caches %.0f; at a return: %.0f, %.0f; a probe that comes and goes: %.2f us of each "
		"thread",
		1e9 * out->entry.warm_s, 1e9 * out->entry.cold_s, 1e9 * out->back.warm_s, 1e9 * out->back.cold_s,
		1e6 * out->stall_s);
	return 0;
}
