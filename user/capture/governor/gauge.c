/* SPDX-License-Identifier: Apache-2.0 */
/* governor/gauge: see gauge.h. */
#include "governor/gauge.h"

#include <time.h>

#include "access/rights.h"
#include "base/clock.h"
#include "probe/window.h"
#include "target/proc.h"
#include "target/target.h"

#define PARTS_MAX 1024
#define PARTS_AT_ONCE 16
/* After so long the caches are half cold: see docs/internals/windows.md. */
#define COOLING_NS 10e3

bool gauge_bytes(const struct handles *h, const struct attach *attach, const struct proc *p, struct gauge *out)
{
	const struct mapping *m;
	for (size_t i = 0; (m = target_mapping(h->targets, p->id, i)); i++) {
		const struct byte_counter *c = attach_counter(attach, m->module);
		if (!c)
			continue;
		*out = (struct gauge){ .tgid = p->tgid, .bias = m->bias, .counter = *c };
		return true;
	}
	return false;
}

struct gauge gauge_cpu(const struct proc *p)
{
	return (struct gauge){ .tgid = p->tgid, .by_cpu = true };
}

struct gauge gauge_faults(const struct proc *p)
{
	return (struct gauge){ .tgid = p->tgid, .faults = true };
}

static bool read_words(uint32_t tgid, const uint64_t *at, size_t n, uint64_t *out)
{
	struct rights_range r[2 * PARTS_AT_ONCE];
	for (size_t i = 0; i < n; i++)
		r[i] = (struct rights_range){ at[i], sizeof(*out) };
	return rights_memory(tgid, r, n, out) == (int64_t)(n * sizeof(*out));
}

/* Adds up the words of n elements from base on. */
static bool sum_parts(const struct gauge *g, uint64_t base, size_t n, double *sum)
{
	uint64_t at[2 * PARTS_AT_ONCE], words[2 * PARTS_AT_ONCE];
	for (size_t i = 0; i < n; i++) {
		at[2 * i] = base + i * g->counter.stride + g->counter.words[0];
		at[2 * i + 1] = base + i * g->counter.stride + g->counter.words[1];
	}
	if (!read_words(g->tgid, at, 2 * n, words))
		return false;
	for (size_t i = 0; i < 2 * n; i++)
		*sum += (double)words[i];
	return true;
}

static bool sum_all(const struct gauge *g, uint64_t base, double *sum)
{
	uint64_t parts = 1, at = g->bias + g->counter.parts;
	if (g->counter.parts && (!read_words(g->tgid, &at, 1, &parts) || parts > PARTS_MAX))
		return false;
	for (uint64_t i = 0; i < parts; i += PARTS_AT_ONCE) {
		size_t n = parts - i < PARTS_AT_ONCE ? (size_t)(parts - i) : PARTS_AT_ONCE;
		if (!sum_parts(g, base + i * g->counter.stride, n, sum))
			return false;
	}
	return true;
}

/* 0 until the dynamic linker has filled it in: nothing was allocated before. Afterwards it does not change. */
static bool find_base(struct gauge *g)
{
	uint64_t at = g->bias + g->counter.through;
	if (g->base)
		return true;
	g->base = g->bias;
	return !g->counter.through || read_words(g->tgid, &at, 1, &g->base);
}

static struct reading read_bytes(struct gauge *g)
{
	double sum = 0;
	if (!find_base(g) || (g->base && !sum_all(g, g->base, &sum))) {
		g->base = 0;
		return (struct reading){ 0 };
	}
	return (struct reading){ .known = true, .value = sum * g->counter.unit };
}

struct reading gauge_used(const struct gauge *g, const struct probe *probe, const struct stop_prices *price, uint64_t cpu_ns)
{
	struct alys_taken taken;
	if (probe_window_taken(probe, g->tgid, &taken))
		return (struct reading){ 0 };
	double traps = 1e9 * (price->entry.warm_s * (double)taken.traps + price->back.warm_s * (double)taken.returns);
	double own = (double)cpu_ns - traps - (double)taken.sample_ns;
	return (struct reading){
		.known = true, .timed = true, .value = own, .own_ns = own, .traps = traps, .probed = traps > 0 || taken.sample_ns
	};
}

double gauge_cold(const struct stop_prices *price, double own, double traps)
{
	double warm = 1e9 * price->entry.warm_s, stops = traps / warm;
	if (!(stops > 0) || !(own > 0))
		return 0;
	double between = own / stops;
	return stops * (1e9 * price->entry.cold_s - warm) * between / (between + COOLING_NS);
}

/*
 * Of a thread that runs all the time the kernel knows it as of the last tick: windows meet ticks at random. The clock is the one of
 * clock_getcpuclockid, which would make a call of its own to check it (the kernel's posix-timers_types.h, CPUCLOCK_SCHED).
 */
bool gauge_cpu_ns(uint32_t tgid, uint64_t *out)
{
	struct timespec ts;
	if (clock_gettime((clockid_t)(~tgid << 3 | 2), &ts))
		return false;
	*out = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	return true;
}

static struct reading read_cpu(const struct gauge *g, const struct probe *probe, const struct stop_prices *price)
{
	uint64_t cpu_ns;
	return gauge_cpu_ns(g->tgid, &cpu_ns) ? gauge_used(g, probe, price, cpu_ns) : (struct reading){ 0 };
}

static struct reading read_faults(const struct gauge *g)
{
	uint64_t faults;
	bool known = proc_faults(g->tgid, &faults);
	return (struct reading){ .known = known, .value = known ? (double)PAGE_BYTES * (double)faults : 0 };
}

struct reading gauge_read(struct gauge *g, const struct probe *probe, const struct stop_prices *price)
{
	if (g->faults)
		return read_faults(g);
	struct reading by_cpu = read_cpu(g, probe, price);
	if (g->by_cpu)
		return by_cpu;
	struct reading now = read_bytes(g);
	now.timed = by_cpu.timed;
	now.own_ns = by_cpu.own_ns;
	return now;
}
