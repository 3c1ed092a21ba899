/* SPDX-License-Identifier: Apache-2.0 */
/* intake/ring: see ring.h. */
#include "intake/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "alys.h"

/* The programs look at each record how much room there is, and should find that in their cache. */
#define TELL_SZ 4096

int ring_open(struct ring *r, int map_fd, uint64_t size)
{
	void *at = mmap(NULL, ALYS_RING_SZ(size), PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	*r = (struct ring){ 0 };
	if (at == MAP_FAILED)
		return -errno;
	*r = (struct ring){ .at = at, .size = size };
	r->read = r->at->read;
	return 0;
}

void ring_close(struct ring *r)
{
	if (r->at)
		munmap(r->at, ALYS_RING_SZ(r->size));
	r->at = NULL;
}

static unsigned char *entry(const struct ring *r)
{
	return r->at->bytes + (r->read & (r->size - 1));
}

static uint32_t size_at(const struct ring *r)
{
	uint32_t n = __atomic_load_n((uint32_t *)entry(r), __ATOMIC_ACQUIRE);
	return n < ALYS_RECORD_MAX ? n : ALYS_RECORD_MAX;
}

const void *ring_front(const struct ring *r, size_t *size)
{
	*size = size_at(r);
	return *size ? entry(r) + sizeof(uint64_t) : NULL;
}

void ring_pass(struct ring *r)
{
	uint64_t n = ALYS_RING_ENTRY(size_at(r));
	memset(entry(r), 0, n);
	r->read += n;
	if (r->read - r->at->read >= TELL_SZ)
		ring_tell(r);
}

void ring_tell(struct ring *r)
{
	__atomic_store_n(&r->at->read, r->read, __ATOMIC_RELEASE);
}

void ring_reset(struct ring *r)
{
	memset(r->at->bytes, 0, r->size + ALYS_RING_MORE);
	r->read = r->at->written;
	ring_tell(r);
}

int ring_keep(const struct ring *r)
{
	return madvise(r->at, ALYS_RING_SZ(r->size), MADV_DONTFORK) ? -errno : 0;
}

uint64_t ring_unread(const struct ring *r)
{
	return __atomic_load_n(&r->at->written, __ATOMIC_ACQUIRE) - r->read;
}
