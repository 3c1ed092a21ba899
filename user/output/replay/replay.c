/* SPDX-License-Identifier: Apache-2.0 */
/* replay: see replay.h. */
#include "replay/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access/infile.h"
#include "base/log.h"
#include "base/vec.h"
#include "replay/allowance.h"

/* Memory is limited by the file's size, whatever its contents claim. */
static int read_definitions(struct replay *r, const char *path, struct err *err)
{
	uint64_t size = trace_size(r->trace);
	allowance_add(size);
	r->catalog = catalog_new();
	r->heap = heap_new();
	int rc = r->catalog && r->heap ? trace_read_catalog(r->trace, r->catalog, &r->health, err)
				       : err_set(err, ENOMEM, "out of memory");
	if (rc == -ENOMEM)
		return err_set(err, ENOMEM,
			       "%s: out of memory: its definitions need more than the %llu MiB allowed for a file of its size",
			       path, (unsigned long long)allowance() >> 20);
	if (!rc && !allowance_covers(r->catalog, size))
		return err_set(err, E2BIG,
			       "%s: its stacks, written out, are more text than any recording of its size has: it is damaged or "
			       "malicious",
			       path);
	return rc;
}

int replay_open(struct replay *r, const char *path, struct err *err)
{
	*r = (struct replay){ 0 };
	int rc = infile_open(path, err);
	if (rc < 0)
		return rc;
	r->trace = trace_open(rc, path, err);
	if (!r->trace)
		return -err->code;
	rc = read_definitions(r, path, err);
	if (rc)
		replay_close(r);
	return rc;
}

int replay_show(struct replay *r, uint32_t shown, struct err *err)
{
	if (!shown)
		return 0;
	if (!catalog_has_subject(r->catalog, (enum subject)(shown - 1)))
		return err_set(err, ENOENT, "%s were not recorded in this trace", subject_name((enum subject)(shown - 1)));
	catalog_show(r->catalog, (enum subject)(shown - 1));
	return 0;
}

void replay_limit(struct replay *r, double from, double until)
{
	if (!until)
		return;
	r->from_ns = from ? replay_start_ns(r) + (uint64_t)(from * 1e9) : 0;
	r->until_ns = replay_start_ns(r) + (uint64_t)(until * 1e9);
}

struct applying {
	struct replay *replay;
	int (*fn)(void *ctx, const struct event *e, const struct applied *a);
	void *ctx;
};

static uint64_t factor_key(uint64_t proc, bool by_cpu)
{
	return proc << 1 | by_cpu;
}

static int put_factor(struct replay *r, struct proc_id proc, bool by_cpu, double factor)
{
	double *place = VEC_PUSH(r, factor);
	uint64_t *no = place ? map_put(&r->factors, factor_key(proc.n, by_cpu)) : NULL;
	if (!no)
		return -ENOMEM;
	*place = factor > 0 ? factor : 1;
	*no = r->factor_cnt;
	return 0;
}

static int put_unmet(struct replay *r, struct proc_id proc, bool by_cpu, double unmet)
{
	return heap_note_unmet(r->heap, proc, by_cpu, fmax(unmet, 0));
}

/* Parses "ID:NUMBER ...": what is known of processes at the end of the recording only. */
static int read_numbers(struct replay *r, const char *key, bool by_cpu,
			int (*put)(struct replay *r, struct proc_id proc, bool by_cpu, double number))
{
	const char *at = catalog_meta(r->catalog, key);
	int rc = 0;
	for (char *end; !rc && at && *at; at = end + (*end == ' ')) {
		struct proc_id proc = { (uint32_t)strtoul(at, &end, 10) };
		if (end == at || *end != ':')
			break;
		double number = strtod(end + 1, &end);
		rc = isfinite(number) ? put(r, proc, by_cpu, number) : 0;
	}
	return rc;
}

static int read_windows(struct replay *r)
{
	int rc = read_numbers(r, "window_factors", false, put_factor);
	if (!rc)
		rc = read_numbers(r, "window_factors_cpu", true, put_factor);
	if (!rc)
		rc = read_numbers(r, "window_unmet", false, put_unmet);
	return rc ?: read_numbers(r, "window_unmet_cpu", true, put_unmet);
}

static void weigh(const struct replay *r, struct event *e)
{
	uint64_t key = factor_key(e->proc.n, e->flags & EVENT_F_BY_CPU), size = e->span ? e->span : e->size;
	const uint64_t *no = e->flags & EVENT_F_WINDOW && e->interval ? map_get(&r->factors, key) : NULL;
	if (no)
		e->interval = sample_interval(size, fmax(1, r->factor[*no - 1] * sample_weight(size, e->interval)));
}

static int on_event(void *ctx, const struct event *read)
{
	struct applying *to = ctx;
	struct applied did = { 0 };
	struct event weighed = *read, *e = &weighed;
	weigh(to->replay, e);
	if (!catalog_shows(to->replay->catalog, e->proc))
		return 0;
	if (e->time_ns < to->replay->from_ns || (to->replay->until_ns && e->time_ns > to->replay->until_ns))
		return 0;
	to->replay->within |= e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC || e->kind == EVENT_FREE;
	int rc = heap_apply(to->replay->heap, e, &did);
	return !rc && to->fn ? to->fn(to->ctx, e, &did) : rc;
}

double replay_length_s(const struct replay *r)
{
	const char *ended = catalog_meta(r->catalog, "end_mono_ns");
	uint64_t start = replay_start_ns(r), end = ended ? strtoull(ended, NULL, 10) : r->health.last_ns;
	return end > start ? (double)(end - start) / 1e9 : 0;
}

/* Whether the requested part contains events; warns about a moment after the recording's end. */
static int check_part(const struct replay *r, struct err *err)
{
	uint64_t start = replay_start_ns(r);
	double length = replay_length_s(r), until = (double)(r->until_ns - start) / 1e9;
	if (r->within && !r->from_ns && until > length)
		log_warn("the recording lasts %.3f s: showing its end, which is before %g s", length, until);
	if (r->within)
		return 0;
	if (r->from_ns)
		return err_set(err, ENOENT, "no event between %g s and %g s: the recording lasts %.1f s",
			       (double)(r->from_ns - start) / 1e9, until, length);
	return err_set(err, ENOENT, "no event up to %g s: the recording lasts %.1f s", until, length);
}

int replay_events(struct replay *r, int (*fn)(void *ctx, const struct event *e, const struct applied *a), void *ctx,
		  struct err *err)
{
	struct applying to = { .replay = r, .fn = fn, .ctx = ctx };
	int rc = read_windows(r);
	if (!rc)
		rc = trace_each_event(r->trace, on_event, &to, err);
	if (rc == -ENOMEM)
		err_set(err, ENOMEM,
			"out of memory while replaying the trace: it needs more than the %llu MiB allowed for a file of its size",
			(unsigned long long)allowance() >> 20);
	return !rc && r->until_ns ? check_part(r, err) : rc;
}

uint64_t replay_start_ns(const struct replay *r)
{
	const char *start = catalog_meta(r->catalog, "start_mono_ns");
	uint64_t ns = start ? strtoull(start, NULL, 10) : 0;
	return ns ? ns : r->health.clock.mono_ns;
}

bool replay_damage(const struct replay *r, struct buf *out)
{
	const struct trace_health *h = &r->health;
	if (h->clean_end && !h->bad_frames && !h->skipped_bytes)
		return false;
	uint64_t start = replay_start_ns(r);
	double until = h->last_ns > start ? (double)(h->last_ns - start) / 1e9 : 0;
	buf_addf(out, "%s: recovered %" PRIu64 " frame%s up to %.1f s, skipped %" PRIu64 " bytes",
		 h->clean_end ? "damaged" : "unclean end", h->frames, h->frames == 1 ? "" : "s", until, h->skipped_bytes);
	return true;
}

void replay_close(struct replay *r)
{
	trace_close(r->trace);
	catalog_free(r->catalog);
	heap_free(r->heap);
	map_free(&r->factors);
	free(r->factor);
	*r = (struct replay){ 0 };
}
