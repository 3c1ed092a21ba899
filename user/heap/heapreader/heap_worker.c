/* SPDX-License-Identifier: Apache-2.0 */
/* heapreader/heap_worker: see heap_worker.h. */
#include "heapreader/heap_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "heapreader/order.h"
#include "heapreader/work.h"
#include "marking/wire.h"
#include "target/proc.h"

/* --- confined ----------------------------------------------------------------------------------- */

uint64_t worker_memory(void)
{
	char line[128];
	uint64_t kib = 0;
	FILE *f = fopen("/proc/meminfo", "re");
	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %" SCNu64, &kib);
	if (f)
		fclose(f);
	return kib ? kib * 512 : 1ull << 30;
}

/* A corrupt heap that claims to be huge must not exhaust the machine's memory. Memory inherited by fork counts as well. */
static int limit_memory(struct err *err)
{
	long kib = proc_status_value((uint32_t)getpid(), "VmData");
	uint64_t most = 2 * worker_memory() + (kib > 0 ? (uint64_t)kib * 1024 : 0);
	const struct rlimit data = { most, most };
	return !SANITIZED && setrlimit(RLIMIT_DATA, &data) ? err_set(err, errno, "setrlimit: %s", strerror(errno)) : 0;
}

int worker_confine(pid_t broker, struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return err_set(err, errno, "prctl: %s", strerror(errno));
	if (getppid() != broker)
		_exit(EXIT_ERROR);
	return limit_memory(err);
}

/* --- orders ------------------------------------------------------------------------------------- */

struct job {
	struct order order;
	struct buf in, out;
	struct order_reply reply;
	struct boehm_heap last; /* most recently read */
	struct work_ahead ahead;
};

static void put_types(struct buf *out, const struct types *t)
{
	buf_le(out, t->reference_max, 4);
	for (size_t i = 0; i < t->names_cnt; i++) {
		const struct type_name *n = &t->names[i];
		if (!n->name)
			continue;
		buf_le(out, n->id, 4);
		buf_u8(out, (uint8_t)n->known);
		buf_lenstr(out, n->name);
	}
}

static int prove(struct job *j)
{
	struct heapreader_proof p = { 0 };
	int rc = work_prove(j->order.place.tgid, j->order.some, &p, &j->reply.err);
	j->reply.crystal = p.crystal;
	j->reply.typed = p.typed;
	j->reply.proof = p.proof;
	if (p.crystal && p.typed)
		put_types(&j->out, &p.types);
	types_free(&p.types);
	return rc;
}

static int read_heap(struct job *j)
{
	boehm_heap_free(&j->last);
	int rc = work_heap(&j->order.place, &j->last, &j->reply.err);
	if (!rc)
		wire_put_heap(&j->out, &j->last);
	return rc;
}

/* boehm_heap_free of the last heap frees the addresses. */
static int read_marks(struct job *j)
{
	boehm_heap_free(&j->last);
	uint64_t *asked = j->order.some ? malloc(j->in.len + 1) : NULL;
	if (j->order.some && !asked)
		return -ENOMEM;
	if (j->in.len)
		memcpy(asked, j->in.data, j->in.len);
	int rc = work_marks(&j->order.place, asked, j->in.len / sizeof(*asked), &j->ahead, &j->last, &j->reply.err);
	if (!rc)
		wire_put_heap(&j->out, &j->last);
	return rc;
}

static int compare(struct job *j)
{
	struct cursor c = cursor_over(j->in.data, j->in.len);
	struct boehm_heap heap = { 0 };
	struct recorded recorded = { 0 };
	struct unknown unknown = { 0 };
	int rc = wire_take_heap(&c, &heap);
	rc = rc ?: wire_take_recorded(&c, &recorded);
	rc = rc ?: wire_take_unknown(&c, &unknown);
	if (!rc) {
		const struct buf copy = { .data = (uint8_t *)(uintptr_t)c.at, .len = cursor_left(&c) };
		const struct heapreader_question q = { j->order.copy_len ? &copy : NULL, &heap, &recorded, j->order.most };
		rc = work_compare(&j->order.place, &q, &unknown);
	}
	if (!rc)
		wire_put_unknown(&j->out, &unknown);
	boehm_heap_free(&heap);
	recorded_free(&recorded);
	unknown_free(&unknown);
	return rc;
}

static int carry_out(struct job *j)
{
	const struct heapreader_place *p = &j->order.place;
	switch (j->order.kind) {
	case ORDER_FIND: return work_find(p->tgid, &j->reply.place, &j->reply.err);
	case ORDER_PROVE: return prove(j);
	case ORDER_HEAP: return read_heap(j);
	case ORDER_MARKS: return read_marks(j);
	case ORDER_COPY: return work_copy(p, &j->last, j->order.most, &j->out);
	case ORDER_COUNT: return work_count(p, &j->reply.gc_no);
	case ORDER_COMPARE: return compare(j);
	default: return -EPROTO;
	}
}

/* Buffers are kept, because faulting in fresh memory takes as long as filling it; large ones are freed. */
static void empty(struct buf *b)
{
	if (b->cap > ORDER_KEPT_MAX || b->failed)
		buf_free(b);
	else
		buf_reset(b);
}

static void serve(const struct order_line *line)
{
	static struct job j; /* too large for the stack */
	while (!order_receive(line, &j.order.head, sizeof(j.order), &j.in)) {
		uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		j.reply = (struct order_reply){ 0 };
		j.reply.rc = carry_out(&j);
		j.reply.spent_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
		if (order_send(line, &j.reply.head, sizeof(j.reply), &j.out))
			break;
		empty(&j.in);
		empty(&j.out);
	}
}

/* --- the process -------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Inherited BPF links would keep the probes attached, and an inherited pipe end would keep its reader waiting. */
static void keep_only(int *kept, size_t cnt)
{
	unsigned int from = STDERR_FILENO + 1;
	int null = open("/dev/null", O_RDWR);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	qsort(kept, cnt, sizeof(*kept), by_number);
	for (size_t i = 0; i < cnt; from = (unsigned)kept[i++] + 1)
		close_range(from, (unsigned)kept[i] - 1, 0);
	close_range(from, ~0u, 0);
}

static void be_worker(const struct broker *b, const struct order_line *line, pid_t recording) __attribute__((noreturn));
static void be_worker(const struct broker *b, const struct order_line *line, pid_t recording)
{
	int kept[] = { b->sock, line->sock, line->file };
	struct err err;
	prctl(PR_SET_NAME, "alys-heapreader");
	keep_only(kept, 3);
	if (!worker_confine(recording, &err))
		serve(line);
	_exit(EXIT_OK);
}

int worker_start(struct broker *b, struct order_line *line, struct err *err)
{
	pid_t self = getpid();
	struct order_line ends[2];
	*b = (struct broker){ .writable = -1, .records = true };
	int rc = order_lines(ends);
	if (rc)
		return err_set(err, -rc, "cannot begin a reader of heaps: %s", strerror(-rc));
	broker_choose_user(b);
	rc = broker_split(b, err);
	if (!b->pid && rc)
		_exit(EXIT_ERROR);
	if (!b->pid)
		be_worker(b, &ends[1], self);
	close(ends[1].sock);
	*line = ends[0];
	if (!rc)
		return 0;
	order_line_close(line);
	broker_end(b);
	return rc;
}
