/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/http_adapter: see http_adapter.h. */
#include "daemon/http_adapter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/vec.h"

struct http_mark {
	struct heap_mark *of;
	uint32_t pid;
};

/* A profile requested by http or push. */
struct question {
	struct http_deferred *later; /* NULL until continuous_profile has returned: the answer may come during that call */
	bool answered;
	int rc;
	struct buf *out;
	struct err *err;
};

struct each {
	int (*fn)(void *ctx, const struct http_process *p);
	void *ctx;
	uint64_t now_ns, asleep_ns;
};

static int give_process(void *ctx, const struct continuous_process *p)
{
	const struct each *e = ctx;
	struct http_process out = {
		.pid = p->tgid,
		.attributes = p->attributes,
		.build_id = p->build_id,
		.start_ns = p->start_ns + e->asleep_ns,
		.live_bytes = p->live,
		.live_error = p->live_error,
		.live_below = p->live_below,
		.alloc_rate = p->rate,
		.recorded = p->events,
		.lost = p->lost,
		.lost_by = p->lost_by,
		.history = p->history,
		.history_cnt = p->history_cnt,
		.history_step_s = p->history_step_s,
		.resident_bytes = (double)p->resident,
		.traced_s = p->begun_ns && e->now_ns > p->begun_ns ? (double)(e->now_ns - p->begun_ns) / 1e9 : 0,
	};
	strncpy(out.comm, p->comm, sizeof(out.comm) - 1);
	strncpy(out.exe, p->exe, sizeof(out.exe) - 1);
	return e->fn(e->ctx, &out);
}

static int each_process(void *ctx, int (*fn)(void *fn_ctx, const struct http_process *p), void *fn_ctx)
{
	const struct http_adapter *f = ctx;
	uint64_t now = now_ns();
	struct each e = { fn, fn_ctx, now, clock_ns(CLOCK_BOOTTIME) - now };
	return continuous_each(*f->recording, false, give_process, &e);
}

static void on_profile(void *ctx, int rc, struct buf *out, const struct err *err)
{
	struct question *q = ctx;
	if (q->later) {
		struct buf none = { 0 };
		http_deferred_done(q->later, rc, out ? out : &none, err);
		free(q);
		return;
	}
	q->answered = true;
	q->rc = rc;
	if (!rc) {
		*q->out = *out;
		*out = (struct buf){ 0 };
	} else if (q->err) {
		*q->err = *err;
	}
}

static int profile(void *ctx, const struct http_profile_request *r, struct buf *out, struct err *err)
{
	static const struct {
		const char *format, *value;
	} kinds[] = {
		[HTTP_PROFILE_HEAP] = { "pprof", "inuse_space" },
		[HTTP_PROFILE_ALLOCS] = { "pprof", "alloc_space" },
		[HTTP_PROFILE_REPORT] = { "html", NULL },
		[HTTP_PROFILE_OTLP] = { "otlp", NULL },
	};
	const struct http_adapter *f = ctx;
	struct question *q = calloc(1, sizeof(*q));
	struct profile_request ask = {
		.format = kinds[r->what].format,
		.value = kinds[r->what].value,
		.since = r->since ? r->since->of : NULL,
		.moment = !r->since,
		.rows_max = r->samples_max,
		.cause = r->cause,
		.done = on_profile,
		.ctx = q,
		.caller = r->later,
	};
	if (!q)
		return err_set(err, ENOMEM, "out of memory");
	q->out = out;
	q->err = err;
	struct heap_choice of;
	int rc = continuous_choose(*f->recording, r->shown, r->pid, &of, err);
	ask.proc = of.proc;
	ask.subject = of.subject;
	if (!rc)
		rc = continuous_profile(*f->recording, &ask, err);
	if (!rc && !q->answered) {
		q->later = r->later;
		return HTTP_LATER;
	}
	rc = rc ? rc : q->rc;
	free(q);
	return rc;
}

static void forget(void *ctx, const struct http_deferred *later)
{
	const struct http_adapter *f = ctx;
	continuous_forget(*f->recording, later);
}

static int mark(void *ctx, uint32_t pid, uint32_t shown, struct http_mark **out, struct err *err)
{
	const struct http_adapter *f = ctx;
	struct heap_choice of;
	int rc = continuous_choose(*f->recording, shown, pid, &of, err);
	if (rc)
		return rc;
	struct http_mark *m = calloc(1, sizeof(*m));
	if (m)
		m->of = continuous_mark(*f->recording, &of);
	if (!m || !m->of) {
		free(m);
		return err_set(err, ENOMEM, "out of memory");
	}
	m->pid = pid;
	*out = m;
	return 0;
}

static void unmark(void *ctx, struct http_mark *m)
{
	(void)ctx;
	heap_mark_free(m->of);
	free(m);
}

static const char *class_of(uint8_t class)
{
	static const char *const names[] = {
		[COUNT_HIT] = "hit",   [COUNT_RECORDED] = "recorded", [COUNT_SKIPPED] = "skipped",
		[COUNT_LOST] = "lost", [COUNT_NOTE] = "note",
	};
	return class < sizeof(names) / sizeof(names[0]) && names[class] ? names[class] : "note";
}

static void fill_counts(struct http_adapter *f, const struct catalog *c)
{
	const struct count *n;
	f->counts_cnt = 0;
	for (size_t i = 0; (n = catalog_next_count(c, &i));) {
		struct http_count *out = VEC_PUSH(f, counts);
		if (out)
			*out = (struct http_count){ class_of(n->class), n->name, n->help, n->value };
	}
}

static uint64_t ended_of(const struct continuous_status *s)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < ENDING_CNT; i++)
		sum += i == ENDING_EXEC || i == ENDING_LEFT ? 0 : s->ended[i];
	return sum;
}

static int status(void *ctx, struct http_status *out)
{
	struct http_adapter *f = ctx;
	static const struct profile_store_counts none;
	const struct profile_store_counts *k = *f->store ? profile_store_counts(*f->store) : &none;
	struct continuous_status s;
	continuous_status(*f->recording, &s);
	fill_counts(f, continuous_ledger(*f->recording));
	*out = (struct http_status){
		.on = s.on,
		.ready = true,
		.interval = s.interval,
		.interval_wanted = s.interval_wanted,
		.processes = s.processes,
		.exited = ended_of(&s),
		.files = s.files,
		.cpu_seconds = s.cpu_s,
		.memory = s.memory - s.memory_kernel,
		.memory_kernel = s.memory_kernel,
		.memory_max = s.memory_max,
		.overhead = s.overhead / 100,
		.windowed = s.windowed,
		.no_frees = s.no_frees,
		.covered = s.windows.covered,
		.windows = s.windows.windows,
		.spent = s.windows.spent,
		.thinned = s.thinned,
		.refused_stacks = s.refused_stacks,
		.refused_processes = s.refused_processes,
		.workers_restarted = s.workers_failed,
		.recording_s = s.recording_s,
		.age_s = s.age_s,
		.keeps = *f->store,
		.profiles_written = k->written,
		.profiles_failed = k->failed,
		.profiles_removed = k->removed,
		.profiles_short = k->too_short,
		.profiles_stored = k->files,
		.bytes_stored = k->stored,
		.bytes_written = k->bytes,
		.notice = limits_cause_text(s.cause),
		.counts = f->counts,
		.counts_cnt = f->counts_cnt,
	};
	return 0;
}

struct http_source http_adapter_source(struct http_adapter *f)
{
	return (struct http_source){
		.ctx = f,
		.each_process = each_process,
		.profile = profile,
		.forget = forget,
		.mark = mark,
		.unmark = unmark,
		.status = status,
	};
}

void http_adapter_free(struct http_adapter *f)
{
	free(f->counts);
	*f = (struct http_adapter){ 0 };
}
