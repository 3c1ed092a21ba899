/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/getter of aarch64: see getter.h. Encodings: Arm Architecture Reference Manual (DDI 0487), C6.2. */
#include "boehm/getter.h"

#include "base/cursor.h"

#define BTI_C 0xd503245fu
#define RET 0xd65f03c0u
#define ADRP_X0 0x90000000u
#define ADRP_MASK 0x9f00001fu
#define LDR_W0_X0 0xb9400000u
#define LDR_X0_X0 0xf9400000u
#define LDR_MASK 0xffc003ffu
#define PAGE_BITS 12

/* Bytes from the page of the instruction to the page that it names. */
static uint64_t adrp_distance(uint32_t insn)
{
	uint32_t pages = (insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3);
	return (uint64_t)((int64_t)((uint64_t)pages << 43) >> 43) << PAGE_BITS;
}

static bool is_load(uint32_t insn)
{
	return (insn & LDR_MASK) == LDR_W0_X0 || (insn & LDR_MASK) == LDR_X0_X0;
}

static uint64_t load_offset(uint32_t insn)
{
	return (uint64_t)(insn >> 10 & 0xfff) << (insn >> 30);
}

/* [bti c]; adrp x0, PAGE; ldr w0 or x0, [x0, REST]; ret. With a second load, the first one reads the table. */
struct getter getter_in(const uint8_t *code, uint64_t at)
{
	const struct getter none = { 0 };
	struct cursor c = cursor_over(code, GETTER_SZ);
	uint32_t page = (uint32_t)cursor_le(&c, 4);
	if (page == BTI_C) {
		page = (uint32_t)cursor_le(&c, 4);
		at += 4;
	}
	uint32_t load = (uint32_t)cursor_le(&c, 4), next = (uint32_t)cursor_le(&c, 4);
	if ((page & ADRP_MASK) != ADRP_X0 || !is_load(load))
		return none;
	uint64_t at_page = at >> PAGE_BITS << PAGE_BITS;
	struct getter found = { .addr = at_page + adrp_distance(page) + load_offset(load) };
	if (next == RET)
		return found;
	found.from_table = (load & LDR_MASK) == LDR_X0_X0 && is_load(next) && !load_offset(next);
	return found.from_table && cursor_le(&c, 4) == RET ? found : none;
}
