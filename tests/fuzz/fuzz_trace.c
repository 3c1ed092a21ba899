/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads arbitrary bytes as an .alys file into a catalog and a heap; then once more with corrected
 * checksums, because a fuzzer would never pass them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "catalog/catalog.h"
#include "model/model.h"
#include "trace/framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int apply(void *ctx, const struct event *e)
{
	return heap_apply(ctx, e, NULL);
}

static int count_part(void *ctx, const void *bytes, size_t n)
{
	*(uint64_t *)ctx += n ? *(const uint8_t *)bytes : 0;
	return 0;
}

static void look_at_stacks(const struct catalog *c)
{
	const struct stack *s;
	for (size_t i = 0; (s = catalog_next_stack(c, &i));) {
		for (uint32_t f = 0; f < s->n; f++)
			frame_ip(c, &s->frames[f]);
	}
	struct buf text = { 0 };
	catalog_ledger_text(c, &text);
	buf_free(&text);
}

static void read_all(const uint8_t *data, size_t size)
{
	struct trace_health health;
	struct err err;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	struct trace *t = trace_open(fd, "fuzz", &err);
	if (!t)
		return;
	struct catalog *c = catalog_new();
	struct heap *h = heap_new();
	trace_read_catalog(t, c, &health, &err);
	trace_each_event(t, apply, h, &err);
	uint64_t sum = 0;
	trace_each_part(t, count_part, &sum, &err);
	look_at_stacks(c);
	snapshot_free(heap_snapshot(h));
	heap_free(h);
	catalog_free(c);
	trace_close(t);
}

static void mend_crc(uint8_t *at, const uint8_t *bytes, size_t n)
{
	uint32_t crc = frame_crc(bytes, n);
	memcpy(at, &crc, sizeof(crc));
}

static void mend(uint8_t *data, size_t size)
{
	static const uint8_t sync[] = { 0xe7, 0x41, 0x4c, 0x46 };
	if (size >= TRACE_HEADER_SZ)
		mend_crc(data + 60, data, 60);
	uint8_t *end = data + size, *at = data;
	while ((at = memmem(at, (size_t)(end - at), sync, sizeof(sync))) && end - at >= FRAME_HEAD_SZ) {
		uint32_t stored;
		memcpy(&stored, at + 8, sizeof(stored));
		if (stored <= (size_t)(end - at) - FRAME_HEAD_SZ)
			mend_crc(at + 36, at + FRAME_HEAD_SZ, stored);
		mend_crc(at + 44, at, 44);
		at += FRAME_HEAD_SZ;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_all(data, size);
	uint8_t *mended = malloc(size + 1);
	memcpy(mended, data, size);
	mend(mended, size);
	read_all(mended, size);
	free(mended);
	return 0;
}
