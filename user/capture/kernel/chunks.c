/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/chunks: see chunks.h. */
#include "kernel/chunks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/vec.h"

const struct extent *chunks_room(const struct chunks *c, size_t n)
{
	const struct extent *best = NULL;
	for (size_t i = 0; i < c->free_cnt; i++) {
		const struct extent *e = &c->free[i];
		if (!best || (best->n < n ? e->n > best->n : e->n >= n && e->n < best->n))
			best = e;
	}
	return best;
}

struct extent chunks_take(struct chunks *c, const struct extent *from, uint32_t n)
{
	struct extent *e = &c->free[from - c->free];
	struct extent taken = { e->chunk, e->off, n };
	e->off += n;
	e->n -= n;
	if (!e->n) {
		size_t behind = (size_t)(c->free + --c->free_cnt - e);
		memmove(e, e + 1, behind * sizeof(*e));
	}
	return taken;
}

static bool touch(const struct extent *a, const struct extent *b)
{
	return a->chunk == b->chunk && a->off + a->n == b->off;
}

int chunks_give(struct chunks *c, struct extent e)
{
	size_t at = 0;
	while (at < c->free_cnt && (c->free[at].chunk < e.chunk || (c->free[at].chunk == e.chunk && c->free[at].off < e.off)))
		at++;
	bool joins_next = at < c->free_cnt && touch(&e, &c->free[at]);
	bool joins_last = at && touch(&c->free[at - 1], &e);
	if (joins_next) {
		c->free[at].off = e.off;
		c->free[at].n += e.n;
	}
	if (joins_last) {
		c->free[at - 1].n += joins_next ? c->free[at].n : e.n;
		if (joins_next)
			memmove(c->free + at, c->free + at + 1, (--c->free_cnt - at) * sizeof(e));
	}
	if (joins_next || joins_last)
		return 0;
	if (!VEC_PUSH(c, free))
		return -ENOMEM;
	memmove(c->free + at + 1, c->free + at, (c->free_cnt - 1 - at) * sizeof(e));
	c->free[at] = e;
	return 0;
}

static int publish(struct chunks *c, int fd)
{
	uint32_t index = (uint32_t)c->at_cnt;
	void *at = mmap(NULL, sizeof(struct alys_chunk), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	if (bpf_map_update_elem(c->outer, &index, &fd, BPF_ANY)) {
		int rc = errno == E2BIG ? -ENOSPC : -errno;
		munmap(at, sizeof(struct alys_chunk));
		return rc;
	}
	c->fds[c->at_cnt] = fd;
	c->at[c->at_cnt++] = at;
	return chunks_give(c, (struct extent){ index, 0, ALYS_CHUNK_WORDS });
}

int chunks_grow(struct chunks *c)
{
	if (c->at_cnt == c->max)
		return -ENOSPC;
	int fd = rights_array(CHUNK_NAME, sizeof(struct alys_chunk));
	if (fd < 0)
		return fd;
	size_t had = c->at_cnt;
	int rc = publish(c, fd);
	if (c->at_cnt == had)
		close(fd);
	return rc;
}

uint32_t *chunks_words(const struct chunks *c, const struct extent *e)
{
	return c->at[e->chunk]->w + e->off;
}

void chunks_free(struct chunks *c)
{
	for (size_t i = 0; i < c->at_cnt; i++) {
		munmap(c->at[i], sizeof(struct alys_chunk));
		close(c->fds[i]);
	}
	free(c->free);
}
