/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace/reader: reads frames from a file that may be truncated or damaged. Head and payload have separate checksums:
 * with a good head, a bad payload can be skipped; without one, the reader searches for the next sync word byte by byte.
 * Uses pread and a buffer, because accessing a mapping of a file that shrinks raises SIGBUS.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/columns.h"
#include "trace/defs.h"
#include "trace/framing.h"

#define WINDOW_SZ (FRAME_RAW_MAX + 2 * FRAME_HEAD_SZ)

struct trace {
	int fd;
	char *name;
	uint64_t size;
	uint32_t frames_at;
	struct trace_health health; /* from the header; the rest is set by the first pass */
	uint8_t *window;            /* window_n bytes of the file at window_at */
	uint64_t window_at;
	size_t window_n;
	int read_error;
	uint8_t *raw; /* FRAME_RAW_MAX bytes */
	ZSTD_DCtx *zstd;
	struct def_scratch *scratch;
};

/* One pass over the frames of a file. */
struct walk {
	struct trace *t;
	uint64_t at;
	uint64_t next_seq;
	struct frame_head head;
	unsigned int want; /* bit n: decompress frames of type n; others are only checked */
	const void *raw;   /* decompressed payload, borrowed until the next step */
	uint64_t bad, skipped, skipped_bytes;
	uint64_t unpacked; /* decompressed bytes of wanted frames */
	uint64_t events;
	int rc;
};

/* n bytes of the file; NULL: there are fewer. */
static const uint8_t *look(struct trace *t, uint64_t at, size_t n)
{
	if (at > t->size || t->size - at < n)
		return NULL;
	if (at >= t->window_at && at - t->window_at <= t->window_n && t->window_n - (at - t->window_at) >= n)
		return t->window + (at - t->window_at);
	t->window_at = at;
	t->window_n = 0;
	while (t->window_n < n) {
		ssize_t got = pread(t->fd, t->window + t->window_n, WINDOW_SZ - t->window_n, (off_t)(at + t->window_n));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			t->read_error = got < 0 ? errno : 0;
			return NULL;
		}
		t->window_n += (size_t)got;
	}
	return t->window;
}

static int open_file(struct trace *t, struct err *err)
{
	struct stat st;
	if (fstat(t->fd, &st))
		return err_set(err, errno, "cannot stat %s: %s", t->name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "%s is not a regular file", t->name);
	if (!st.st_size)
		return err_set(err, EINVAL, "%s is empty", t->name);
	t->size = (uint64_t)st.st_size;
	const uint8_t *bytes = look(t, 0, TRACE_HEADER_SZ);
	if (t->read_error)
		return err_set(err, t->read_error, "cannot read %s: %s", t->name, strerror(t->read_error));
	if (!bytes)
		return err_set(err, EINVAL, "%s is too short for a .alys file", t->name);
	return header_decode(bytes, t->name, &t->health, &t->frames_at, err);
}

struct trace *trace_open(int fd, const char *name, struct err *err)
{
	struct trace *t = calloc(1, sizeof(*t));
	if (t) {
		t->fd = fd;
		t->name = strdup(name);
		t->window = malloc(WINDOW_SZ);
		t->raw = malloc(FRAME_RAW_MAX);
		t->zstd = ZSTD_createDCtx();
		t->scratch = def_scratch_new();
	}
	if (!t || !t->name || !t->window || !t->raw || !t->zstd || !t->scratch) {
		err_set(err, ENOMEM, "%s: out of memory", name);
		if (!t)
			close(fd);
		trace_close(t);
		return NULL;
	}
	if (!open_file(t, err))
		return t;
	trace_close(t);
	return NULL;
}

uint64_t trace_size(const struct trace *t)
{
	return t->size;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	close(t->fd);
	free(t->name);
	free(t->window);
	free(t->raw);
	ZSTD_freeDCtx(t->zstd);
	def_scratch_free(t->scratch);
	free(t);
}

/* Whether a frame begins at `at` whose payload is complete (padding may be cut); fills in the head. */
static bool head_at(struct trace *t, uint64_t at, struct frame_head *h)
{
	const uint8_t *bytes = look(t, at, FRAME_HEAD_SZ);
	return bytes && frame_head_decode(bytes, h) && t->size - at - FRAME_HEAD_SZ >= h->stored_len;
}

/* The first position of a sync word from `at` on, or the end of the file. */
static uint64_t next_sync(struct trace *t, uint64_t at)
{
	static const uint8_t sync[4] = { 0xe7, 0x41, 0x4c, 0x46 };
	while (at < t->size && t->size - at >= FRAME_HEAD_SZ) {
		size_t n = t->size - at < 65536 ? (size_t)(t->size - at) : 65536;
		const uint8_t *bytes = look(t, at, n);
		if (!bytes)
			break;
		const uint8_t *hit = memmem(bytes, n, sync, sizeof(sync));
		if (hit)
			return at + (uint64_t)(hit - bytes);
		at += n - (sizeof(sync) - 1);
	}
	return t->size;
}

/* Advances w->at to a good head, or to the end of the file. */
static bool find_head(struct walk *w)
{
	uint64_t from = w->at;
	while (w->at < w->t->size && !head_at(w->t, w->at, &w->head)) {
		if (w->t->read_error)
			return false;
		w->at = next_sync(w->t, w->at + 1);
	}
	bool found = w->at < w->t->size;
	w->skipped_bytes += w->at - from;
	w->bad += found && w->at != from;
	return found;
}

/* The decompressed payload (if not wanted, as stored), or NULL if it is damaged. */
static const void *unpack(struct walk *w, const uint8_t *stored)
{
	struct trace *t = w->t;
	const struct frame_head *h = &w->head;
	if (!stored || frame_crc(stored, h->stored_len) != h->payload_crc)
		return NULL;
	if (!(w->want & 1u << h->type))
		return stored;
	if (!(h->flags & FRAME_F_ZSTD))
		return h->stored_len == h->raw_len ? stored : NULL;
	size_t n = ZSTD_decompressDCtx(t->zstd, t->raw, h->raw_len, stored, h->stored_len);
	return n == h->raw_len ? t->raw : NULL;
}

/* Checked before decompressing: limits what a small file may expand to. */
static bool is_too_much(struct walk *w)
{
	const struct frame_head *h = &w->head;
	uint64_t most = h->type == FRAME_HEAP ? TRACE_PARTS_MAX(w->t->size) : TRACE_UNPACKED_MAX(w->t->size);
	if (!(w->want & 1u << h->type))
		return false;
	w->unpacked += h->raw_len;
	w->events += h->type == FRAME_EVENTS ? h->count : 0;
	return w->unpacked > most || w->events > TRACE_EVENTS_MAX(w->t->size);
}

static bool known(const struct frame_head *h)
{
	return ((h->type >= FRAME_DEFS && h->type <= FRAME_END) || h->type == FRAME_HEAP) &&
	       !(h->flags & ~(FRAME_F_ZSTD | FRAME_F_OPTIONAL));
}

/* A frame that is duplicated or out of order must not be counted twice. */
static bool in_order(struct walk *w, uint64_t bad_before)
{
	bool ok = w->head.seq >= w->next_seq;
	/* A gap in the sequence numbers is damage, even if no checksum is wrong. */
	if (!ok || (w->head.seq > w->next_seq && w->bad == bad_before))
		w->bad++;
	if (ok)
		w->next_seq = w->head.seq + 1;
	return ok;
}

/* Advances to the next good frame of a known type. False at the end, or on error (w->rc). */
static bool step(struct walk *w)
{
	struct trace *t = w->t;
	uint64_t bad_before = w->bad;
	while (find_head(w)) {
		uint64_t from = w->at, len = FRAME_HEAD_SZ + frame_padded(w->head.stored_len);
		const uint8_t *stored = look(t, w->at + FRAME_HEAD_SZ, w->head.stored_len);
		w->at = t->size - from < len ? t->size : from + len;
		if (t->read_error)
			break;
		bool ordered = in_order(w, bad_before);
		if (ordered && !known(&w->head) && w->head.flags & FRAME_F_OPTIONAL) {
			w->skipped++;
			bad_before = w->bad;
			continue;
		}
		if (ordered && !known(&w->head)) {
			w->rc = -EPROTONOSUPPORT;
			return false;
		}
		if (ordered && is_too_much(w)) {
			w->rc = -E2BIG;
			return false;
		}
		w->raw = ordered ? unpack(w, stored) : NULL;
		if (w->raw)
			return true;
		w->bad += ordered;
		w->skipped_bytes += w->at - from;
	}
	w->rc = -t->read_error;
	return false;
}

static struct walk walk_from_start(struct trace *t, unsigned int want)
{
	t->read_error = 0;
	t->window_n = 0;
	return (struct walk){ .t = t, .at = t->frames_at, .want = want };
}

static int say_end(const struct walk *w, struct err *err)
{
	if (w->rc == -EPROTONOSUPPORT)
		return err_set(err, EPROTONOSUPPORT, "%s contains a required frame of unknown type %u: use a newer alys-bpf",
			       w->t->name, w->head.type);
	if (w->rc == -E2BIG)
		return err_set(err, E2BIG, "%s unpacks to more than any recording of its size does: it is damaged or malicious",
			       w->t->name);
	if (w->rc)
		return err_set(err, -w->rc, "cannot read %s: %s", w->t->name, strerror(-w->rc));
	return 0;
}

int trace_read_catalog(struct trace *t, struct catalog *c, struct trace_health *health, struct err *err)
{
	struct walk w = walk_from_start(t, 1u << FRAME_DEFS);
	*health = t->health;
	health->bytes = t->size;
	while (!health->clean_end && step(&w)) {
		health->frames++;
		health->last_ns = w.head.t_ns;
		int rc = 0;
		if (w.head.type == FRAME_DEFS)
			rc = defs_decode(w.raw, w.head.raw_len, t->scratch, c);
		else if (w.head.type == FRAME_EVENTS)
			health->events += w.head.count;
		else if (w.head.type == FRAME_END)
			health->clean_end = true;
		if (rc == -ENOMEM)
			return err_set(err, ENOMEM, "%s: out of memory", t->name);
		w.bad += rc != 0;
	}
	health->bad_frames = w.bad;
	health->skipped_frames = w.skipped;
	health->skipped_bytes = w.skipped_bytes + (health->clean_end ? t->size - w.at : 0);
	return say_end(&w, err);
}

int trace_each_event(struct trace *t, int (*fn)(void *ctx, const struct event *e), void *ctx, struct err *err)
{
	struct walk w = walk_from_start(t, 1u << FRAME_EVENTS);
	struct column_reader r;
	struct event e;
	while (step(&w) && w.head.type != FRAME_END) {
		if (w.head.type != FRAME_EVENTS || !columns_open(&r, w.raw, w.head.raw_len, w.head.count))
			continue;
		while (columns_next(&r, &e)) {
			int rc = fn(ctx, &e);
			if (rc)
				return rc;
		}
	}
	return say_end(&w, err);
}

int trace_each_part(struct trace *t, int (*fn)(void *ctx, const void *bytes, size_t n), void *ctx, struct err *err)
{
	struct walk w = walk_from_start(t, 1u << FRAME_HEAP);
	while (step(&w) && w.head.type != FRAME_END) {
		int rc = w.head.type == FRAME_HEAP ? fn(ctx, w.raw, w.head.raw_len) : 0;
		if (rc)
			return rc;
	}
	return say_end(&w, err);
}
