/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/marks: see marks.h. One lock protects the lists; readings are made without it. */
#include "liveness/marks.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/vec.h"
#include "heapreader/heapreader.h"
#include "intake/wakeup.h"
#include "liveness/object_log.h"
#include "liveness/readings.h"
#include "liveness/stops.h"
#include "liveness/watchdog.h"
#include "sites/collections.h"

#define BEAT_MS 100
#define STOPS_NS 1000000000ull /* how long stops stay enabled after a heartbeat */
#define TAKE_NS 2000000000ull
#define TRY_SHARE 50 /* 1/50: share of time for finding a collector, after the first tries */
#define READINGS 3   /* attempts per collection */
#define SETTLE_NS 500000000ull
/*
 * When sampling, complete readings take at most 1/100 of the time, and have a least interval: those of a small heap are
 * fast, but cost the target time.
 */
#define WHOLE_SHARE 100
#define WHOLE_PAUSE_NS 50000000ull
/* 1/50: share of time for copying small heaps, which are compared once their records have been read */
#define COPY_MAX (8u << 20)
#define COPY_SHARE 50
#define COPY_NS 200000000ull   /* granted before the share applies */
#define COMPARE_SZ (64u << 20) /* compared at once; the ring is not read meanwhile */

struct watched {
	uint32_t tgid;
	enum marks_state state;
	bool gone, tried;
	bool met;        /* by a collection only: marks_watch has not named it yet */
	uint64_t try_ns; /* while waiting: earliest time of the next try */
	uint32_t tries;
	uint64_t serial;               /* serial + 1 of the last collection handled */
	uint64_t gone_ns;              /* time at which it became gone */
	uint64_t whole_ns;             /* earliest time of the next complete reading; until then, those of sampled objects */
	uint64_t since_ns, copied_ns;  /* time of its first reading; time spent on copies */
	uint32_t over;                 /* the reader thread's, see stops_end */
	uint64_t told;                 /* `serial` when the kernel was last told that it is idle; likewise */
	struct heapreader_place place; /* valid when ready */
	pthread_t prover;
	bool proving, proved; /* proof begun, ended */
	struct marks *marks;
	struct types types; /* types of its objects, valid when typed; crystal: the program is Crystal's */
	bool typed, crystal;
	struct err failed; /* the last attempt at its heap; code 0 = it went well */
};

struct marks {
	struct probe *probe;
	struct wakeup *wakeup;
	bool stop, compare;
	struct heapreader *realtime, *background; /* of the thread that reads marks; of the one that takes readings */
	struct watchdog watchdog;
	struct object_log object_log; /* used by the thread only */
	uint64_t swept_ns;            /* time of the last sweep of logged objects */
	pthread_t thread;
	bool running;
	int events; /* eventfd that wakes the thread to process the lists */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool ending;
	uint64_t rounds;       /* of the thread: each reads all wake-ups that there are */
	uint64_t none_left;    /* of the objects up to this place in the log none may be live; UINT64_MAX: some may */
	struct watched **list; /* pointers: the thread uses elements without the lock */
	size_t list_cnt, list_cap;
	struct readings readings; /* not yet taken */
	struct marks_cost cost;
};

/* Call with the lock held. */
static struct watched *find(struct marks *m, uint32_t tgid)
{
	for (size_t i = 0; i < m->list_cnt; i++) {
		if (m->list[i]->tgid == tgid && !m->list[i]->gone)
			return m->list[i];
	}
	return NULL;
}

/* Call with the lock held. NULL: out of memory. */
static struct watched *add(struct marks *m, uint32_t tgid)
{
	struct watched *w = calloc(1, sizeof(*w));
	struct watched **slot = w ? VEC_PUSH(m, list) : NULL;
	if (!slot) {
		free(w);
		return NULL;
	}
	w->tgid = tgid;
	w->marks = m;
	return *slot = w;
}

/* wait: also waits for proofs under way. This is done without the lock, which the prover takes. */
static void free_gone(struct marks *m, bool wait)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->list_cnt; i++) {
		struct watched *w = m->list[i];
		if (!w->gone || (w->proving && !w->proved && !wait)) {
			m->list[kept++] = w;
			continue;
		}
		if (w->proving)
			pthread_join(w->prover, NULL);
		object_log_forget(&m->object_log, w->tgid, w->gone_ns);
		probe_collections_not_idle(m->probe, w->tgid);
		types_free(&w->types);
		free(w);
	}
	m->list_cnt = kept;
}

/* True if the state or failure is new. MARKS_IMPOSSIBLE is final, whatever else was under way. */
static bool set_state_locked(struct watched *w, enum marks_state state, const struct err *failed)
{
	bool changed = !w->tried || w->state != state || w->failed.code != failed->code;
	w->tried = true;
	pthread_cond_broadcast(&w->marks->changed);
	if (w->state == MARKS_IMPOSSIBLE)
		return false;
	w->state = state;
	w->failed = *failed;
	return changed;
}

static void set_state(struct watched *w, enum marks_state state, const struct err *failed)
{
	pthread_mutex_lock(&w->marks->lock);
	bool changed = set_state_locked(w, state, failed);
	pthread_mutex_unlock(&w->marks->lock);
	if (changed)
		log_info("collections of process %u: %s", w->tgid, failed->code ? failed->text : "their marks can be read");
}

static bool is_ending(struct marks *m)
{
	pthread_mutex_lock(&m->lock);
	bool ending = m->ending;
	pthread_mutex_unlock(&m->lock);
	return ending;
}

static void log_proof(const struct watched *w, const struct heapreader_proof *p)
{
	struct buf text = { 0 };
	heapreader_proof_text(p, &text);
	log_info("marks of process %u: %s", w->tgid, buf_str(&text));
	buf_free(&text);
}

/* A proof takes longer than a collection cycle; until it is done, the layout is trusted. */
static void *prove(void *arg)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	struct watched *w = arg;
	struct err err = { 0 };
	struct heapreader_proof p = { 0 };
	pthread_mutex_lock(&one_at_a_time);
	struct heapreader *r = NULL;
	if (is_ending(w->marks))
		err_set(&err, ECANCELED, "the recording ended before the reading was proven");
	else
		r = heapreader_new(false, &err);
	int rc = r ? heapreader_prove(r, &w->place, &p, &err) : -err.code;
	heapreader_free(r);
	pthread_mutex_unlock(&one_at_a_time);
	bool wrong = rc == -ENOTSUP || rc == -ECONNRESET;
	set_state(w, wrong ? MARKS_IMPOSSIBLE : MARKS_READY, &err);
	if (!rc)
		log_proof(w, &p);
	pthread_mutex_lock(&w->marks->lock);
	w->types = p.types;
	w->crystal = p.crystal;
	w->typed = p.typed;
	w->proved = true;
	pthread_mutex_unlock(&w->marks->lock);
	return NULL;
}

/*
 * Marks are valid for a few milliseconds only, so their reader must not queue behind the threads that made them. Other
 * work of this thread runs at normal priority.
 */
static void set_realtime(bool on)
{
	struct sched_param param = { .sched_priority = on ? 1 : 0 };
	if (sched_setscheduler(0, (on ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK, &param))
		log_dbg("the mark reader keeps its priority");
}

/*
 * A collector that is still initializing looks like one of an unknown layout, so failure is not final: it is tried
 * again later.
 */
static void try_open(struct watched *w)
{
	struct err err = { 0 };
	uint64_t from = now_ns();
	if (from < w->try_ns)
		return;
	set_realtime(false);
	int rc = heapreader_find(w->marks->realtime, w->tgid, &w->place, &err);
	set_realtime(true);
	if (rc) {
		bool not_yet = rc == -ENODATA || rc == -ENOTSUP;
		uint64_t now = now_ns();
		w->try_ns = now + (now - from) * (w->tries < TRY_SHARE ? w->tries++ : TRY_SHARE);
		set_state(w, not_yet ? MARKS_WAITING : MARKS_IMPOSSIBLE, &err);
		return;
	}
	set_state(w, MARKS_READY, &err);
	/* Normal priority: it is not inherited (SCHED_RESET_ON_FORK). */
	w->proving = !pthread_create(&w->prover, NULL, prove, w);
}

/* Opens collectors that can be opened now; begins of collections are reported while some are left. */
static void open_waiting(struct marks *m)
{
	bool left = false;
	for (size_t i = 0;; i++) {
		pthread_mutex_lock(&m->lock);
		if (!i)
			free_gone(m, false);
		struct watched *w = i < m->list_cnt ? m->list[i] : NULL;
		bool waits = w && w->state == MARKS_WAITING && !w->gone;
		pthread_mutex_unlock(&m->lock);
		if (!w)
			break;
		if (waits)
			try_open(w);
		left |= w->state == MARKS_WAITING;
	}
	probe_call_at_begins(m->probe, left);
}

/*
 * NULL, or why the reading is not of this collection. No marks change between the two probes: only the next collection's
 * begin can spoil it.
 */
static const char *objection(struct marks *m, const struct mark_reading *r, int rc)
{
	if (rc)
		return "they cannot be read";
	if (probe_collections_begun(m->probe, r->tgid) != r->serial)
		return "the next one began before they were read";
	if (probe_gc_era(m->probe) != r->era)
		return "the next one may have begun unseen";
	if (!r->heap.unnumbered && (uint32_t)r->heap.gc_no != r->gc_no)
		return "the counter says another one";
	return r->heap.bad_headers ? "some block headers make no sense" : NULL;
}

/*
 * With few sampled objects, reading their blocks is enough, and without any, nothing is read: complete readings at hundreds of
 * collections a second took a fifth of a CPU. Occasionally all blocks are read, to know what the heap holds.
 */
static int read_heap(struct marks *m, struct watched *w, struct mark_reading *r, uint64_t from, bool whole)
{
	struct err err;
	size_t cnt = 0;
	uint64_t *asked = whole ? NULL : object_log_of(&m->object_log, w->tgid, &cnt);
	if (asked && !cnt) {
		r->heap = (struct boehm_heap){ .asked = asked, .gc_no = r->gc_no };
		return 0;
	}
	int rc = heapreader_marks(m->realtime, &w->place, asked, cnt, &r->heap, &err);
	if (rc == -ECONNRESET)
		set_state(w, MARKS_IMPOSSIBLE, &err);
	if (asked)
		return rc;
	uint64_t now = now_ns(), pause = (now - from) * WHOLE_SHARE;
	w->whole_ns = now + (pause > WHOLE_PAUSE_NS ? pause : WHOLE_PAUSE_NS);
	return rc;
}

/* A header that is being initialized is invalid for a moment: try again. */
static const char *try_reading(struct marks *m, struct watched *w, struct mark_reading *r, uint64_t from)
{
	const char *why = NULL;
	bool whole = from >= w->whole_ns;
	for (int i = 0; i < READINGS && (!i || r->heap.bad_headers); i++) {
		boehm_heap_free(&r->heap);
		int rc = read_heap(m, w, r, from, whole);
		r->until_ns = now_ns();
		why = objection(m, r, rc);
	}
	return why;
}

static void copy_heap(struct marks *m, struct watched *w, struct mark_reading *r)
{
	uint64_t from = now_ns();
	w->since_ns = w->since_ns ?: from;
	if (!m->compare || r->heap.asked || w->copied_ns > COPY_NS + (from - w->since_ns) / COPY_SHARE)
		return;
	int rc = heapreader_copy(m->realtime, &w->place, &r->heap, COPY_MAX, &r->copy);
	if (rc || r->copy.failed || probe_collections_begun(m->probe, r->tgid) != r->serial)
		buf_free(&r->copy);
	w->copied_ns += now_ns() - from;
}

static void read_marks(struct marks *m, struct watched *w, struct mark_reading *r, uint64_t begun_ns)
{
	const char *why = "the next one had begun before the reader woke";
	uint64_t from = now_ns();
	if (probe_collections_begun(m->probe, r->tgid) == r->serial)
		why = try_reading(m, w, r, from);
	r->good = !why;
	if (r->good && begun_ns)
		object_log_judge(&m->object_log, r->tgid, &r->heap, begun_ns);
	if (r->good)
		copy_heap(m, w, r);
	if (why)
		log_info("collection %u of process %u: no marks: %s", r->gc_no, r->tgid, why);
	uint64_t took = now_ns() - from;
	pthread_mutex_lock(&m->lock);
	m->cost.readings++;
	m->cost.total_ns += took;
	m->cost.late += !r->good;
	m->cost.parts += r->heap.asked != NULL;
	if (took > m->cost.longest_ns)
		m->cost.longest_ns = took;
	pthread_mutex_unlock(&m->lock);
}

/* The watchdog is informed afterwards: if we die in between, a stop is ended twice rather than never. */
static void resume_target(struct marks *m, struct watched *w, uint32_t tgid)
{
	uint32_t over = w ? w->over : 0;
	stops_end(probe_collections_states(m->probe), tgid, -1, &over);
	watchdog_add(&m->watchdog, tgid, over);
	if (w)
		w->over = over;
}

/*
 * The process of a finished collection, its heap found if that can be done. A forked child may collect before the loader
 * has read of its birth; one that is met when it has ended is not kept, for nobody would forget it.
 */
static struct watched *meet(struct marks *m, uint32_t tgid)
{
	pthread_mutex_lock(&m->lock);
	struct watched *known = find(m, tgid), *w = known ? known : add(m, tgid);
	if (w && !known)
		w->met = true;
	pthread_mutex_unlock(&m->lock);
	if (w && w->state == MARKS_WAITING) {
		/* A process that collects has a heap, so its first tries are not delayed. */
		w->try_ns = w->tries < TRY_SHARE ? 0 : w->try_ns;
		try_open(w);
	}
	pthread_mutex_lock(&m->lock);
	if (w && w->met && w->state != MARKS_READY) {
		w->gone = true;
		w = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	return w;
}

static void handle_collection(struct marks *m, const struct intake_collection *c)
{
	struct watched *w = meet(m, c->who.tgid);
	struct mark_reading *r = calloc(1, sizeof(*r));
	if (r)
		*r = (struct mark_reading){
			.tgid = c->who.tgid, .gc_no = c->gc_no, .serial = c->serial, .era = probe_gc_era(m->probe)
		};
	if (r && w && w->state == MARKS_READY)
		read_marks(m, w, r, c->begun_ns);
	/* Resume the target before anything else. */
	if (m->stop)
		resume_target(m, w, c->who.tgid);
	pthread_mutex_lock(&m->lock);
	if (r)
		readings_keep(&m->readings, r);
	if (w)
		w->serial = c->serial + 1;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

static void on_wakeup(void *ctx, const void *record, size_t size)
{
	struct marks *m = ctx;
	struct intake_collection c;
	bool over;
	if (!intake_collection_of(record, size, &c, &over))
		return;
	object_log_read(&m->object_log, m->probe);
	if (over)
		handle_collection(m, &c);
	else
		open_waiting(m);
}

static void beat(struct marks *m)
{
	if (!m->stop)
		return;
	watchdog_beat(&m->watchdog);
	probe_allow_stops(m->probe, now_ns() + STOPS_NS);
}

static bool is_watched(void *ctx, uint32_t tgid)
{
	struct marks *m = ctx;
	pthread_mutex_lock(&m->lock);
	bool watched = find(m, tgid) != NULL;
	pthread_mutex_unlock(&m->lock);
	return watched;
}

static void sweep_object_log(struct marks *m)
{
	uint64_t now = now_ns();
	if (now - m->swept_ns < OBJECT_LOG_SWEEP_NS)
		return;
	object_log_sweep(&m->object_log, is_watched, m, now);
	m->swept_ns = now;
}

/*
 * At a collection without sampled objects nothing is read, so none of them needs to wake this thread until it is time to read all
 * marks. Objects come by the log only. Told after a wake-up: with thousands of processes each sample of one would else concern all.
 */
static void tell_idle(struct marks *m)
{
	pthread_mutex_lock(&m->lock);
	m->none_left = m->object_log.count || m->object_log.lost || m->stop ? UINT64_MAX : m->object_log.at;
	for (size_t i = 0; i < m->list_cnt && !m->stop; i++) {
		struct watched *w = m->list[i];
		const struct alys_gc_idle now = { .logged = m->object_log.at, .until_ns = w->whole_ns };
		if (w->gone || w->state != MARKS_READY || w->told == w->serial || !object_log_is_empty(&m->object_log, w->tgid))
			continue;
		probe_collections_idle(m->probe, w->tgid, &now);
		w->told = w->serial;
	}
	pthread_mutex_unlock(&m->lock);
}

static void *run(void *arg)
{
	struct marks *m = arg;
	struct pollfd fds[] = {
		{ .fd = m->events, .events = POLLIN },
		{ .fd = wakeup_fd(m->wakeup), .events = POLLIN },
	};
	bool ending = false;
	set_realtime(true);
	while (!ending) {
		uint64_t word;
		beat(m);
		poll(fds, 2, BEAT_MS);
		if (fds[0].revents && read(m->events, &word, sizeof(word)) < 0)
			log_dbg("eventfd: %s", strerror(errno));
		object_log_read(&m->object_log, m->probe);
		wakeup_drain(m->wakeup);
		open_waiting(m);
		sweep_object_log(m);
		tell_idle(m);
		pthread_mutex_lock(&m->lock);
		ending = m->ending;
		m->rounds++;
		pthread_cond_broadcast(&m->changed);
		pthread_mutex_unlock(&m->lock);
	}
	return NULL;
}

static int start(struct marks *m, struct err *err)
{
	m->realtime = heapreader_new(true, err);
	m->background = m->realtime ? heapreader_new(false, err) : NULL;
	if (!m->background)
		return -err->code;
	if (m->stop && watchdog_start(&m->watchdog, probe_collections_states(m->probe), err))
		return -err->code;
	m->events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->events < 0)
		return err_set(err, errno, "eventfd: %s", strerror(errno));
	beat(m);
	m->wakeup = wakeup_new(probe_collections_fd(m->probe), on_wakeup, m, err);
	if (!m->wakeup)
		return -err->code;
	int rc = signals_thread(&m->thread, run, m);
	m->running = !rc;
	return rc ? err_set(err, rc, "cannot start a thread: %s", strerror(rc)) : 0;
}

struct marks *marks_new(struct probe *p, bool stop, bool compare, struct err *err)
{
	struct marks *m = calloc(1, sizeof(*m));
	pthread_condattr_t monotonic;
	if (!m) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	m->probe = p;
	m->stop = stop;
	m->compare = compare;
	m->events = -1;
	m->none_left = UINT64_MAX;
	m->watchdog = (struct watchdog)WATCHDOG_NONE;
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&m->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (!start(m, err))
		return m;
	marks_free(m);
	return NULL;
}

static void wake(struct marks *m)
{
	uint64_t one = 1;
	if (write(m->events, &one, sizeof(one)) < 0)
		log_dbg("eventfd: %s", strerror(errno));
}

void marks_free(struct marks *m)
{
	if (!m)
		return;
	if (m->running) {
		probe_allow_stops(m->probe, 0);
		pthread_mutex_lock(&m->lock);
		m->ending = true;
		pthread_mutex_unlock(&m->lock);
		wake(m);
		pthread_join(m->thread, NULL);
	}
	for (size_t i = 0; i < m->list_cnt; i++)
		m->list[i]->gone = true;
	free_gone(m, true);
	heapreader_free(m->realtime);
	heapreader_free(m->background);
	object_log_free(&m->object_log);
	watchdog_stop(&m->watchdog);
	readings_free(&m->readings);
	free(m->list);
	wakeup_free(m->wakeup);
	if (m->events >= 0)
		close(m->events);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void marks_watch(struct marks *m, uint32_t tgid)
{
	pthread_mutex_lock(&m->lock);
	struct watched *known = find(m, tgid);
	bool is_new = known ? known->met : add(m, tgid) != NULL;
	if (known)
		known->met = false;
	pthread_mutex_unlock(&m->lock);
	if (!is_new)
		return;
	if (m->stop)
		watchdog_add(&m->watchdog, tgid, 0);
	wake(m);
}

static struct timespec until_then(uint64_t ns)
{
	uint64_t until = now_ns() + ns;
	return (struct timespec){ .tv_sec = (time_t)(until / 1000000000ull), .tv_nsec = (long)(until % 1000000000ull) };
}

void marks_settle(struct marks *m, uint32_t tgid)
{
	struct timespec until = until_then(SETTLE_NS);
	pthread_mutex_lock(&m->lock);
	const struct watched *w = find(m, tgid);
	for (int rc = 0; w && !w->tried && !rc; w = find(m, tgid))
		rc = pthread_cond_timedwait(&m->changed, &m->lock, &until);
	pthread_mutex_unlock(&m->lock);
}

void marks_forget(struct marks *m, uint32_t tgid, uint64_t time_ns)
{
	pthread_mutex_lock(&m->lock);
	struct watched *w = find(m, tgid);
	if (w) {
		w->gone = true;
		w->gone_ns = time_ns;
	}
	pthread_mutex_unlock(&m->lock);
}

bool marks_none_left(struct marks *m)
{
	pthread_mutex_lock(&m->lock);
	bool none = m->none_left == probe_objects_logged(m->probe);
	pthread_mutex_unlock(&m->lock);
	return none;
}

struct mark_reading *marks_of_none(struct marks *m, const struct intake_collection *c)
{
	struct mark_reading *r = calloc(1, sizeof(*r));
	uint64_t *asked = r ? malloc(sizeof(*asked)) : NULL;
	if (!asked) {
		free(r);
		return NULL;
	}
	*r = (struct mark_reading){
		.tgid = c->who.tgid, .gc_no = c->gc_no, .serial = c->serial, .until_ns = c->who.time_ns, .good = true
	};
	r->heap = (struct boehm_heap){ .asked = asked, .gc_no = c->gc_no };
	pthread_mutex_lock(&m->lock);
	m->cost.none++;
	pthread_mutex_unlock(&m->lock);
	return r;
}

/*
 * Wake-ups are lost where collections come faster than they are read. One was sent before the record of its collection, so
 * what a whole round of the thread has not met will not come: of the two that end next, the second began after this call.
 */
struct mark_reading *marks_take(struct marks *m, uint32_t tgid, uint64_t serial)
{
	struct timespec until = until_then(TAKE_NS);
	pthread_mutex_lock(&m->lock);
	struct mark_reading *r = readings_take(&m->readings, tgid, serial);
	uint64_t met = m->rounds + 2;
	for (int rc = 0; !r && !rc;) {
		const struct watched *w = find(m, tgid);
		if (!w || w->serial > serial || m->rounds >= met)
			break;
		wake(m);
		rc = pthread_cond_timedwait(&m->changed, &m->lock, &until);
		r = readings_take(&m->readings, tgid, serial);
	}
	pthread_mutex_unlock(&m->lock);
	return r;
}

/* False: the collector has not been located. */
static bool to_ask(struct marks *m, uint32_t tgid, struct heapreader_place *place)
{
	pthread_mutex_lock(&m->lock);
	const struct watched *w = find(m, tgid);
	bool ready = w && w->state == MARKS_READY;
	if (ready)
		*place = w->place;
	pthread_mutex_unlock(&m->lock);
	return ready;
}

/* If a worker died reading this heap, the next would die, too: do not try again. */
static int give_up(struct marks *m, uint32_t tgid, int rc)
{
	if (rc != -ECONNRESET)
		return rc;
	struct err lost;
	err_set(&lost, ECONNRESET, "the reader of the heap of process %u did not survive that, or did not come back", tgid);
	pthread_mutex_lock(&m->lock);
	struct watched *w = find(m, tgid);
	if (w)
		set_state_locked(w, MARKS_IMPOSSIBLE, &lost);
	pthread_mutex_unlock(&m->lock);
	return rc;
}

int marks_count(struct marks *m, uint32_t tgid, uint64_t *gc_no)
{
	struct heapreader_place place;
	return to_ask(m, tgid, &place) ? give_up(m, tgid, heapreader_count(m->background, &place, gc_no)) : -ENOENT;
}

struct mark_reading *marks_read(struct marks *m, uint32_t tgid)
{
	struct heapreader_place place;
	struct err err;
	struct mark_reading *r = to_ask(m, tgid, &place) ? calloc(1, sizeof(*r)) : NULL;
	if (!r)
		return NULL;
	int rc = give_up(m, tgid, heapreader_heap(m->background, &place, &r->heap, &err));
	r->tgid = tgid;
	r->gc_no = (uint32_t)r->heap.gc_no;
	r->until_ns = now_ns();
	r->good = !rc && !r->heap.torn && !r->heap.bad_headers;
	if (r->good)
		return r;
	mark_reading_free(r);
	return NULL;
}

/* Whether the marks, and the references between objects, are still those of the reading's collection. */
static bool is_current(struct marks *m, const struct mark_reading *r, const struct heapreader_place *place)
{
	uint64_t gc_no;
	if (probe_collections_begun(m->probe, r->tgid) != r->serial)
		return false;
	return heapreader_count(m->background, place, &gc_no) || (uint32_t)gc_no == r->gc_no;
}

int marks_compare(struct marks *m, const struct mark_reading *r, const struct boehm_heap *h, const struct recorded *o,
		  struct unknown *out, uint64_t *spent_ns)
{
	struct heapreader_place place;
	bool copied = r->copy.len;
	const struct heapreader_question q = { copied ? &r->copy : NULL, h, o, copied ? UINT64_MAX : COMPARE_SZ };
	if (!to_ask(m, r->tgid, &place))
		return -ENOENT;
	int rc = give_up(m, r->tgid, heapreader_compare(m->background, &place, &q, out, spent_ns));
	if (!rc && !copied && !is_current(m, r, &place))
		rc = -EAGAIN;
	out->whole &= !rc;
	return rc;
}

bool marks_types(struct marks *m, uint32_t tgid, const struct types **types)
{
	pthread_mutex_lock(&m->lock);
	const struct watched *w = find(m, tgid);
	bool typed = w && w->typed;
	*types = typed && w->crystal ? &w->types : NULL;
	pthread_mutex_unlock(&m->lock);
	return typed;
}

struct marks_facts marks_facts(struct marks *m, uint32_t tgid)
{
	struct marks_facts f = { .state = MARKS_IMPOSSIBLE };
	pthread_mutex_lock(&m->lock);
	const struct watched *w = find(m, tgid);
	if (w) {
		f.state = w->state;
		f.incremental = w->state == MARKS_READY && w->place.layout.incremental;
		f.counted = w->state == MARKS_READY && w->place.layout.gc_no;
		f.failed = w->failed;
	}
	pthread_mutex_unlock(&m->lock);
	f.begun = probe_collections_begun(m->probe, tgid);
	return f;
}

struct marks_cost marks_cost(struct marks *m)
{
	pthread_mutex_lock(&m->lock);
	struct marks_cost c = m->cost;
	pthread_mutex_unlock(&m->lock);
	return c;
}
