/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate: see calibrate.h. */
#include "calibrate/calibrate.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "base/text.h"
#include "base/vec.h"
#include "event/event.h"
#include "helper/calls.h"
#include "helper/child.h"
#include "helper/helper.h"
#include "intake/intake.h"

#define RING_SZ (2u << 20) /* all events of CALLS_MAX calls */
#define AT_ONCE_MAX 256

struct calibrating {
	const struct site_list *list;
	int collector;
	struct helper helper;
	struct probe *probe;
	struct intake *intake;
	struct call *calls;
	size_t calls_cnt, calls_cap;
	struct event *events;
	size_t events_cnt, events_cap;
	uint64_t lost; /* before this calibration */
};

/* Programs that stay loaded, see calibrate_prepare. */
static struct probe *kept;

static const struct site *site_named(const struct site_list *l, const char *name)
{
	for (size_t i = 0; name && i < l->sites_cnt; i++) {
		if (l->sites[i].state != SITE_REFUSED && !strcmp(l->sites[i].row->symbol, name))
			return &l->sites[i];
	}
	return NULL;
}

static bool is_cheap(const struct site_list *l, const struct site *s)
{
	bool cheap = s->predicted || s->row->shape == ALYS_SHAPE_REFILL;
	for (size_t i = 0; i < s->exits_cnt; i++)
		cheap |= l->exits[s->exits[i]].emulated && !l->exits[s->exits[i]].plain;
	return cheap;
}

bool calibrate_wanted(const struct site_list *l, enum probe_returns returns)
{
	for (size_t i = 0; i < l->sites_cnt && returns != PROBE_RETURNS_ALL; i++) {
		const struct site *s = &l->sites[i];
		bool returns_here = returns == PROBE_RETURNS_PLAIN && s->return_probe;
		if (s->state == SITE_PROBED && !returns_here && is_cheap(l, s))
			return true;
	}
	return false;
}

static int receive_calls(struct calibrating *c, struct err *err)
{
	size_t len = 0, room = CALLS_MAX * sizeof(*c->calls);
	ssize_t got = 1;
	c->calls = malloc(room);
	if (!c->calls)
		return err_set(err, ENOMEM, "out of memory");
	while (len < room && (got = helper_read(&c->helper, (char *)c->calls + len, room - len, err)) > 0)
		len += (size_t)got;
	if (got < 0)
		return (int)got;
	c->calls_cnt = len / sizeof(*c->calls);
	return c->calls_cnt ? 0 : err_set(err, EPIPE, "the helper did not survive the calls");
}

/* --- what the probes report -------------------------------------------------------------------- */

static void on_event(void *ctx, const struct intake_who *who, uint64_t stack_hash, struct event *e)
{
	struct calibrating *c = ctx;
	struct event *slot = who->tgid == (uint32_t)c->helper.pid ? VEC_PUSH(c, events) : NULL;
	(void)stack_hash;
	if (slot)
		*slot = *e;
}

static void on_stack(void *ctx, const struct intake_stack *s)
{
	(void)ctx, (void)s;
}

static void on_note(void *ctx, const struct intake_who *who, enum intake_note note, uint64_t other)
{
	(void)ctx, (void)who, (void)note, (void)other;
}

/* One helper at a time calls one function at a time. */
static const struct probe_config config = {
	.ring_sz = RING_SZ,
	.calls_max = AT_ONCE_MAX,
	.subjects = 1u << ALYS_SUBJECT_ALLOCATIONS,
};

static int count_losses(const struct calibrating *c, uint64_t *out)
{
	struct probe_stats s;
	int rc = probe_stats(c->probe, &s);
	*out = s.misses + s.n[ALYS_ST_LOST_RING_ALLOC] + s.n[ALYS_ST_LOST_RING_REALLOC] + s.n[ALYS_ST_LOST_RING_FREE] +
	       s.n[ALYS_ST_LOST_PENDING];
	return rc;
}

static int open_probe(struct calibrating *c, struct err *err)
{
	struct intake_ops ops = { .ctx = c, .on_event = on_event, .on_stack = on_stack, .on_note = on_note };
	c->probe = kept ? kept : probe_open(&config, err);
	if (!c->probe)
		return -err->code;
	struct queue_source from = { probe_ring_fd(c->probe), probe_calls_fd(c->probe), config.ring_sz };
	c->intake = intake_new(&from, 0, &ops, err);
	if (!c->intake)
		return -err->code;
	intake_reset(c->intake); /* of an earlier calibration */
	c->events_cnt = 0;
	return count_losses(c, &c->lost) ? err_set(err, EIO, "the counters could not be read") : 0;
}

int calibrate_prepare(struct err *err)
{
	if (kept)
		return 0;
	struct probe *p = probe_open(&config, err);
	if (!p)
		return -err->code;
	int rc = probe_ready(p, err);
	if (!rc)
		rc = probe_listen(p, false, err);
	if (rc)
		probe_close(p);
	else
		kept = p;
	return rc;
}

static int observe(struct calibrating *c, int file_fd, struct err *err)
{
	const struct probe_order o = {
		.tgid = (uint32_t)c->helper.pid,
		.file_fd = file_fd,
		.sites = c->list,
		.returns = PROBE_RETURNS_NONE,
	};
	int rc = probe_attach(c->probe, &o, err);
	if (rc)
		return rc;
	probe_start(c->probe);
	helper_go(&c->helper);
	rc = receive_calls(c, err);
	probe_stop(c->probe);
	while (!rc && intake_drain(c->intake) > 0)
		;
	return rc;
}

/* Lost events are our own fault and say nothing about the sites. */
static int check_losses(const struct calibrating *c, struct err *err)
{
	uint64_t lost;
	if (count_losses(c, &lost))
		return err_set(err, EIO, "the counters could not be read");
	lost -= c->lost;
	return lost ? err_set(err, ENOBUFS, "%" PRIu64 " events were lost", lost) : 0;
}

/* --- the comparison --------------------------------------------------------------------------- */

/* In a collector, plain functions may end in GC_malloc_kind, which is then what is probed. */
static bool is_seen(const struct calibrating *c, uint32_t called)
{
	if (called >= CALLED_CNT)
		return false;
	if (site_named(c->list, called_name((enum called)called, c->collector)))
		return true;
	return called <= CALLED_ATOMIC && c->collector && site_named(c->list, "GC_malloc_kind");
}

static bool agrees(const struct call *call, const struct event *e)
{
	if (call->called == CALLED_FREE)
		return e->kind == EVENT_FREE && e->addr == call->old;
	if (e->kind != (call->old ? EVENT_REALLOC : EVENT_ALLOC) || e->addr != call->result)
		return false;
	/* An aligned request may end in a plain one for whole pages, whose size is reported then. */
	bool size_ok = call->called == CALLED_MEMALIGN ? e->size >= call->size : e->size == call->size;
	return size_ok && (!call->old || e->old_addr == call->old);
}

static void describe_wrong(const struct calibrating *c, const struct call *call, const struct event *e, struct err *err)
{
	const char *name = called_name((enum called)call->called, c->collector);
	if (e)
		err_set(err, EILSEQ, "%s(%" PRIu64 ") gave 0x%" PRIx64 ", its sites said %" PRIu64 " bytes at 0x%" PRIx64, name,
			call->size, call->result, e->size, e->addr);
	else
		err_set(err, EILSEQ, "%s(%" PRIu64 ") gave 0x%" PRIx64 ", its sites said nothing", name, call->size,
			call->result);
}

/* Number of calls that agreed; if err is set, the one after them did not. */
static size_t compare(const struct calibrating *c, struct err *err)
{
	size_t at = 0;
	for (size_t i = 0; i < c->calls_cnt; i++) {
		const struct call *call = &c->calls[i];
		bool failed = !call->result && call->called != CALLED_FREE;
		if (failed || !is_seen(c, call->called))
			continue;
		const struct event *e = at < c->events_cnt ? &c->events[at] : NULL;
		if (!e || !agrees(call, e)) {
			describe_wrong(c, call, e, err);
			return at;
		}
		at++;
	}
	if (at < c->events_cnt)
		err_set(err, EILSEQ, "%zu calls were reported that were not made", c->events_cnt - at);
	return at;
}

static void judge(struct calibrating *c, struct calibration *out)
{
	out->agreed = compare(c, &out->failed);
	out->outcome = out->failed.code ? CALIBRATION_WRONG : out->agreed ? CALIBRATION_AGREED : CALIBRATION_UNPROVEN;
}

void calibration_text(const struct calibration *c, struct buf *out)
{
	if (c->outcome == CALIBRATION_AGREED)
		buf_addf(out, "calibrated: %" PRIu64 " calls agreed", c->agreed);
	else if (c->outcome == CALIBRATION_WRONG)
		buf_addf(out, "calibration: wrong after %" PRIu64 " calls: ", c->agreed);
	else if (c->outcome == CALIBRATION_UNPROVEN)
		buf_addf(out, "not calibrated: %s", c->failed.code ? "" : "none of its probed functions could be called");
	if (c->failed.code)
		text_clean(out, c->failed.text, 240);
}

static int run(struct calibrating *c, int file_fd, struct err *err)
{
	int rc = helper_check(file_fd, c->list->program, err);
	/* The helper starts while the programs are loaded. */
	if (!rc)
		rc = helper_start(&c->helper, CHILD_CALLS, file_fd, err);
	if (!rc)
		rc = open_probe(c, err);
	if (!rc)
		rc = helper_await(&c->helper, err);
	if (!rc)
		rc = observe(c, file_fd, err);
	return rc ? rc : check_losses(c, err);
}

/* Threads that are detaching links. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t less;
	int cnt;
} closing = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static void *close_probe(void *probe)
{
	probe_close(probe);
	pthread_mutex_lock(&closing.lock);
	closing.cnt--;
	pthread_cond_signal(&closing.less);
	pthread_mutex_unlock(&closing.lock);
	return NULL;
}

/* A thread that is killed while it detaches leaves probes in the kernel that nobody owns. */
static void await_closing(void)
{
	pthread_mutex_lock(&closing.lock);
	while (closing.cnt)
		pthread_cond_wait(&closing.less, &closing.lock);
	pthread_mutex_unlock(&closing.lock);
}

/*
 * The kernel detaches a link only after a grace period of all CPUs, 50 ms each: done in a thread of its own, for which
 * only the end of the program waits.
 */
static void close_aside(struct probe *p)
{
	static bool registered;
	if (!p || p == kept)
		return;
	registered = registered || atexit(await_closing) == 0;
	pthread_mutex_lock(&closing.lock);
	closing.cnt++;
	pthread_mutex_unlock(&closing.lock);
	if (!registered || signals_thread(NULL, close_probe, p))
		close_probe(p);
}

void calibrate(const struct site_list *l, int file_fd, struct calibration *out)
{
	struct calibrating c = { .list = l, .helper = { .go = -1, .out = -1 } };
	*out = (struct calibration){ 0 };
	c.collector = site_named(l, "GC_malloc_kind") || site_named(l, "GC_malloc");
	if (!run(&c, file_fd, &out->failed))
		judge(&c, out);
	else
		out->outcome = CALIBRATION_UNPROVEN;
	intake_free(c.intake);
	if (kept && c.helper.pid)
		probe_detach(kept, (uint32_t)c.helper.pid);
	close_aside(c.probe);
	helper_end(&c.helper);
	free(c.calls);
	free(c.events);
}
