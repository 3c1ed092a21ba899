/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/worker: see worker.h. One process per file: a malicious file can only falsify its own names. */
#include "dwarf/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/map.h"
#include "dwarf/answer.h"
#include "sandbox/spawn.h"
#include "dwarf/packet.h"
#include "dwarf/perfmap.h"
#include "sandbox/jail.h"

#define ROOM_LEFT (PACKET_MAX - PACKET_TEXT_MAX - 16) /* fill level of a packet up to which another text fits */
#define FRAME_MAX 32                                  /* bytes per frame */

const char worker_name[] = "alys-symbol-worker";

struct worker {
	int sock, fd;
	bool perf_map, raw_names;
	enum symbol_depth depth;
	struct answerer *answerer;
	struct map texts; /* address of a text already sent -> its number */
	struct buf out;
	uint8_t in[PACKET_MAX];
};

static int send_failed(struct worker *w, const struct err *err)
{
	buf_reset(&w->out);
	buf_u8(&w->out, PACKET_FAILED);
	buf_lenstr(&w->out, err->text);
	return packet_send(w->sock, &w->out, -1);
}

static int send_ready(struct worker *w)
{
	buf_reset(&w->out);
	buf_u8(&w->out, PACKET_READY);
	buf_u8(&w->out, w->answerer && answerer_too_large(w->answerer));
	return packet_send(w->sock, &w->out, -1);
}

/* The other side decides which files it opens. */
static int ask_for_file(void *ctx, const struct want *want)
{
	struct worker *w = ctx;
	int fd = -1;
	buf_reset(&w->out);
	buf_u8(&w->out, PACKET_WANT);
	buf_u8(&w->out, (uint8_t)want->kind);
	buf_varint(&w->out, want->id_sz);
	buf_add(&w->out, want->id, want->id_sz);
	buf_lenstr(&w->out, want->name);
	if (packet_send(w->sock, &w->out, -1))
		return -1;
	int n = packet_receive(w->sock, w->in, &fd);
	return n > 0 && w->in[0] == PACKET_FILE ? fd : -1;
}

/* The first packet comes from the parent, which is trusted; privileges are dropped before the file is read. */
static int open_file(struct worker *w, struct err *err)
{
	int n = packet_receive(w->sock, w->in, &w->fd);
	struct cursor c = cursor_over(w->in, n > 0 ? (size_t)n : 0);
	if (cursor_u8(&c) != PACKET_OPEN)
		return err_set(err, EPROTO, "not asked to open a file");
	w->perf_map = cursor_u8(&c);
	w->depth = cursor_u8(&c);
	w->raw_names = cursor_u8(&c);
	uint64_t memory = cursor_varint(&c) << 20;
	if (c.bad || w->fd < 0)
		return err_set(err, EPROTO, "no file was passed");
	int rc = jail_enter(memory, err);
	if (rc || w->perf_map)
		return rc;
	const struct want_source more = { .open = ask_for_file, .ctx = w };
	w->answerer = answerer_new(w->fd, w->depth, w->raw_names, &more, err);
	return w->answerer ? 0 : -EINVAL;
}

static int flush(struct worker *w)
{
	int rc = w->out.len > 1 ? packet_send(w->sock, &w->out, -1) : 0;
	buf_reset(&w->out);
	buf_u8(&w->out, PACKET_ANSWERS);
	return rc;
}

/* Texts stay in place while the file is open, so their address identifies them. */
static int number_of(struct worker *w, const char *text, uint64_t *number)
{
	*number = 0;
	if (!text)
		return 0;
	uint64_t *slot = map_put(&w->texts, (uint64_t)(uintptr_t)text);
	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		int rc = w->out.len > ROOM_LEFT ? flush(w) : 0;
		size_t n = strnlen(text, PACKET_TEXT_MAX);
		buf_u8(&w->out, PACKET_TEXT);
		buf_varint(&w->out, n);
		buf_add(&w->out, text, n);
		*slot = w->texts.count;
		if (rc)
			return rc;
	}
	*number = *slot;
	return 0;
}

static int send_answer(struct worker *w, const struct symbol *symbols, int n)
{
	uint64_t names[SOURCE_DEPTH], files[SOURCE_DEPTH];
	int rc = 0;
	for (int i = 0; !rc && i < n; i++) {
		rc = number_of(w, symbols[i].name, &names[i]);
		if (!rc)
			rc = number_of(w, symbols[i].file, &files[i]);
	}
	if (!rc && w->out.len > PACKET_MAX - FRAME_MAX * (size_t)(n + 1))
		rc = flush(w);
	buf_u8(&w->out, PACKET_ANSWER);
	buf_varint(&w->out, (uint64_t)n);
	for (int i = 0; !rc && i < n; i++) {
		buf_u8(&w->out, (uint8_t)(symbols[i].quality | symbols[i].inlined << 7));
		buf_varint(&w->out, names[i]);
		buf_varint(&w->out, files[i]);
		buf_varint(&w->out, symbols[i].line);
		buf_varint(&w->out, symbols[i].column);
	}
	return rc;
}

static int answer_from_file(struct worker *w, const uint64_t *pcs, size_t n)
{
	struct symbol symbols[SOURCE_DEPTH];
	int rc = 0;
	for (size_t i = 0; !rc && i < n; i++) {
		int found = answerer_find(w->answerer, pcs[i], symbols);
		rc = found < 0 ? found : send_answer(w, symbols, found);
	}
	return rc;
}

/* The symbols' texts are not freed, because texts are identified by address, which could be reused. */
static int answer_from_perf_map(struct worker *w, const uint64_t *pcs, size_t n)
{
	struct symbol *symbols = calloc(n + 1, sizeof(*symbols));
	int rc = symbols ? 0 : -ENOMEM;
	if (!rc)
		perfmap_find(w->fd, pcs, n, symbols);
	for (size_t i = 0; !rc && i < n; i++)
		rc = send_answer(w, &symbols[i], 1);
	free(symbols);
	return rc;
}

static int serve(struct worker *w)
{
	uint64_t pcs[PACKET_ASK_MAX];
	int n;
	while ((n = packet_receive(w->sock, w->in, NULL)) > 0) {
		struct cursor c = cursor_over(w->in, (size_t)n);
		if (cursor_u8(&c) != PACKET_ASK)
			return -EPROTO;
		size_t cnt = 0;
		while (cursor_left(&c) && cnt < PACKET_ASK_MAX)
			pcs[cnt++] = cursor_le(&c, 8);
		buf_reset(&w->out);
		buf_u8(&w->out, PACKET_ANSWERS);
		int rc = w->perf_map ? answer_from_perf_map(w, pcs, cnt) : answer_from_file(w, pcs, cnt);
		if (rc || (rc = flush(w)))
			return rc;
	}
	return n;
}

int worker_main(int sock)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct err err = { 0 };
	if (!w)
		return 1;
	w->sock = sock;
	w->fd = -1;
	if (open_file(w, &err)) {
		send_failed(w, &err);
		return 1;
	}
	return send_ready(w) || serve(w) ? 1 : 0;
}

/*
 * Runs before main, so that nothing of the program has been executed, and the worker has a fresh address space. (A fork
 * without exec would inherit the parent's memory, which may hold other processes' secrets, and count it against the
 * worker's limit.)
 */
__attribute__((constructor)) static void become_worker(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], worker_name))
		_exit(worker_main(WORKER_SOCKET));
}
