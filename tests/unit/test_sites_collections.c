/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/collections: over Debian's libgc, shared and static. The claims are compared with the unwind
 * entries and the bytes around them; test_liveness.py watches the places at work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "code/decode.h"
#include "sites/collections.h"

#define LIB "/usr/lib/" TEST_MACHINE "-linux-gnu/"

static enum gc_unseen find(const char *path, struct collection_sites *out, struct elf **e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	*e = elf_open(fd, path, NULL);
	assert_non_null(*e);
	enum gc_unseen why = collections_find(*e, out);
	close(fd);
	return why;
}

static size_t count_phase(const struct collection_sites *c, uint32_t phase)
{
	size_t n = 0;
	for (size_t i = 0; i < c->sites_cnt; i++)
		n += c->sites[i].wire.phase == phase;
	return n;
}

/* Nothing but the return comes behind it: Debian's build has stack protectors; or it is the return. */
static void expect_cheap_end(const struct elf *e, uint64_t vaddr)
{
	struct insn in = { 0 };
	for (int i = 0; in.flow != INSN_RETURN; i++) {
		const uint8_t *b = elf_bytes(e, vaddr, INSN_MAX_LEN);
		assert_non_null(b);
		assert_true(insn_decode(b, INSN_MAX_LEN, vaddr, &in));
		assert_int_not_equal(in.flow, INSN_CALL);
		assert_true(!i || (i < 8 && in.flow != INSN_BRANCH));
		vaddr += in.len;
	}
}

static void expect_emulated(const struct elf *e, uint64_t vaddr)
{
	struct insn in;
	const uint8_t *b = elf_bytes(e, vaddr, INSN_MAX_LEN);
	assert_non_null(b);
	assert_true(insn_decode(b, INSN_MAX_LEN, vaddr, &in));
	assert_int_equal(in.cost, INSN_EMULATED);
}

static void test_shared_library(void **state)
{
	(void)state;
	struct collection_sites c;
	struct elf *e;
	assert_int_equal(find(LIB "libgc.so.1", &c, &e), GC_SEEN);
	assert_true(count_phase(&c, ALYS_GC_MARKED) >= 1);
	assert_true(count_phase(&c, ALYS_GC_BEGINS) >= 1);
	assert_true(count_phase(&c, ALYS_GC_ENDS) >= count_phase(&c, ALYS_GC_BEGINS));
	for (size_t i = 0; i < c.sites_cnt; i++) {
		const struct collection_site *s = &c.sites[i];
		uint64_t offset;
		assert_true(elf_offset_of(e, s->wire.vaddr, &offset));
		assert_int_equal(offset, s->offset);
		/* Where calls push nothing, a function begins with a store, which is single-stepped. */
		if (s->wire.phase != ALYS_GC_BEGINS || insn_machine.link == INSN_NO_REG)
			expect_emulated(e, s->wire.vaddr);
		if (s->wire.phase == ALYS_GC_ENDS)
			expect_cheap_end(e, s->wire.vaddr);
		if (s->wire.phase == ALYS_GC_BEGINS)
			assert_int_equal(s->wire.cfa_off, insn_machine.entry_cfa);
	}
	collections_free(&c);
	elf_close(e);
}

static void test_other_files(void **state)
{
	(void)state;
	struct collection_sites c;
	struct elf *e;
	assert_int_equal(find("/lib/" TEST_MACHINE "-linux-gnu/libc.so.6", &c, &e), GC_NO_SYMBOL);
	assert_int_equal(c.sites_cnt, 0);
	elf_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_library),
		cmocka_unit_test(test_other_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
