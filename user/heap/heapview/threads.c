/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/threads: see threads.h. */
#include "heapview/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/clock.h"
#include "base/vec.h"

#define MARGIN_NS 200000000ull /* time that unfreezing takes */
#define AT_ONCE 64

static int no_threads(uint32_t tgid, int rc, struct err *err)
{
	if (rc == -ESRCH)
		return err_set(err, ESRCH, "process %u has ended", tgid);
	return err_set(err, -rc, "cannot inspect the threads of process %u: %s", tgid, strerror(-rc));
}

static int take_thread(struct threads *t, const struct rights_thread *from)
{
	struct root_thread *to = VEC_PUSH(t, list);
	if (!to || from->registers_cnt > sizeof(to->registers) / sizeof(to->registers[0]))
		return to ? -EPROTO : -ENOMEM;
	*to = (struct root_thread){
		.tid = from->tid, .sp = from->sp, .bottom = from->bottom, .registers_cnt = from->registers_cnt
	};
	memcpy(to->registers, from->registers, sizeof(to->registers));
	return 0;
}

static int take_list(struct threads *t, uint32_t tgid, size_t cnt)
{
	struct rights_thread some[AT_ONCE];
	int rc = 0, n = 1;
	while (!rc && n > 0 && t->list_cnt < cnt) {
		n = rights_threads(tgid, THREADS_LIST, (uint32_t)t->list_cnt, some, AT_ONCE);
		for (int i = 0; i < n && !rc; i++)
			rc = take_thread(t, &some[i]);
	}
	return n < 0 ? n : rc;
}

int threads_look(struct threads *t, uint32_t tgid, struct err *err)
{
	int rc = rights_threads(tgid, THREADS_LOOK, 0, NULL, 0);
	rc = rc < 0 ? rc : take_list(t, tgid, (size_t)rc);
	return rc ? no_threads(tgid, rc, err) : 0;
}

int threads_freeze(struct threads *t, uint32_t tgid, struct err *err)
{
	t->since_ns = now_ns();
	int rc = rights_threads(tgid, THREADS_FREEZE, 0, NULL, 0);
	t->frozen = rc >= 0;
	rc = rc < 0 ? rc : take_list(t, tgid, (size_t)rc);
	if (!rc)
		return 0;
	threads_thaw(t);
	if (rc == -EPERM)
		return err_set(err, EPERM,
			       "cannot freeze process %u: it is being debugged, or we are not root; quit the debugger or try "
			       "without --freeze",
			       tgid);
	if (rc == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT,
			       "cannot freeze process %u: a thread did not stop within a second; resumed; try without --freeze",
			       tgid);
	return no_threads(tgid, rc, err);
}

uint64_t threads_deadline(const struct threads *t)
{
	return t->frozen ? t->since_ns + FREEZE_MAX_NS - MARGIN_NS : 0;
}

uint64_t threads_thaw(struct threads *t)
{
	int us = t->frozen ? rights_threads(0, THREADS_THAW, 0, NULL, 0) : 0;
	t->frozen = false;
	return us > 0 ? (uint64_t)us * 1000 : 0;
}

static bool is_named_marker(uint32_t tid)
{
	char name[32] = "";
	int fd = rights_fact(tid, FACT_COMM);
	bool got = fd >= 0 && read(fd, name, sizeof(name) - 1) > 0;
	if (fd >= 0)
		close(fd);
	return got && !strncmp(name, "GC-marker-", 10);
}

/* A thread's control block (TCB) lies above its stack, in the same mapping, and begins with its own address. */
static bool is_block_of(struct memory *m, uint64_t word, uint64_t sp, const struct space_region *stack)
{
	uint64_t self;
	return word > sp && word < stack->end && !(word & 7) && !memory_read(m, word, &self, sizeof(self)) && self == word;
}

/* A copy of the collector's variables, zero where they cannot be read. NULL: out of memory. */
static uint64_t *copy_variables(struct memory *m, const struct own_places *own, size_t *cnt)
{
	struct rights_range ranges[OWN_VARIABLES_MAX];
	uint64_t total = 0;
	for (size_t i = 0; i < own->variables_cnt; i++) {
		ranges[i] = (struct rights_range){ own->variables[i].start,
						   (own->variables[i].end - own->variables[i].start) & ~7ull };
		total += ranges[i].n;
	}
	uint64_t *words = calloc(total / 8 + 1, 8);
	bool read = words && !memory_read_ranges(m, ranges, own->variables_cnt, words, &(size_t){ 0 });
	*cnt = read ? total / 8 : 0;
	return words;
}

/* The collector keeps handles of its own threads in variables; those of the program's threads are in heap records. */
static bool is_kept(struct memory *m, const uint64_t *words, size_t cnt, uint64_t sp, const struct space_region *stack)
{
	bool kept = false;
	for (size_t i = 0; i < cnt && !kept; i++)
		kept = is_block_of(m, words[i], sp, stack);
	return kept;
}

void threads_flag_markers(struct threads *t, struct memory *m, const struct space *space, const struct own_places *own)
{
	uint64_t *words = NULL;
	size_t cnt = 0;
	for (size_t i = 0; i < t->list_cnt; i++) {
		struct root_thread *at = &t->list[i];
		const struct space_region *stack = at->sp ? space_find(space, at->sp) : NULL;
		at->marker = is_named_marker(at->tid);
		if (at->marker && stack && !words)
			words = copy_variables(m, own, &cnt);
		if (at->marker && stack)
			at->marker = is_kept(m, words, cnt, at->sp, stack);
	}
	free(words);
}

void threads_free(struct threads *t)
{
	threads_thaw(t);
	free(t->list);
	*t = (struct threads){ 0 };
}
