/* SPDX-License-Identifier: Apache-2.0 */
/* collector/prove: see prove.h. */
#include "collector/prove.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "boehm/detection.h"
#include "boehm/heap.h"
#include "collector/place.h"
#include "helper/child.h"
#include "helper/heapfill.h"
#include "helper/helper.h"

struct proving {
	const struct prove_file *file;
	struct helper helper;
	struct heapfill_truth truth;
	struct heapfill_object *objects;
	size_t agreed;
};

static int receive_truth(struct proving *p, struct err *err)
{
	int rc = helper_read_all(&p->helper, &p->truth, sizeof(p->truth), err);
	if (!rc && (!p->truth.objects || p->truth.objects > HEAPFILL_MAX))
		return err_set(err, EPROTO, "the helper could not allocate");
	p->objects = rc ? NULL : calloc(p->truth.objects, sizeof(*p->objects));
	if (!rc && !p->objects)
		return err_set(err, ENOMEM, "out of memory");
	return rc ?: helper_read_all(&p->helper, p->objects, p->truth.objects * sizeof(*p->objects), err);
}

static int wrong(struct err *err, const char *what, uint64_t read, uint64_t says)
{
	return err_set(err, EILSEQ, "%s is 0x%" PRIx64 " as read, 0x%" PRIx64 " as the library says", what, read, says);
}

static int compare_layouts(const struct proving *p, const struct layout *theirs, uint64_t bias, struct err *err)
{
	const struct layout *l = p->file->layout;
	if (theirs->marks != l->marks || theirs->marks_off != l->marks_off)
		return err_set(err, EILSEQ, "the helper's marks have another layout");
	if (theirs->top_index - bias != l->top_index - p->file->bias)
		return wrong(err, "the place of the block index", l->top_index - p->file->bias, theirs->top_index - bias);
	return 0;
}

static int compare_totals(const struct proving *p, const struct boehm_heap *h, struct err *err)
{
	const struct heapfill_truth *t = &p->truth;
	if (!h->unnumbered && t->gc_no != UINT64_MAX && h->gc_no != t->gc_no)
		return wrong(err, "the number of collections", h->gc_no, t->gc_no);
	if (t->heap_bytes == UINT64_MAX || t->unmapped_bytes == UINT64_MAX)
		return 0;
	if (h->heap_bytes != t->heap_bytes && h->heap_bytes != t->heap_bytes + t->unmapped_bytes)
		return wrong(err, "the heap's size", h->heap_bytes, t->heap_bytes);
	return 0;
}

static int compare_object(const struct boehm_heap *h, const struct heapfill_object *o, struct err *err)
{
	struct heap_object found;
	if (!boehm_heap_find(h, o->addr, &found))
		return o->base ? wrong(err, "the base of an object", 0, o->base) : 0;
	if (found.base != o->base)
		return wrong(err, "the base of an object", found.base, o->base);
	if (found.size != o->size)
		return wrong(err, "the size of an object", found.size, o->size);
	if (found.marked != (o->marked != 0))
		return wrong(err, "the mark of an object", found.marked, o->marked);
	/* The kind is not compared: a freed slot may have been reused for another kind. */
	return 0;
}

static int compare_heap(struct proving *p, struct memory *m, const struct layout *l, struct err *err)
{
	struct boehm_heap h;
	int rc = boehm_heap_read(m, l, &h, err);
	if (rc)
		return rc;
	rc = h.torn ? err_set(err, EBUSY, "the helper's heap changed while it was read") : compare_totals(p, &h, err);
	for (size_t i = 0; !rc && i < p->truth.objects; i++) {
		rc = compare_object(&h, &p->objects[i], err);
		p->agreed += !rc;
	}
	boehm_heap_free(&h);
	return rc;
}

/* -EILSEQ: the comparison was made and failed. */
static int compare(struct proving *p, struct err *err)
{
	struct memory m = { .tgid = (uint32_t)p->helper.pid };
	struct space s = { 0 };
	struct layout l;
	uint64_t bias;
	int rc = place_space((uint32_t)p->helper.pid, &s, err);
	if (!rc && !place_bias(p->file->elf, &s, p->file->dev, p->file->ino, &bias))
		rc = err_set(err, ENOENT, "the helper has mapped another file");
	if (!rc)
		rc = layout_find(&m, &(struct detection_place){ &s, p->file->elf, bias, "" }, &l, err);
	if (!rc)
		rc = compare_layouts(p, &l, bias, err);
	if (!rc)
		rc = compare_heap(p, &m, &l, err);
	space_free(&s);
	return rc;
}

static int run(struct proving *p, struct err *err)
{
	int rc = helper_check(p->file->fd, elf_is_program(p->file->elf), err);
	if (!rc)
		rc = helper_start(&p->helper, CHILD_HEAP, p->file->fd, err);
	if (!rc)
		rc = helper_await(&p->helper, err);
	if (!rc)
		rc = receive_truth(p, err);
	return rc ?: compare(p, err);
}

void prove_text(const struct calibration *c, struct buf *out)
{
	if (c->outcome == CALIBRATION_AGREED) {
		buf_addf(out, "proven: %" PRIu64 " objects in a helper process read as the library answers", c->agreed);
		return;
	}
	buf_adds(out, c->outcome == CALIBRATION_WRONG ? "proven wrong: " : "not proven: ");
	text_clean(out, c->failed.text, 240);
}

struct proof {
	uint64_t dev, ino;
	struct calibration outcome;
};

static struct {
	struct proof *proofs;
	size_t proofs_cnt, proofs_cap;
} known;

void prove_layout(const struct prove_file *f, struct calibration *out)
{
	struct proving p = { .file = f, .helper = { .go = -1, .out = -1 } };
	for (size_t i = 0; i < known.proofs_cnt; i++) {
		if (known.proofs[i].dev == f->dev && known.proofs[i].ino == f->ino) {
			*out = known.proofs[i].outcome;
			return;
		}
	}
	*out = (struct calibration){ 0 };
	int rc = run(&p, &out->failed);
	out->outcome = !rc ? CALIBRATION_AGREED : rc == -EILSEQ ? CALIBRATION_WRONG : CALIBRATION_UNPROVEN;
	out->agreed = p.agreed;
	helper_end(&p.helper);
	free(p.objects);
	struct proof *slot = VEC_PUSH(&known, proofs);
	if (slot)
		*slot = (struct proof){ f->dev, f->ino, *out };
}
