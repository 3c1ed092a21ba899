/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_blocks: see malloc_blocks.h. */
#include "mallocview/malloc_blocks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "glibc/classes.h"
#include "heapview/heap_process.h"
#include "mallocview/malloc_reading.h"
#include "sink/output.h"

#define BYTES_MAX (256u << 20) /* eleven million blocks */
#define NAME_MAX_SZ 4096
#define CLASSES_MAX (1u << 18)
#define READINGS_AGREE 4

/* Stands at the end, behind the blocks and the names of classes, each with a zero byte. */
struct trailer {
	uint64_t blocks, classes, names_sz, read_ns, odd, frozen_ns;
};

/* --- the reading process ---------------------------------------------------------------------------- */

struct handing {
	struct sink_out *out;
	struct trailer trailer;
};

static bool is_used(const struct glibc_heap *h, uint64_t chunk)
{
	const struct glibc_chunk *c = glibc_chunk_at(h, chunk);
	if (c)
		return c->state == CHUNK_USED;
	for (size_t i = 0; i < h->mapped_cnt; i++) {
		if (h->mapped[i].chunk.addr == chunk)
			return true;
	}
	return false;
}

static int put_block(void *ctx, uint64_t addr, uint64_t bytes, size_t class)
{
	struct handing *h = ctx;
	const struct malloc_block b = { addr, bytes, class };
	h->trailer.blocks++;
	return h->out->write(h->out->ctx, &b, sizeof(b));
}

static int put_names(struct handing *h, const struct glibc_classes *c)
{
	int rc = 0;
	for (size_t i = 0; i < c->all_cnt && !rc; i++) {
		struct buf name = { 0 };
		glibc_class_text(&c->all[i], &name);
		size_t n = strnlen(buf_str(&name), NAME_MAX_SZ - 1);
		rc = name.failed ? -ENOMEM : h->out->write(h->out->ctx, buf_str(&name), n);
		rc = rc ?: h->out->write(h->out->ctx, "", 1);
		h->trailer.names_sz += n + 1;
		buf_free(&name);
	}
	h->trailer.classes = c->all_cnt;
	return rc ?: h->out->write(h->out->ctx, &h->trailer, sizeof(h->trailer));
}

static int put_all(struct handing *h, struct malloc_reading *r)
{
	struct glibc_classes c;
	int rc = glibc_classes_each(&r->process.memory, &r->process.space, &r->heap, put_block, h, &c);
	if (rc)
		return rc;
	rc = put_names(h, &c);
	glibc_classes_free(&c);
	return rc;
}

static void keep_common(struct glibc_heap *h, const struct glibc_heap *again)
{
	for (size_t i = 0; i < h->chunks_cnt; i++) {
		struct glibc_chunk *c = &h->chunks[i];
		if (c->state == CHUNK_USED && !is_used(again, c->addr))
			c->state = CHUNK_FREE;
	}
	for (size_t i = 0; i < h->mapped_cnt; i++) {
		struct glibc_chunk *c = &h->mapped[i].chunk;
		if (!is_used(again, c->addr))
			c->state = CHUNK_FREE;
	}
}

/*
 * Free chunks that move from one list to another while they are read look like blocks in use, and so do all in a thread's cache
 * that changed just then. Unless the process stands still, a block counts that is in use in several readings.
 */
static int read_again(struct malloc_reading *r, const struct malloc_how *how, struct err *err)
{
	int rc = 0;
	for (int i = 1; i < READINGS_AGREE && !how->freeze && !rc; i++) {
		struct malloc_reading again;
		rc = malloc_reading_take(&again, how, NULL, NULL, err);
		if (rc)
			break;
		keep_common(&r->heap, &again.heap);
		malloc_reading_free(&again);
	}
	return rc;
}

static int read_blocks(const struct malloc_how *how, struct sink_out *out, struct err *err)
{
	struct malloc_reading r;
	struct handing h = { .out = out };
	int rc = malloc_reading_take(&r, how, NULL, NULL, err);
	if (rc)
		return rc;
	rc = read_again(&r, how, err);
	h.trailer.odd = r.heap.odd;
	h.trailer.frozen_ns = r.frozen_ns;
	h.trailer.read_ns = now_ns();
	if (!rc && (rc = put_all(&h, &r)))
		err_set(err, -rc, "process %u: its blocks cannot be handed over: %s", how->tgid, strerror(-rc));
	malloc_reading_free(&r);
	return rc;
}

static int read_without_rights(const struct malloc_how *how, struct err *err)
{
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	struct reader reader = { 0 };
	int status = EXIT_ERROR;
	if (reader_split(&reader, how->tgid, how->freeze, &status, err))
		return status;
	return output_finish(&dst, read_blocks(how, &out, err), err) ? EXIT_ERROR : EXIT_OK;
}

/* Inherited links would keep the recording's probes attached. */
static void be_reader(int fd, const struct malloc_how *how, pid_t recording) __attribute__((noreturn));
static void be_reader(int fd, const struct malloc_how *how, pid_t recording)
{
	const struct rlimit most = { BYTES_MAX, BYTES_MAX };
	struct err err = { 0 };
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recording)
		_exit(EXIT_ERROR);
	dup2(fd, STDOUT_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &most);
	int status = read_without_rights(how, &err);
	if (status != EXIT_OK && *err.text)
		log_err("%s", err.text);
	_exit(status);
}

int malloc_blocks_begin(struct malloc_blocks *b, const struct malloc_how *how, struct err *err)
{
	pid_t self = getpid();
	*b = (struct malloc_blocks){ .fd = memfd_create("blocks", MFD_CLOEXEC) };
	if (b->fd < 0)
		return err_set(err, errno, "memfd_create: %s", strerror(errno));
	b->pid = fork();
	if (!b->pid)
		be_reader(b->fd, how, self);
	if (b->pid > 0)
		return 0;
	b->pid = 0;
	return err_set(err, errno, "cannot start the reader of a heap: %s", strerror(errno));
}

/* --- what came back --------------------------------------------------------------------------------- */

/* Names end within their bytes; texts of the target are clean already, or else are not taken. */
static int take_names(struct malloc_blocks *b, const char *at, size_t left)
{
	for (size_t i = 0; i < b->classes_cnt; i++) {
		const char *end = memchr(at, 0, left);
		if (!end || end - at >= NAME_MAX_SZ)
			return -EBADMSG;
		b->classes[i] = at;
		left -= (size_t)(end + 1 - at);
		at = end + 1;
	}
	return left ? -EBADMSG : 0;
}

static int take(struct malloc_blocks *b)
{
	struct trailer t;
	if (b->map_sz < sizeof(t))
		return -EBADMSG;
	memcpy(&t, (char *)b->map + b->map_sz - sizeof(t), sizeof(t));
	size_t room = b->map_sz - sizeof(t);
	if (t.names_sz > room || t.blocks != (room - t.names_sz) / sizeof(*b->all) || (room - t.names_sz) % sizeof(*b->all) ||
	    t.classes > CLASSES_MAX)
		return -EBADMSG;
	b->classes = calloc(t.classes + 1, sizeof(*b->classes));
	if (!b->classes)
		return -ENOMEM;
	b->all = b->map;
	b->all_cnt = t.blocks;
	b->classes_cnt = t.classes;
	b->read_ns = t.read_ns;
	b->odd = t.odd;
	b->frozen_ns = t.frozen_ns;
	for (size_t i = 0; i < b->all_cnt; i++) {
		if (b->all[i].class >= t.classes)
			return -EBADMSG;
	}
	return take_names(b, (const char *)b->map + room - t.names_sz, t.names_sz);
}

/* The writer has ended, so that nobody changes it any more. */
static int map(struct malloc_blocks *b)
{
	struct stat st;
	if (fstat(b->fd, &st) || st.st_size <= 0 || st.st_size > BYTES_MAX)
		return -EBADMSG;
	void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, b->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	b->map = at;
	b->map_sz = (size_t)st.st_size;
	return take(b);
}

int malloc_blocks_poll(struct malloc_blocks *b)
{
	int status = 0;
	pid_t got = b->pid ? waitpid(b->pid, &status, WNOHANG) : -1;
	if (!got || (got < 0 && errno == EINTR))
		return 0;
	b->pid = 0;
	if (got < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_OK)
		return -ECHILD;
	return map(b) ?: 1;
}

void malloc_blocks_free(struct malloc_blocks *b)
{
	if (b->pid) {
		kill(b->pid, SIGKILL);
		while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR) {}
	}
	if (b->map)
		munmap(b->map, b->map_sz);
	if (b->fd >= 0)
		close(b->fd);
	free(b->classes);
	*b = (struct malloc_blocks){ .fd = -1 };
}
