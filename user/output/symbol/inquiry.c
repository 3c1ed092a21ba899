/* SPDX-License-Identifier: Apache-2.0 */
/* symbol/inquiry: see inquiry.h. */
#include "symbol/inquiry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocators/allocators.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/text.h"
#include "base/vec.h"
#include "dwarf/packet.h"
#include "dwarf/source_lines.h"
#include "dwarf/worker.h"
#include "sandbox/jail.h"
#include "symbol/locate.h"

#define SECOND_NS 1000000000ull
#define TIMEOUT_MS 5000
#define LIFE_NS ((JAIL_SECONDS + 5) * SECOND_NS) /* longer-lived ones sleep: the CPU limit ends others */
#define WANTS_MAX 16
#define TEXTS_SZ_MAX(q) ((64ull << 20) + 1024ull * (q)->pcs_cnt)
#define FRAMES_MAX (4u << 20) /* from here on inlined calls are omitted, to limit our memory */

/*
 * What each worker in turn is asked for, when the one before died. The second one gets single addresses, so that the
 * one that kills it is known and skipped; the last one reads no DWARF.
 */
static const struct {
	enum symbol_depth depth;
	size_t batch;
} turns[] = {
	{ SYMBOL_DEPTH_FULL, PACKET_ASK_MAX },
	{ SYMBOL_DEPTH_FULL, 1 },
	{ SYMBOL_DEPTH_FULL, PACKET_ASK_MAX },
	{ SYMBOL_DEPTH_NAME, PACKET_ASK_MAX },
};
#define TURNS (sizeof(turns) / sizeof(*turns))

static void say_problem(const struct inquiry *q, const char *why)
{
	struct buf path = { 0 };
	text_clean(&path, q->file->path, SIZE_MAX);
	if (q->config->problem)
		q->config->problem(q->config->ctx, buf_str(&path), why);
	buf_free(&path);
}

void inquiry_note_owners(const struct catalog *c, struct module_id module, struct symbol *symbols, size_t n)
{
	const struct module *m = catalog_module(c, module);
	for (size_t i = 0; i < n; i++) {
		const struct alloc_frame f = { symbols[i].name, symbols[i].file, m ? m->path : NULL };
		symbols[i].owner = alloc_has_frame(&f) ? SYMBOL_OWNER_ALLOCATOR : SYMBOL_OWNER_PROGRAM;
	}
}

static int put(struct inquiry *q, struct symbol *symbols, size_t n)
{
	uint64_t pc = q->pcs[q->answered++];
	bool known = q->config->improve || q->config->replace;
	const struct symbols *old = known ? catalog_symbols(q->catalog, q->module, pc) : NULL;
	if (old && old->n && old->at[old->n - 1].quality > symbols[n - 1].quality)
		return 0;
	inquiry_note_owners(q->catalog, q->module, symbols, n);
	return catalog_put_symbols(q->catalog, q->module, pc, &(struct symbols){ .n = n, .at = symbols });
}

static int leave_unanswered(struct inquiry *q)
{
	struct symbol none = { .quality = SYMBOL_MODULE };
	q->troubles[INQUIRY_UNANSWERED]++;
	return put(q, &none, 1);
}

static int give_up(struct inquiry *q)
{
	int rc = 0;
	inquiry_end(q);
	q->over = true;
	while (!rc && q->answered < q->pcs_cnt)
		rc = leave_unanswered(q);
	return rc;
}

static void forget_worker(struct inquiry *q)
{
	spawn_end(&q->worker);
	q->ready = false;
	q->wants = 0;
	q->sent = q->answered;
	q->texts_cnt = 0;
	q->texts_sz = 0;
}

static int send_open(struct inquiry *q)
{
	struct buf out = { 0 };
	enum symbol_depth depth = turns[q->starts - 1].depth;
	buf_u8(&out, PACKET_OPEN);
	buf_u8(&out, q->file->perf_map);
	buf_u8(&out, q->config->depth < depth ? q->config->depth : depth);
	buf_u8(&out, q->config->raw_names);
	buf_varint(&out, q->config->memory >> 20);
	int rc = packet_send(q->worker.sock, &out, q->file->fd);
	buf_free(&out);
	return rc;
}

static int start_next(struct inquiry *q)
{
	int rc = spawn_worker(&q->worker, q->config->worker, worker_name);
	q->starts++;
	q->heard_ns = q->started_ns = now_ns();
	/* If sending fails, the worker has ended already, which is noticed at the next receive. */
	if (!rc)
		send_open(q);
	if (!rc)
		return 0;
	struct buf why = { 0 };
	buf_addf(&why, "cannot start a worker process: %s", strerror(-rc));
	say_problem(q, buf_str(&why));
	buf_free(&why);
	return give_up(q);
}

static int suffer(struct inquiry *q, enum inquiry_trouble t)
{
	static const char *const words[] = {
		[INQUIRY_DIED] = "the worker that read it ended early",
		[INQUIRY_SILENT] = "the worker that read it did not answer in time",
		[INQUIRY_LIED] = "the worker that read it gave impossible answers",
	};
	int rc = 0;
	q->troubles[t]++;
	say_problem(q, words[t]);
	if (q->ready && turns[q->starts - 1].batch == 1 && q->answered < q->pcs_cnt)
		rc = leave_unanswered(q);
	forget_worker(q);
	if (rc || q->starts >= TURNS)
		return rc ? rc : give_up(q);
	return start_next(q);
}

/* Up to two batches are under way: one is being answered, one is waiting. The socket buffer has room for both. */
static int ask_more(struct inquiry *q)
{
	size_t batch = turns[q->starts - 1].batch;
	struct buf out = { 0 };
	int rc = 0;
	while (!rc && q->sent < q->pcs_cnt && q->sent - q->answered <= batch) {
		buf_reset(&out);
		buf_u8(&out, PACKET_ASK);
		for (size_t i = 0; i < batch && q->sent < q->pcs_cnt; i++)
			buf_le(&out, q->pcs[q->sent++], 8);
		rc = packet_send(q->worker.sock, &out, -1);
	}
	buf_free(&out);
	return rc == -ENOMEM ? rc : rc == -EAGAIN ? -EBADMSG : 0;
}

static bool give_wanted(struct inquiry *q, struct cursor *c)
{
	struct want *w = calloc(1, sizeof(*w));
	struct buf out = { 0 };
	bool honest = false;
	if (w) {
		w->kind = cursor_u8(c);
		w->id_sz = cursor_varint(c);
		const void *id = w->id_sz <= WANT_ID_MAX ? cursor_bytes(c, w->id_sz) : NULL;
		cursor_lenstr(c, w->name, sizeof(w->name));
		honest = id && !c->bad && ++q->wants <= WANTS_MAX;
		if (honest)
			memcpy(w->id, id, w->id_sz);
	}
	if (honest) {
		const struct symbolizer_config *cfg = q->config;
		int fd = w->kind == WANT_NETWORK ? (cfg->fetch ? cfg->fetch(cfg->ctx, w->id, w->id_sz) : -1)
						 : locate_debug(w, q->file->fd, q->file->path);
		buf_u8(&out, PACKET_FILE);
		packet_send(q->worker.sock, &out, fd);
		if (fd >= 0)
			close(fd);
	}
	buf_free(&out);
	free(w);
	return honest;
}

static bool take_text(struct inquiry *q, struct cursor *c)
{
	char text[PACKET_TEXT_MAX + 1];
	size_t n = cursor_varint(c);
	const void *bytes = n <= PACKET_TEXT_MAX ? cursor_bytes(c, n) : NULL;
	q->texts_sz += n;
	const char **place = bytes && q->texts_sz <= TEXTS_SZ_MAX(q) ? VEC_PUSH(q, texts) : NULL;
	if (!place)
		return false;
	memcpy(text, bytes, n);
	text[n] = 0;
	*place = catalog_text(q->catalog, text);
	return *place;
}

static bool take_frame(const struct inquiry *q, struct cursor *c, struct symbol *out)
{
	uint8_t flags = cursor_u8(c);
	uint64_t name = cursor_varint(c), file = cursor_varint(c);
	uint64_t line = cursor_varint(c), column = cursor_varint(c);
	uint8_t quality = flags & 0x7f;
	if (c->bad || quality < SYMBOL_MODULE || quality > SYMBOL_EXACT || name > q->texts_cnt || file > q->texts_cnt ||
	    line > INT32_MAX || column > INT32_MAX || (quality == SYMBOL_TABLE && !name))
		return false;
	*out = (struct symbol){
		.name = name ? q->texts[name - 1] : NULL,
		.file = file ? q->texts[file - 1] : NULL,
		.line = (uint32_t)line,
		.column = (uint32_t)column,
		.quality = quality,
		.inlined = flags >> 7,
	};
	return true;
}

/* 0, -EBADMSG if the answer is invalid, -ENOMEM. */
static int take_answer(struct inquiry *q, struct cursor *c)
{
	struct symbol symbols[SOURCE_DEPTH];
	uint64_t n = cursor_varint(c);
	if (!n || n > SOURCE_DEPTH || q->answered >= q->sent)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++)
		if (!take_frame(q, c, &symbols[i]) || symbols[i].inlined != (i + 1 < n))
			return -EBADMSG;
	q->frames += n;
	size_t first = q->frames > FRAMES_MAX ? n - 1 : 0;
	return put(q, symbols + first, n - first);
}

static int take_answers(struct inquiry *q, struct cursor *c)
{
	int rc = q->ready && cursor_left(c) ? 0 : -EBADMSG;
	while (!rc && cursor_left(c)) {
		switch (cursor_u8(c)) {
		case PACKET_TEXT: rc = take_text(q, c) ? 0 : -EBADMSG; break;
		case PACKET_ANSWER: rc = take_answer(q, c); break;
		default: rc = -EBADMSG;
		}
	}
	return rc;
}

static int refused(struct inquiry *q, struct cursor *c)
{
	char text[256];
	struct buf why = { 0 };
	cursor_lenstr(c, text, sizeof(text));
	text_clean(&why, text, SIZE_MAX);
	say_problem(q, buf_str(&why));
	buf_free(&why);
	return give_up(q);
}

static int take_ready(struct inquiry *q, struct cursor *c)
{
	q->ready = true;
	if (cursor_u8(c)) {
		q->troubles[INQUIRY_LARGE]++;
		say_problem(q, "its debug information takes more memory than a worker may have: no lines");
	}
	return 0;
}

static int take_packet(struct inquiry *q, struct cursor *c)
{
	switch (cursor_u8(c)) {
	case PACKET_READY: return q->ready ? -EBADMSG : take_ready(q, c);
	case PACKET_WANT: return !q->ready && give_wanted(q, c) ? 0 : -EBADMSG;
	case PACKET_ANSWERS: return take_answers(q, c);
	case PACKET_FAILED: return q->ready ? -EBADMSG : refused(q, c);
	}
	return -EBADMSG;
}

int inquiry_begin(struct inquiry *q)
{
	q->worker.sock = -1;
	return start_next(q);
}

int inquiry_receive(struct inquiry *q)
{
	uint8_t bytes[PACKET_MAX];
	int n = packet_receive(q->worker.sock, bytes, NULL);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return suffer(q, n == -EBADMSG ? INQUIRY_LIED : INQUIRY_DIED);
	struct cursor c = cursor_over(bytes, (size_t)n);
	int rc = take_packet(q, &c);
	q->heard_ns = now_ns();
	if (!rc && q->answered == q->pcs_cnt) {
		q->over = true;
		inquiry_end(q);
	}
	if (!rc && !q->over && q->ready)
		rc = ask_more(q);
	return rc == -EBADMSG ? suffer(q, INQUIRY_LIED) : rc;
}

int inquiry_check_time(struct inquiry *q)
{
	uint64_t now = now_ns();
	uint64_t patience_ns = (q->config->patience_ms ?: TIMEOUT_MS) * 1000000ull;
	if (q->over || (now - q->heard_ns < patience_ns && now - q->started_ns < LIFE_NS))
		return 0;
	return suffer(q, INQUIRY_SILENT);
}

void inquiry_extend_deadline(struct inquiry *q, uint64_t waited_ns)
{
	q->heard_ns += waited_ns;
	q->started_ns += waited_ns;
}

void inquiry_end(struct inquiry *q)
{
	spawn_end(&q->worker);
	free(q->texts);
	q->texts = NULL;
	q->texts_cnt = q->texts_cap = 0;
}
