/* target/news: see news.h. */
#include "target/news.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/rights.h"
#include "base/vec.h"
#include "target/translator.h"

#define DATA_PAGES 32
#define PAGE ((size_t)4096)
#define DATA_SZ (DATA_PAGES * PAGE)

/* One CPU's records. */
struct lane {
	int fd;
	struct perf_event_mmap_page *head; /* DATA_SZ bytes of records lie behind this page */
};

struct news {
	struct news_ops ops;
	struct lane *lanes;
	size_t lanes_cnt, lanes_cap;
	int epoll;
};

/* 1: taken in; 0: no such CPU now; or -errno. */
static int add_lane(struct news *n, int cpu)
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

struct news *news_open(const struct news_ops *ops, struct err *err)
{
	struct news *n = calloc(1, sizeof(*n));
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
	err_set(err, -rc, "the kernel does not tell what processes map: %s", strerror(-rc));
	news_close(n);
	return NULL;
}

void news_close(struct news *n)
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

int news_fd(const struct news *n)
{
	return n->epoll;
}

/* n bytes at `at` of a lane, which is a ring. */
static void copy_out(const struct lane *l, uint64_t at, void *dst, size_t n)
{
	const char *data = (const char *)l->head + PAGE;
	size_t off = at % DATA_SZ, first = n < DATA_SZ - off ? n : DATA_SZ - off;
	memcpy(dst, data + off, first);
	memcpy((char *)dst + first, data, n - first);
}

/* PERF_RECORD_MMAP2, see perf_event_open(2): the path is behind what follows the two numbers. */
#define MMAP2_PATH 72

static void look_at_path(struct news *n, const struct lane *l, uint64_t at, size_t size, uint32_t tgid)
{
	char path[512];
	size_t len = size > MMAP2_PATH ? size - MMAP2_PATH : 0;
	/* The last part of it tells. */
	size_t skip = len > sizeof(path) - 1 ? len - (sizeof(path) - 1) : 0;
	copy_out(l, at + MMAP2_PATH + skip, path, len - skip);
	path[len - skip] = 0;
	const char *name = translator_by_file(path);
	if (name)
		n->ops.on_translator(n->ops.ctx, tgid, name);
}

static void read_lane(struct news *n, struct lane *l)
{
	uint64_t head = __atomic_load_n(&l->head->data_head, __ATOMIC_ACQUIRE), tail = l->head->data_tail;
	uint32_t last = 0;
	struct {
		struct perf_event_header h;
		uint32_t pid;
	} record;
	while (head - tail >= sizeof(record)) {
		copy_out(l, tail, &record, sizeof(record));
		if (record.h.type == PERF_RECORD_MMAP2)
			look_at_path(n, l, tail, record.h.size, record.pid);
		/* A process maps several files in a row. */
		if (record.h.type == PERF_RECORD_MMAP2 && record.pid != last)
			n->ops.on_mapped(n->ops.ctx, last = record.pid);
		else if (record.h.type == PERF_RECORD_LOST)
			n->ops.on_lost(n->ops.ctx);
		if (record.h.size < sizeof(record.h))
			break;
		tail += record.h.size;
	}
	__atomic_store_n(&l->head->data_tail, head, __ATOMIC_RELEASE);
}

void news_read(struct news *n)
{
	for (size_t i = 0; i < n->lanes_cnt; i++)
		read_lane(n, &n->lanes[i]);
}
