/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/goswitch of aarch64: see goswitch.h. Recognizes the instructions around the calls, which are the same in Go 1.19 and 1.24.
 *
 * A function of Go has its return address at [sp], its caller's x29 below it, and x29 points to the two: sp - 8. A walk
 * by frame pointer must not find it below sp, so where these rules lead to such a frame, sp is that too.
 */
#include "unwind/goswitch.h"

#include <string.h>

#define INSN_SZ 4
#define PROLOGUE_MAX (512 / INSN_SZ) /* instructions from the begin of a function to its call */

#define EXACTLY ~0u
#define OFFSET 0xffc003ffu /* of an access by a multiple of 8 */

struct word {
	uint32_t mask, value;
};

static uint32_t word_at(const struct go_code *c, size_t at)
{
	uint32_t w;
	memcpy(&w, c->bytes + at, sizeof(w));
	return w;
}

static bool has(const struct go_code *c, size_t at, const struct word *want, size_t n)
{
	bool same = at <= c->size && n * INSN_SZ <= c->size - at;
	for (size_t i = 0; i < n && same; i++)
		same = (word_at(c, at + i * INSN_SZ) & want[i].mask) == want[i].value;
	return same;
}

/* Where these instructions are; c->size: nowhere. */
static size_t find(const struct go_code *c, size_t from, const struct word *want, size_t n)
{
	size_t at = from;
	while (at < c->size && !has(c, at, want, n))
		at += INSN_SZ;
	return at < c->size ? at : c->size;
}

/* str x30, [sp, #-frame]!; stur x29, [sp, #-8]: the frame's size of the function that is at `at`, 0: not found. */
static int32_t frame_of(const struct go_code *c, size_t at)
{
	static const struct word prologue[] = { { 0xffe00fff, 0xf8000ffe }, { EXACTLY, 0xf81f83fd } };
	for (size_t back = INSN_SZ; back <= at && back <= PROLOGUE_MAX * INSN_SZ; back += INSN_SZ) {
		if (has(c, at - back, prologue, 2))
			return 512 - (int32_t)(word_at(c, at - back) >> 12 & 0x1ff);
	}
	return 0;
}

static uint64_t behind(const struct go_code *c, size_t at, size_t instructions)
{
	return c->vaddr + at + instructions * INSN_SZ;
}

/*
 * asmcgocall, from a goroutine: str x4, [sp]; ldr x4, [x4, 8]; sub x4, x4, x2; str x4, [sp, 8]; blr x1. x4 is the goroutine, x2 was
 * sp. Its stack may have been moved meanwhile, by a callback, so the depth below its upper end is what was saved.
 */
static const struct word cgo[] = {
	{ EXACTLY, 0xf90003e4 }, { EXACTLY, 0xf9400484 }, { EXACTLY, 0xcb020084 },
	{ EXACTLY, 0xf90007e4 }, { EXACTLY, 0xd63f0020 },
};

/* The same, on the thread's stack already: str x4, [sp]; str x2, [sp, 8]; blr x1. */
static const struct word cgo_plain[] = { { EXACTLY, 0xf90003e4 }, { EXACTLY, 0xf90007e2 }, { EXACTLY, 0xd63f0020 } };

/* What was saved is sp of a frame with the record 8 bytes below it. */
static const struct alys_spec saved_sp = {
	.off = 8,
	.deref = 1,
	.add = 8,
	.ra_off = -8,
	.bp = ALYS_SPEC_BP_AT_CFA,
	.bp_off = -16,
};

static bool read_cgo(const struct go_code *c, size_t at, struct go_switch *s)
{
	*s = (struct go_switch){ .ret = behind(c, at, 5), .spec = saved_sp };
	s->spec.far = ALYS_SPEC_GO;
	return has(c, at, cgo, 5);
}

static bool read_cgo_plain(const struct go_code *c, size_t from, struct go_switch *s)
{
	size_t at = find(c, from, cgo_plain, 3);
	*s = (struct go_switch){ .ret = behind(c, at, 3), .spec = saved_sp };
	return at < c->size;
}

/* blr x0; ldr x5, [sp]; str x5, [x28, ...]; mov x4, sp. x29 is that of the frame on the thread's stack still. */
static bool read_callback(const struct go_code *c, struct go_switch *s)
{
	static const struct word call[] = {
		{ EXACTLY, 0xd63f0000 }, { EXACTLY, 0xf94003e5 }, { OFFSET, 0xf9000385 }, { EXACTLY, 0x910003e4 }
	};
	size_t at = find(c, 0, call, 4);
	int32_t frame = at < c->size ? frame_of(c, at) : 0;
	*s = (struct go_switch){ .ret = behind(c, at, 1) };
	s->spec = (struct alys_spec){
		.off = 8 + frame,
		.base_bp = 1,
		.ra_off = -frame,
		.bp = ALYS_SPEC_BP_AT_CFA,
		.bp_off = -frame - 8,
		.far = ALYS_SPEC_FAR,
	};
	return frame;
}

/* ldr x3, [x26]; blr x3; ldr x3, [x28, ...]; ldr x28, [x3, ...]. x29 leads to older frames of the thread's stack. */
static bool read_systemstack(const struct go_code *c, struct go_switch *s)
{
	static const struct word call[] = {
		{ EXACTLY, 0xf9400343 }, { EXACTLY, 0xd63f0060 }, { OFFSET, 0xf9400383 }, { OFFSET, 0xf940007c }
	};
	size_t at = find(c, 0, call, 4);
	*s = (struct go_switch){ .ret = behind(c, at, 2), .caller = GO_LOST };
	return at < c->size;
}

/* mcall, where the scheduler begins and no goroutine runs: sub sp, sp, 16; ldr x4, [x26]; blr x4; b badmcall2. */
static bool read_mcall(const struct go_code *c, struct go_switch *s)
{
	static const struct word call[] = {
		{ EXACTLY, 0xd10043ff }, { EXACTLY, 0xf9400344 }, { EXACTLY, 0xd63f0080 }, { 0xfc000000, 0x14000000 }
	};
	size_t at = find(c, 0, call, 4);
	*s = (struct go_switch){ .ret = behind(c, at, 3), .caller = GO_BOTTOM };
	return at < c->size;
}

/* crosscall2, which C calls: sub sp, sp, frame; ...; stp x29, x30, [sp, frame - 16]; bl load_g; bl cgocallback. x29 is its caller's still. */
static bool read_crosscall(const struct elf *e, struct go_switch *s)
{
	static const struct word reserve[] = { { 0xffc003ff, 0xd10003ff } };
	static const struct word calls[] = { { 0xffc07fff, 0xa9007bfd }, { 0xfc000000, 0x94000000 }, { 0xfc000000, 0x94000000 } };
	struct go_code c = go_crosscall(e);
	size_t at = has(&c, 0, reserve, 1) ? find(&c, 0, calls, 3) : c.size;
	if (at == c.size)
		return false;
	*s = (struct go_switch){ .ret = behind(&c, at, 3) };
	s->spec = (struct alys_spec){ .off = (int32_t)(word_at(&c, 0) >> 10 & 0xfff) };
	s->spec.bp = ALYS_SPEC_BP_AT_CFA;
	s->spec.bp_off = (int32_t)(word_at(&c, at) >> 15 & 0x3f) * 8 - s->spec.off;
	s->spec.ra_off = s->spec.bp_off + 8;
	return s->spec.ra_off < 0;
}

/* Little endian: ldr x4, [x4, 8]; sub x4, x4, x2. */
const struct go_mark go_mark = { "\x84\x04\x40\xf9\x84\x00\x02\xcb", 8, INSN_SZ };

size_t go_read(const struct elf *e, const struct go_code *c, size_t at, struct go_switch out[GO_SWITCHES])
{
	size_t n = c->vaddr % INSN_SZ || at % INSN_SZ ? 0 : read_cgo(c, at, &out[0]);
	if (!n)
		return 0;
	n += read_cgo_plain(c, at, &out[n]);
	n += read_systemstack(c, &out[n]);
	n += read_callback(c, &out[n]);
	n += read_mcall(c, &out[n]);
	n += read_crosscall(e, &out[n]);
	return n;
}
