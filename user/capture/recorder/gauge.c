/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/gauge: see gauge.h. */
#include "recorder/gauge.h"

#include <time.h>

#include "access/rights.h"
#include "base/clock.h"
#include "probe/window.h"
#include "target/target.h"

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

static bool read_words(uint32_t tgid, const uint64_t *at, size_t n, uint64_t *out)
{
	struct rights_range r[2];
	for (size_t i = 0; i < n; i++)
		r[i] = (struct rights_range){ at[i], sizeof(*out) };
	return rights_memory(tgid, r, n, out) == (int64_t)(n * sizeof(*out));
}

static struct reading read_bytes(const struct gauge *g)
{
	uint64_t base = g->bias, words[2];
	if (g->counter.through) {
		uint64_t at = g->bias + g->counter.through;
		if (!read_words(g->tgid, &at, 1, &base))
			return (struct reading){ 0 };
		/* 0 until the dynamic linker has filled it in: nothing was allocated before. */
		if (!base)
			return (struct reading){ .known = true };
	}
	const uint64_t at[2] = { base + g->counter.words[0], base + g->counter.words[1] };
	if (!read_words(g->tgid, at, 2, words))
		return (struct reading){ 0 };
	return (struct reading){ .known = true, .value = (double)words[0] + (double)words[1] };
}

/* Of a thread that runs all the time the kernel knows it as of the last tick: windows meet ticks at random. */
static struct reading read_cpu(const struct gauge *g, const struct probe *probe, double trap_s)
{
	uint64_t traps;
	struct timespec ts;
	clockid_t clock;
	if (probe_window_traps(probe, g->tgid, &traps) || clock_getcpuclockid((pid_t)g->tgid, &clock) ||
	    clock_gettime(clock, &ts))
		return (struct reading){ 0 };
	double cost = 1e9 * trap_s * (double)traps;
	return (struct reading){ .known = true, .value = 1e9 * (double)ts.tv_sec + (double)ts.tv_nsec - cost, .cost = cost };
}

struct reading gauge_read(const struct gauge *g, const struct probe *probe, double trap_s)
{
	return g->by_cpu ? read_cpu(g, probe, trap_s) : read_bytes(g);
}
