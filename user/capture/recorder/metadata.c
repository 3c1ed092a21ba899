/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/metadata: see metadata.h. */
#include "recorder/metadata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "catalog/exactness.h"
#include "counting/counting.h"
#include "governor/windows.h"

static void meta_text(struct live *l, const char *key, const char *value)
{
	catalog_put_meta(l->h.catalog, key, value);
	consumer_meta(l->h.out, key, value);
}

static void meta(struct live *l, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void meta(struct live *l, const char *key, const char *fmt, ...)
{
	char value[2048];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	meta_text(l, key, value);
}

void metadata_start(struct live *l)
{
	meta(l, "start_real_ns", "%" PRIu64, clock_ns(CLOCK_REALTIME));
	meta(l, "start_mono_ns", "%" PRIu64, now_ns());
}

static void metadata_subjects(struct live *l)
{
	const struct record_options *o = l->h.o;
	struct buf beside = { 0 };
	if (record_first(o) != SUBJECT_ALLOCATIONS)
		meta_text(l, SUBJECT_KEY, subject_name(record_first(o)));
	for (enum subject s = 0; s < SUBJECT_CNT; s++) {
		if (record_beside(o) & 1u << s)
			buf_addf(&beside, "%s%s", beside.len ? "," : "", subject_name(s));
	}
	if (beside.len)
		meta_text(l, BESIDE_KEY, buf_str(&beside));
	if (record_beside(o) & 1u << SUBJECT_PAGES)
		meta(l, "page_sample", "bytes:%" PRIu64, o->interval ?: PAGE_INTERVAL);
	buf_free(&beside);
}

void metadata_begin(struct live *l)
{
	static const char *const backtraces[] = { "none", "addr", "name", "full" };
	static const char *const walks[] = { "frame pointers", "tables", "tables, sleepable" };
	struct utsname u;
	uname(&u);
	meta(l, "version", "%s", ALYS_VERSION);
	meta(l, "hostname", "%s", u.nodename);
	meta(l, "kernel", "%s %s", u.release, u.machine);
	meta(l, "options", "%s", l->h.o->words ?: "");
	metadata_start(l);
	meta(l, "tier", "%s", probe_tier_name(probe_tier(l->h.probe)));
	meta(l, "backtrace", "%s", backtraces[l->h.o->backtrace]);
	if (l->h.o->backtrace != BACKTRACE_NONE)
		meta(l, "walk", "%s", walks[probe_walk(l->h.probe)]);
	if (record_is_noted(l->h.o))
		meta(l, "sample", "program");
	else if (l->h.o->interval)
		meta(l, "sample", "bytes:%" PRIu64, l->rate.interval);
	metadata_subjects(l);
	if (l->windows)
		meta(l, "max_overhead", "%g %%", record_overhead(l->h.o));
	if (l->h.o->no_frees)
		meta(l, "profile", "allocations");
	if (l->h.o->min_size)
		meta(l, "min_size", "%" PRIu64, l->h.o->min_size);
}

void metadata_rate(struct live *l)
{
	char value[32];
	if (record_is_noted(l->h.o))
		return;
	snprintf(value, sizeof(value), "bytes:%" PRIu64, l->rate.interval);
	catalog_put_meta(l->h.catalog, "sample", value);
}

/* Which functions, and what is known of copies that are not counted. */
static void metadata_calls(struct live *l)
{
	struct buf inlined = { 0 };
	if (!l->h.counting)
		return;
	counting_inlined_text(l->h.counting, &inlined);
	meta_text(l, CALLS_KEY, l->h.o->calls);
	meta_text(l, CALLS_INLINED_KEY, buf_str(&inlined));
	buf_free(&inlined);
}

/* How the program's own probes were found. */
static void metadata_noted(struct live *l)
{
	struct buf text = { 0 };
	if (record_takes_notes(l->h.o))
		attach_noted_text(l->attach, &text);
	if (text.len)
		meta_text(l, "noted", buf_str(&text));
	buf_free(&text);
}

void metadata_sampling(struct live *l)
{
	char more[48] = "";
	metadata_calls(l);
	metadata_noted(l);
	if (l->h.o->interval && !record_is_noted(l->h.o))
		meta(l, "sample_at", "%s", attach_facts(l->attach)->refills ? "refill" : "call");
	if (!attach_sample_gap(l->attach))
		return;
	const struct attach_facts *f = attach_facts(l->attach);
	if (f->takers > 1)
		snprintf(more, sizeof(more), " (and %zu more file%s)", f->takers - 1, f->takers > 2 ? "s" : "");
	meta(l, "sample_gap", "objects from free lists that %s%s takes from libgc itself; --sample-at call samples them",
	     f->taker ?: "a file", more);
}

void metadata_liveness(struct live *l)
{
	struct exactness e;
	struct buf facts = { 0 };
	live_exactness(l, &e);
	if (e.state == EXACTNESS_NO_HEAP)
		return;
	exactness_write(&e, &facts);
	meta(l, EXACTNESS_KEY, "%s", exactness_state_word(e.state));
	meta(l, EXACTNESS_FACTS_KEY, "%s", buf_str(&facts));
	buf_free(&facts);
}

void metadata_windows(struct live *l)
{
	struct buf text = { 0 };
	if (!l->windows)
		return;
	windows_describe(l->windows, &text);
	catalog_put_meta(l->h.catalog, "windows", buf_str(&text));
	buf_free(&text);
}

/* Not in live mode: there each window's event carries them. */
static void metadata_factors(struct live *l, bool by_cpu)
{
	struct buf factors = { 0 }, unmet = { 0 };
	windows_factors(l->windows, by_cpu, &factors, &unmet);
	meta_text(l, by_cpu ? "window_factors_cpu" : "window_factors", buf_str(&factors));
	meta_text(l, by_cpu ? "window_unmet_cpu" : "window_unmet", buf_str(&unmet));
	buf_free(&factors);
	buf_free(&unmet);
}

static void metadata_missed(struct live *l)
{
	double bytes = windows_missed(l->windows, false), cpu_s = windows_missed(l->windows, true) / 1e9;
	char of_cpu[48] = "", of_bytes[48] = "";
	if (cpu_s > 0)
		snprintf(of_cpu, sizeof(of_cpu), "%.2g s of CPU time", cpu_s);
	if (bytes > 0)
		snprintf(of_bytes, sizeof(of_bytes), "%.0f bytes", bytes);
	if ((bytes > 0 || cpu_s > 0) && !attach_sample_gap(l->attach))
		meta(l, "window_gap", "%s%s%s of processes that no window met; more of --max-overhead, or of time, meets more",
		     of_cpu, of_cpu[0] && of_bytes[0] ? " and " : "", of_bytes);
}

static void metadata_windows_end(struct live *l)
{
	if (!l->windows)
		return;
	metadata_missed(l);
	metadata_windows(l);
	consumer_meta(l->h.out, "windows", catalog_meta(l->h.catalog, "windows"));
	metadata_factors(l, false);
	metadata_factors(l, true);
}

/* "resident": bytes when it began, bytes at its end. */
static void metadata_resident(struct live *l)
{
	if (l->resident_start)
		meta(l, "resident", "%" PRIu64 " %" PRIu64, l->resident_start, l->resident_end);
	if (l->resident.swept)
		meta(l, "resident_swept", "%" PRIu64, l->resident.swept);
}

/* "mapped": bytes at the end; of these older ones, and those that no recorded call mapped. */
static void metadata_mappings(struct live *l)
{
	const struct mappings *m = &l->mappings;
	meta(l, "mapped", "%" PRIu64 " %" PRIu64 " %" PRIu64, m->total, m->older, m->unheard);
	if (m->swept)
		meta(l, "mapped_swept", "%" PRIu64, m->swept);
}

void metadata_memory(struct live *l)
{
	if (record_has(l->h.o, SUBJECT_PAGES))
		metadata_resident(l);
	if (record_has(l->h.o, SUBJECT_MAPPINGS))
		metadata_mappings(l);
}

void metadata_end(struct live *l)
{
	metadata_memory(l);
	metadata_windows_end(l);
	meta(l, "end_mono_ns", "%" PRIu64, l->stopped_ns);
	metadata_liveness(l);
}
