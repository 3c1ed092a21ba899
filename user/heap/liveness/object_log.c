/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/object_log: see object_log.h. */
#include "liveness/object_log.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/vec.h"
#include "marking/recorded.h"
#include "sites/collections.h"

#define OBJECT_LOG_MAX (1u << 18) /* more objects than these lie in most blocks of a heap, so all blocks may be read instead */
#define SWEEPS_UNWANTED 6         /* by then an interested user would have asked for the process */

struct logged_objects {
	struct map times;  /* address -> CLOCK_MONOTONIC, ns */
	uint32_t unwanted; /* sweeps at which the process was unwanted */
};

static struct logged_objects *list_known(const struct object_log *b, uint32_t tgid)
{
	const uint64_t *at = map_get(&b->by_process, tgid);
	return at ? (struct logged_objects *)(uintptr_t)*at : NULL;
}

static struct logged_objects *list_of(struct object_log *b, uint32_t tgid)
{
	uint64_t *at = map_put(&b->by_process, tgid);
	if (at && !*at)
		*at = (uint64_t)(uintptr_t)calloc(1, sizeof(struct logged_objects));
	return at ? (struct logged_objects *)(uintptr_t)*at : NULL;
}

void object_log_free(struct object_log *b)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&b->by_process, &i));) {
		struct logged_objects *l = (struct logged_objects *)(uintptr_t)s->value;
		if (l)
			map_free(&l->times);
		free(l);
	}
	map_free(&b->by_process);
	*b = (struct object_log){ .lost = true };
}

void object_log_add(struct object_log *b, uint32_t tgid, uint64_t addr, uint64_t time_ns)
{
	struct logged_objects *l = b->lost || b->count >= OBJECT_LOG_MAX ? NULL : list_of(b, tgid);
	size_t before = l ? l->times.count : 0;
	uint64_t *time = l ? map_put(&l->times, addr) : NULL;
	if (!time) {
		object_log_free(b);
		return;
	}
	*time = time_ns;
	b->count += l->times.count - before;
}

void object_log_read(struct object_log *b, const struct probe *p)
{
	struct alys_sampled_object one;
	int got = 0;
	while (!b->lost && (got = probe_next_logged_object(p, &b->at, &one)) > 0)
		object_log_add(b, one.tgid, one.addr, one.time);
	if (got < 0)
		object_log_free(b);
}

static int by_address(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	return *a < *b ? -1 : *a > *b;
}

uint64_t *object_log_of(struct object_log *b, uint32_t tgid, size_t *cnt)
{
	const struct logged_objects *l = b->lost ? NULL : list_known(b, tgid);
	uint64_t *out = b->lost ? NULL : malloc(((l ? l->times.count : 0) + 1) * sizeof(*out));
	const struct map_slot *s;
	*cnt = 0;
	for (size_t i = 0; out && l && (s = map_next(&l->times, &i));)
		out[(*cnt)++] = s->key;
	if (out)
		qsort(out, *cnt, sizeof(*out), by_address);
	return out;
}

bool object_log_is_empty(const struct object_log *b, uint32_t tgid)
{
	const struct logged_objects *l = b->lost ? NULL : list_known(b, tgid);
	return !b->lost && (!l || !l->times.count);
}

/* Drops objects that were allocated before that time and, if h is given, are dead in it. */
static void drop(struct object_log *b, uint32_t tgid, uint64_t before_ns, const struct boehm_heap *h)
{
	size_t cnt;
	uint64_t *addrs = object_log_of(b, tgid, &cnt);
	struct logged_objects *l = addrs ? list_known(b, tgid) : NULL;
	for (size_t i = 0; l && i < cnt; i++) {
		if (*map_get(&l->times, addrs[i]) >= before_ns || (h && !recorded_is_dead(h, addrs[i])))
			continue;
		map_del(&l->times, addrs[i]);
		b->count--;
	}
	free(addrs);
	if (!l || l->times.count)
		return;
	map_free(&l->times);
	free(l);
	map_del(&b->by_process, tgid);
}

void object_log_judge(struct object_log *b, uint32_t tgid, const struct boehm_heap *h, uint64_t begun_ns)
{
	drop(b, tgid, begun_ns, h);
}

void object_log_forget(struct object_log *b, uint32_t tgid, uint64_t time_ns)
{
	drop(b, tgid, time_ns, NULL);
}

static bool has_ended(uint32_t tgid)
{
	return kill((pid_t)tgid, 0) && errno == ESRCH;
}

struct unwanted {
	uint32_t *tgids;
	size_t tgids_cnt, tgids_cap;
};

/* Collected first: the table must not change during iteration. Out of memory: left for the next sweep. */
static void list_unwanted(struct object_log *b, bool (*wanted)(void *ctx, uint32_t tgid), void *ctx, struct unwanted *out)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&b->by_process, &i));) {
		struct logged_objects *l = (struct logged_objects *)(uintptr_t)s->value;
		uint32_t tgid = (uint32_t)s->key, *slot;
		if (!l)
			continue;
		l->unwanted = wanted(ctx, tgid) ? 0 : l->unwanted + 1;
		if (!l->unwanted || (l->unwanted < SWEEPS_UNWANTED && !has_ended(tgid)))
			continue;
		slot = VEC_PUSH(out, tgids);
		if (slot)
			*slot = tgid;
	}
}

/* A process is wanted once its first record is read, which takes less time than SWEEPS_UNWANTED sweeps. */
void object_log_sweep(struct object_log *b, bool (*wanted)(void *ctx, uint32_t tgid), void *ctx, uint64_t now_ns)
{
	struct unwanted u = { 0 };
	uint64_t span = SWEEPS_UNWANTED * OBJECT_LOG_SWEEP_NS, then = now_ns > span ? now_ns - span : 0;
	list_unwanted(b, wanted, ctx, &u);
	for (size_t i = 0; i < u.tgids_cnt; i++)
		drop(b, u.tgids[i], has_ended(u.tgids[i]) ? UINT64_MAX : then, NULL);
	free(u.tgids);
}
