/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/goswitch: see goswitch.h. Finds Go's runtime in a file; its twins know the machine code. */
#include "unwind/goswitch.h"

#include <stdlib.h>
#include <string.h>

#define NEAR (32u << 10)
#define CROSSCALL_MAX 128
#define SCAN_STEP (64u << 10)
#define SCAN_MAX (16u << 20) /* the runtime is linked first */

static bool code_at(const struct elf *e, uint64_t lo, uint64_t hi, struct go_code *out)
{
	*out = (struct go_code){ .bytes = elf_bytes(e, lo, hi - lo), .vaddr = lo, .size = hi - lo };
	return out->bytes != NULL;
}

/* In the code around v. */
static size_t read_at(const struct elf *e, const struct elf_segment *seg, uint64_t v, struct go_switch *out)
{
	uint64_t lo = v - seg->vaddr > NEAR ? v - NEAR : seg->vaddr, end = seg->vaddr + seg->filesz;
	struct go_code around;
	return code_at(e, lo, end - v > NEAR ? v + NEAR : end, &around) ? go_read(e, &around, v - lo, out) : 0;
}

static const uint8_t *find_mark(const struct go_code *c, size_t from)
{
	return from < c->size ? memmem(c->bytes + from, c->size - from, go_mark.bytes, go_mark.size) : NULL;
}

static size_t read_segment(const struct elf *e, const struct elf_segment *seg, struct go_switch *out)
{
	uint64_t size = seg->filesz < SCAN_MAX ? seg->filesz : SCAN_MAX;
	for (uint64_t in = 0; in < size; in += SCAN_STEP) {
		struct go_code c;
		uint64_t left = size - in, lo = seg->vaddr + in;
		if (!code_at(e, lo, lo + (left < SCAN_STEP + go_mark.size ? left : SCAN_STEP + go_mark.size), &c))
			return 0;
		for (const uint8_t *p = find_mark(&c, 0); p;) {
			size_t found = (size_t)(p - c.bytes);
			size_t n = in + found >= go_mark.behind ? read_at(e, seg, lo + found - go_mark.behind, out) : 0;
			if (n)
				return n;
			p = find_mark(&c, found + 1);
		}
	}
	return 0;
}

static int is_crosscall(void *ctx, const struct elf_symbol *s)
{
	struct go_code *c = ctx;
	if (s->defined && !strcmp(s->name, "crosscall2"))
		*c = (struct go_code){ .vaddr = s->vaddr, .size = s->size < CROSSCALL_MAX ? s->size : CROSSCALL_MAX };
	return 0;
}

struct go_code go_crosscall(const struct elf *e)
{
	struct go_code c = { 0 };
	elf_each_symbol(e, is_crosscall, &c);
	return c.size && code_at(e, c.vaddr, c.vaddr + c.size, &c) ? c : (struct go_code){ 0 };
}

static int by_address(const void *a, const void *b)
{
	const struct go_switch *x = a, *y = b;
	return x->ret < y->ret ? -1 : x->ret > y->ret;
}

size_t go_switches(const struct elf *e, struct go_switch out[GO_SWITCHES])
{
	const struct elf_segment *seg;
	size_t segs = elf_segments(e, &seg), n = 0;
	if (!elf_section(e, ".go.buildinfo", NULL, NULL))
		return 0;
	for (size_t i = 0; i < segs && !n; i++)
		n = seg[i].exec ? read_segment(e, &seg[i], out) : 0;
	qsort(out, n, sizeof(*out), by_address);
	return n;
}
