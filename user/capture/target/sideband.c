/* SPDX-License-Identifier: Apache-2.0 */
/* target/sideband: see sideband.h. */
#include "target/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/vec.h"
#include "target/translator.h"

#define DATA_PAGES 32
#define PAGE ((size_t)4096)
#define DATA_SZ (DATA_PAGES * PAGE)

/* One CPU's records. */
struct lane {
	int fd;
	struct perf_event_mmap_page *head; /* DATA_SZ bytes of records follow this page */
};

struct sideband {
	struct sideband_ops ops;
	struct lane *lanes;
	size_t lanes_cnt, lanes_cap;
	int epoll;
	bool reading;
};

/* 1: added; 0: no such CPU now; or -errno. */
static int add_lane(struct sideband *n, int cpu)
{
	int fd = rights_mappings(cpu);
	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;
	void *at = mmap(NULL, PAGE + DATA_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct lane *l = at == MAP_FAILED ? NULL : VEC_PUSH(n, lanes);
	if (!l) {
		int code = at == MAP_FAILED ? errno : ENOMEM;
		if (at != MAP_FAILED)
			munmap(at, PAGE + DATA_SZ);
		close(fd);
		return -code;
	}
	*l = (struct lane){ .fd = fd, .head = at };
	struct epoll_event e = { .events = EPOLLIN };
	return epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 1;
}

struct sideband *sideband_open(const struct sideband_ops *ops, struct err *err)
{
	struct sideband *n = calloc(1, sizeof(*n));
	if (!n) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	n->ops = *ops;
	n->epoll = epoll_create1(EPOLL_CLOEXEC);
	int rc = n->epoll < 0 ? -errno : 0;
	for (int cpu = 0; rc >= 0 && cpu < get_nprocs_conf(); cpu++)
		rc = add_lane(n, cpu);
	if (rc >= 0)
		return n;
	err_set(err, -rc, "the kernel does not report mappings: %s", strerror(-rc));
	sideband_close(n);
	return NULL;
}

void sideband_close(struct sideband *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->lanes_cnt; i++) {
		munmap(n->lanes[i].head, PAGE + DATA_SZ);
		close(n->lanes[i].fd);
	}
	if (n->epoll >= 0)
		close(n->epoll);
	free(n->lanes);
	free(n);
}

int sideband_fd(const struct sideband *n)
{
	return n->epoll;
}

/* n bytes at `at` of a lane's ring. */
static void copy_out(const struct lane *l, uint64_t at, void *dst, size_t n)
{
	const char *data = (const char *)l->head + PAGE;
	size_t off = at % DATA_SZ, first = n < DATA_SZ - off ? n : DATA_SZ - off;
	memcpy(dst, data + off, first);
	memcpy((char *)dst + first, data, n - first);
}

/* PERF_RECORD_MMAP2, linux/perf_event.h. The time is at its end. */
struct mmap_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char path[];
};

static void give_mapping(struct sideband *n, const struct mmap_record *m)
{
	uint64_t time;
	size_t rest = m->h.size - sizeof(*m);
	if (m->h.size < sizeof(*m) + sizeof(time) || !memchr(m->path, 0, rest - sizeof(time)))
		return;
	memcpy(&time, (const char *)m + m->h.size - sizeof(time), sizeof(time));
	const struct report report = {
		.tgid = m->pid,
		.time_ns = time,
		.line = { .start = m->addr,
			  .end = m->addr + m->len,
			  .offset = m->pgoff,
			  .dev = makedev(m->maj, m->min),
			  .ino = m->ino,
			  .readable = true,
			  .exec = true,
			  .past = true,
			  .path = m->path },
	};
	const char *translator = translator_by_file(m->path);
	if (translator)
		n->ops.on_translator(n->ops.ctx, m->pid, translator);
	n->ops.on_mapped(n->ops.ctx, &report);
}

static void read_lane(struct sideband *n, struct lane *l)
{
	static _Alignas(8) char record[UINT16_MAX + 1]; /* records are read by one thread only */
	const struct perf_event_header *h = (const void *)record;
	uint64_t head = __atomic_load_n(&l->head->data_head, __ATOMIC_ACQUIRE), tail = l->head->data_tail;
	while (head - tail >= sizeof(*h)) {
		copy_out(l, tail, record, sizeof(*h));
		if (h->size < sizeof(*h))
			break;
		copy_out(l, tail, record, h->size);
		if (h->type == PERF_RECORD_MMAP2)
			give_mapping(n, (const void *)record);
		else if (h->type == PERF_RECORD_LOST)
			n->ops.on_lost(n->ops.ctx);
		tail += h->size;
	}
	__atomic_store_n(&l->head->data_tail, head, __ATOMIC_RELEASE);
}

/* on_translator may call this again, since it inspects the process, which reads reports first. */
void sideband_read(struct sideband *n)
{
	if (n->reading)
		return;
	n->reading = true;
	for (size_t i = 0; i < n->lanes_cnt; i++)
		read_lane(n, &n->lanes[i]);
	n->reading = false;
}
