/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/malloc_proof: see prove.h. */
#include "glibc/malloc_proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "glibc/sums.h"
#include "helper/child.h"
#include "helper/helper.h"
#include "helper/mallocfill.h"

struct proving {
	const struct glibc_process *of;
	struct helper helper;
	struct mallocfill_truth truth;
	struct mallocfill_block *blocks;
};

static int receive_truth(struct proving *p, struct err *err)
{
	int rc = helper_read_all(&p->helper, &p->truth, sizeof(p->truth), err);
	if (!rc && (!p->truth.blocks || p->truth.blocks > MALLOCFILL_MAX))
		return err_set(err, EPROTO, "the helper could not allocate");
	p->blocks = rc ? NULL : calloc(p->truth.blocks, sizeof(*p->blocks));
	if (!rc && !p->blocks)
		return err_set(err, ENOMEM, "out of memory");
	return rc ?: helper_read_all(&p->helper, p->blocks, p->truth.blocks * sizeof(*p->blocks), err);
}

static int compare_number(const char *what, uint64_t read, uint64_t says, struct err *err)
{
	if (read == says)
		return 0;
	return err_set(err, EILSEQ, "%s is %" PRIu64 " as read, %" PRIu64 " as the library says", what, read, says);
}

/* What threads' caches hold counts as in use there. */
static int compare_totals(const struct proving *p, const struct glibc_heap *h, struct err *err)
{
	const struct mallocfill_truth *t = &p->truth;
	struct glibc_sums s;
	glibc_sums_take(h, ALL_ARENAS, NULL, &s);
	int rc = compare_number("the size of its arenas", s.arena_bytes, t->arena, err);
	rc = rc ?: compare_number("memory in fastbins", s.of[CHUNK_FASTBIN].bytes, t->fastbins, err);
	rc = rc ?: compare_number("the top chunk", s.of[CHUNK_TOP].bytes, t->top, err);
	rc = rc ?: compare_number("free memory", glibc_sums_free(&s) - s.of[CHUNK_TCACHE].bytes, t->free, err);
	rc = rc ?: compare_number("the number of mmapped chunks", s.mapped.cnt, t->mapped_cnt, err);
	return rc ?: compare_number("memory of mmapped chunks", s.mapped.bytes, t->mapped, err);
}

static const struct glibc_chunk *chunk_of(const struct glibc_heap *h, uint64_t block)
{
	const struct glibc_chunk *c = glibc_chunk_at(h, block - CHUNK_HEADER);
	for (size_t i = 0; !c && i < h->mapped_cnt; i++)
		c = h->mapped[i].chunk.addr + CHUNK_HEADER == block ? &h->mapped[i].chunk : NULL;
	return c;
}

static int compare_block(const struct glibc_heap *h, const struct mallocfill_block *b, struct err *err)
{
	const struct glibc_chunk *c = chunk_of(h, b->addr);
	bool mapped = c && !glibc_chunk_at(h, c->addr);
	uint64_t usable = !c || c->state != CHUNK_USED ? 0 : glibc_usable(c) - (mapped ? CHUNK_OVERHEAD : 0);
	return compare_number("what a block may use", usable, b->usable, err);
}

static int compare_heap(struct proving *p, struct glibc_process *theirs, struct err *err)
{
	struct glibc_heap h;
	int rc = glibc_read(theirs, &h, true, err);
	if (rc)
		return rc == -EILSEQ ? rc : -EBUSY;
	if (glibc_heap_settle(&h, &theirs->layout))
		rc = err_set(err, EILSEQ, "its lists do not fit its chunks: %s", h.first_odd.text);
	rc = rc ?: compare_totals(p, &h, err);
	for (size_t i = 0; !rc && i < p->truth.blocks; i++)
		rc = compare_block(&h, &p->blocks[i], err);
	glibc_heap_free(&h);
	return rc;
}

/* -EILSEQ: it was tried, and is wrong. */
static int compare(struct proving *p, struct err *err)
{
	struct glibc_process theirs;
	int rc = glibc_find(&theirs, (uint32_t)p->helper.pid, err);
	if (rc)
		return rc;
	if (theirs.dev != p->of->dev || theirs.ino != p->of->ino)
		rc = err_set(err, ENOENT, "the helper has mapped another file");
	else if (theirs.layout.bins != p->of->layout.bins)
		rc = err_set(err, EILSEQ, "the helper's arenas have another layout");
	rc = rc
		     ?: compare_number("the place of the main arena", p->of->layout.main_arena - p->of->bias,
				       theirs.layout.main_arena - theirs.bias, err);
	rc = rc ?: compare_heap(p, &theirs, err);
	glibc_close(&theirs);
	return rc;
}

static int run(struct proving *p, struct err *err)
{
	int rc = helper_check(p->of->fd, elf_is_program(p->of->elf), err);
	rc = rc ?: helper_start(&p->helper, CHILD_MALLOC, p->of->fd, err);
	rc = rc ?: helper_await(&p->helper, err);
	rc = rc ?: receive_truth(p, err);
	return rc ?: compare(p, err);
}

void glibc_proof_text(const struct glibc_process *p, struct buf *out)
{
	if (p->proven_blocks) {
		buf_addf(out, "proven: %" PRIu64 " blocks in a helper process read as the library answers", p->proven_blocks);
		return;
	}
	buf_adds(out, p->doubt.code == EILSEQ ? "proven wrong: " : "not proven: ");
	text_clean(out, p->doubt.text, 240);
}

int glibc_prove(struct glibc_process *p, struct err *err)
{
	struct proving proving = { .of = p, .helper = { .go = -1, .out = -1 } };
	struct buf text = { 0 };
	p->doubt = (struct err){ 0 };
	int rc = run(&proving, &p->doubt);
	helper_end(&proving.helper);
	free(proving.blocks);
	p->doubt.code = rc ? -rc : 0;
	p->proven_blocks = rc ? 0 : proving.truth.blocks;
	if (rc != -EILSEQ)
		return 0;
	glibc_proof_text(p, &text);
	rc = err_set(err, ENOTSUP, "process %u (%s): the layout found in %s is rejected, %s", p->memory.tgid, p->place.comm,
		     p->file, buf_str(&text));
	buf_free(&text);
	return rc;
}
