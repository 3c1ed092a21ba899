/* SPDX-License-Identifier: Apache-2.0 */
/* heapreader: see heapreader.h. */
#include "heapreader/heapreader.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/text.h"
#include "base/vec.h"
#include "heapreader/order.h"
#include "heapreader/work.h"
#include "collector/prove.h"
#include "heapreader/heap_worker.h"
#include "marking/wire.h"
#include "target/proc.h"

#define TIMEOUT_MS 20000

struct heapreader {
	bool in_process; /* this process holds no rights itself, so no worker is needed */
	bool realtime;
	struct work_ahead ahead; /* of readings in this process */
	struct broker broker;    /* pid 0: no worker is running */
	struct order_line line;
	struct buf in, out;
	struct order order;
	struct order_reply reply;
};

/* --- the worker --------------------------------------------------------------------------------- */

static int begin(struct heapreader *r, struct err *err)
{
	const struct sched_param first = { .sched_priority = 1 };
	int rc = worker_start(&r->broker, &r->line, err);
	/* If real-time scheduling is not permitted, both processes keep their normal priority. */
	if (!rc && r->realtime)
		sched_setscheduler(r->broker.pid, SCHED_RR | SCHED_RESET_ON_FORK, &first);
	return rc;
}

/* Returns the worker's status as from waitpid, -1: none was running. */
static int end(struct heapreader *r)
{
	if (r->broker.pid <= 0)
		return -1;
	kill(r->broker.pid, SIGKILL);
	order_line_close(&r->line);
	return broker_end(&r->broker);
}

struct heapreader *heapreader_new(bool realtime, struct err *err)
{
	struct heapreader *r = calloc(1, sizeof(*r));
	if (!r) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	r->in_process = rights_delegated();
	r->realtime = realtime;
	if (r->in_process || !begin(r, err))
		return r;
	free(r);
	return NULL;
}

void heapreader_free(struct heapreader *r)
{
	if (!r)
		return;
	end(r);
	work_ahead_free(&r->ahead);
	buf_free(&r->in);
	buf_free(&r->out);
	free(r);
}

static int gone(struct heapreader *r, int rc, uint32_t tgid, struct err *err)
{
	int status = end(r);
	if (rc != -ETIMEDOUT && status >= 0 && WIFSIGNALED(status))
		err_set(err, ECONNRESET, "the reader of the heap of process %u was ended by signal %d", tgid, WTERMSIG(status));
	else
		err_set(err, ECONNRESET, "the reader of the heap of process %u %s", tgid,
			rc == -ETIMEDOUT ? "did not come back in 20 seconds" : "gave no answer that makes sense");
	return -ECONNRESET;
}

/* Text from the worker is untrusted: it may contain bytes of the target. */
static int answer(struct heapreader *r, struct err *err)
{
	struct buf text = { 0 };
	int rc = r->reply.rc;
	if (rc >= 0)
		return 0;
	r->reply.err.text[sizeof(r->reply.err.text) - 1] = 0;
	text_clean(&text, r->reply.err.text, SIZE_MAX);
	err_set(err, -rc, "%s", text.len ? buf_str(&text) : strerror(-rc));
	buf_free(&text);
	return rc;
}

/*
 * A reading takes about fifteen round trips and has a few milliseconds. Waking a process on another CPU takes longer
 * than answering, so both run on the same one meanwhile. *was: the thread's former affinity.
 */
static bool share_cpu(const struct heapreader *r, cpu_set_t *was)
{
	cpu_set_t one;
	int cpu = r->realtime ? sched_getcpu() : -1;
	if (cpu < 0 || sched_getaffinity(0, sizeof(*was), was))
		return false;
	CPU_ZERO(&one);
	CPU_SET((unsigned)cpu, &one);
	return !sched_setaffinity(0, sizeof(one), &one) && !sched_setaffinity(r->broker.pid, sizeof(one), &one);
}

static int await(struct heapreader *r)
{
	cpu_set_t was;
	bool together = share_cpu(r, &was);
	int rc = order_send(&r->line, &r->order.head, sizeof(r->order), &r->in);
	rc = rc ?: broker_serve_until(&r->broker, r->line.sock, TIMEOUT_MS);
	if (together)
		sched_setaffinity(0, sizeof(was), &was);
	return rc;
}

/*
 * Sends the order with r->in; the answer is in r->reply and r->out. Meanwhile this process serves as the worker's
 * broker.
 */
static int do_order(struct heapreader *r, enum order_kind kind, const struct heapreader_place *p, struct err *err)
{
	int rc = r->broker.pid > 0 ? 0 : begin(r, err);
	if (rc) {
		buf_free(&r->in);
		return rc;
	}
	r->order.kind = kind;
	r->order.place = *p;
	r->broker.target = p->tgid;
	buf_free(&r->out);
	rc = await(r);
	buf_free(&r->in);
	rc = rc ?: order_receive(&r->line, &r->reply.head, sizeof(r->reply), &r->out);
	return rc ? gone(r, rc, p->tgid, err) : answer(r, err);
}

/* --- what came back ------------------------------------------------------------------------------- */

static void take_place(const struct heapreader *r, uint32_t tgid, struct heapreader_place *out)
{
	*out = r->reply.place;
	out->tgid = tgid;
	out->layout.file[sizeof(out->layout.file) - 1] = 0;
	if (out->own.variables_cnt > OWN_VARIABLES_MAX)
		out->own.variables_cnt = OWN_VARIABLES_MAX;
}

static void take_proof(const struct heapreader *r, struct calibration *out)
{
	*out = r->reply.proof;
	out->failed.text[sizeof(out->failed.text) - 1] = 0;
	if ((unsigned int)out->outcome > CALIBRATION_UNPROVEN)
		out->outcome = CALIBRATION_UNPROVEN;
}

static int take_types(const struct buf *from, struct types *out)
{
	struct cursor c = cursor_over(from->data, from->len);
	char name[4096];
	int rc = types_begin(out);
	out->reference_max = (uint32_t)cursor_le(&c, 4);
	while (!rc && cursor_left(&c)) {
		uint32_t id = (uint32_t)cursor_le(&c, 4);
		uint8_t known = cursor_u8(&c);
		cursor_lenstr(&c, name, sizeof(name));
		rc = c.bad || known > TYPE_ALWAYS ? -EBADMSG : types_put(out, id, name, strlen(name), (enum type_known)known);
	}
	if (rc || c.bad)
		types_free(out);
	return rc ?: c.bad ? -EBADMSG : 0;
}

/* --- cached proofs ------------------------------------------------------------------------------ */

/* Cached per user: a result obtained with one user's process must not decide for another's. */
struct proof {
	uint64_t dev, ino;
	long uid;
	int rc;
	struct err failed; /* for rc */
	struct calibration proof;
};

static struct {
	pthread_mutex_t lock;
	struct proof *proofs;
	size_t proofs_cnt, proofs_cap;
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_known(const struct heapreader_place *p, long uid, struct proof *out)
{
	bool found = false;
	pthread_mutex_lock(&known.lock);
	for (size_t i = 0; i < known.proofs_cnt && !found; i++) {
		const struct proof *k = &known.proofs[i];
		found = k->dev == p->dev && k->ino == p->ino && k->uid == uid;
		if (found)
			*out = *k;
	}
	pthread_mutex_unlock(&known.lock);
	return found;
}

static void note(const struct heapreader_place *p, long uid, const struct proof *how)
{
	pthread_mutex_lock(&known.lock);
	struct proof *slot = VEC_PUSH(&known, proofs);
	if (slot) {
		*slot = *how;
		slot->dev = p->dev;
		slot->ino = p->ino;
		slot->uid = uid;
	}
	pthread_mutex_unlock(&known.lock);
}

/* --- orders --------------------------------------------------------------------------------------- */

int heapreader_find(struct heapreader *r, uint32_t tgid, struct heapreader_place *out, struct err *err)
{
	if (r->in_process)
		return work_find(tgid, out, err);
	int rc = do_order(r, ORDER_FIND, &(struct heapreader_place){ .tgid = tgid }, err);
	if (!rc)
		take_place(r, tgid, out);
	return rc;
}

int heapreader_prove(struct heapreader *r, const struct heapreader_place *p, struct heapreader_proof *out, struct err *err)
{
	long uid = proc_status_value(p->tgid, "Uid");
	struct proof before = { 0 };
	*out = (struct heapreader_proof){ 0 };
	if (r->in_process)
		return work_prove(p->tgid, false, out, err);
	r->order.some = is_known(p, uid, &before);
	int rc = do_order(r, ORDER_PROVE, p, err);
	if (rc == -ECONNRESET)
		return rc;
	out->crystal = r->reply.crystal != 0;
	out->typed = r->reply.typed && (!out->crystal || !take_types(&r->out, &out->types));
	take_proof(r, &out->proof);
	if (!r->order.some && (!rc || rc == -ENOTSUP))
		note(p, uid, &(struct proof){ .rc = rc, .failed = rc ? *err : (struct err){ 0 }, .proof = out->proof });
	if (!r->order.some || rc)
		return rc;
	out->proof = before.proof;
	return before.rc ? err_set(err, -before.rc, "%s", before.failed.text) : 0;
}

static int order_heap(struct heapreader *r, enum order_kind kind, const struct heapreader_place *p, struct boehm_heap *out,
		      struct err *err)
{
	*out = (struct boehm_heap){ 0 };
	int rc = do_order(r, kind, p, err);
	struct cursor c = cursor_over(r->out.data, r->out.len);
	if (!rc) {
		rc = wire_take_heap(&c, out);
		if (rc)
			err_set(err, -rc, "its heap cannot be read: %s", strerror(-rc));
	}
	buf_free(&r->out);
	return rc;
}

int heapreader_heap(struct heapreader *r, const struct heapreader_place *p, struct boehm_heap *out, struct err *err)
{
	return r->in_process ? work_heap(p, out, err) : order_heap(r, ORDER_HEAP, p, out, err);
}

int heapreader_marks(struct heapreader *r, const struct heapreader_place *p, uint64_t *asked, size_t cnt, struct boehm_heap *out,
		     struct err *err)
{
	if (r->in_process)
		return work_marks(p, asked, cnt, &r->ahead, out, err);
	r->order.some = asked != NULL;
	if (asked)
		buf_add(&r->in, asked, cnt * sizeof(*asked));
	int rc = order_heap(r, ORDER_MARKS, p, out, err);
	if (rc) {
		free(asked);
		return rc;
	}
	out->asked = asked;
	out->asked_cnt = cnt;
	return 0;
}

int heapreader_copy(struct heapreader *r, const struct heapreader_place *p, const struct boehm_heap *h, size_t max,
		    struct buf *out)
{
	struct err err;
	if (r->in_process)
		return work_copy(p, h, max, out);
	r->order.most = max;
	int rc = do_order(r, ORDER_COPY, p, &err);
	*out = rc ? (struct buf){ 0 } : r->out;
	if (!rc)
		r->out = (struct buf){ 0 };
	return rc;
}

int heapreader_count(struct heapreader *r, const struct heapreader_place *p, uint64_t *gc_no)
{
	struct err err;
	if (r->in_process)
		return work_count(p, gc_no);
	int rc = do_order(r, ORDER_COUNT, p, &err);
	*gc_no = r->reply.gc_no;
	return rc;
}

int heapreader_compare(struct heapreader *r, const struct heapreader_place *p, const struct heapreader_question *q,
		       struct unknown *out, uint64_t *spent_ns)
{
	struct unknown found;
	struct err err;
	*spent_ns = 0;
	if (r->in_process)
		return work_compare(p, q, out);
	wire_put_heap(&r->in, q->heap);
	wire_put_recorded(&r->in, q->recorded);
	wire_put_unknown(&r->in, out);
	r->order.copy_len = q->copy ? q->copy->len : 0;
	if (q->copy)
		buf_add(&r->in, q->copy->data, q->copy->len);
	r->order.most = q->most;
	int rc = do_order(r, ORDER_COMPARE, p, &err);
	*spent_ns = r->reply.spent_ns;
	struct cursor c = cursor_over(r->out.data, r->out.len);
	rc = rc ?: wire_take_unknown(&c, &found);
	buf_free(&r->out);
	out->whole &= !rc;
	if (rc)
		return rc;
	unknown_free(out);
	*out = found;
	return 0;
}

void heapreader_proof_text(const struct heapreader_proof *p, struct buf *out)
{
	prove_text(&p->proof, out);
}
