/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind: every row of real libraries against libdw, which finds its rules on its own way. Both are
 * evaluated over the same made-up registers and memory, so it does not matter how a rule is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/foreign_elf.h"
#include "unwind/bottom.h"
#include "unwind/unwind.h"

#define SP 0x7ffd00001000ull
#define BP 0x7ffd00003000ull

/* Memory whose words are derived from their addresses. */
static uint64_t mem(uint64_t addr)
{
	return addr * 0x9e3779b97f4a7c15ull;
}

/* DWARF's numbers of the frame pointer, the stack pointer and the return address; what that is at a call. */
struct machine {
	uint16_t elf;
	int bp, sp, ra;
};

static const struct machine amd64 = { EM_X86_64, 6, 7, 16 }, arm64 = { EM_AARCH64, 29, 31, 30 };

static uint64_t reg(const struct machine *m, uint64_t n, uint64_t pc)
{
	return n == (uint64_t)m->bp ? BP : n == (uint64_t)m->sp ? SP : n == (uint64_t)m->ra ? pc : 0x123400000000 + n;
}

static uint64_t eval(const struct machine *m, const Dwarf_Op *ops, size_t n, uint64_t pc, uint64_t cfa, bool *is_value)
{
	uint64_t st[16] = { 0 };
	int d = 0;
	for (size_t i = 0; i < n && d < 15; i++) {
		uint8_t a = ops[i].atom;
		if (a >= DW_OP_breg0 && a <= DW_OP_breg31)
			st[d++] = reg(m, a - DW_OP_breg0, pc) + ops[i].number;
		else if (a == DW_OP_bregx)
			st[d++] = reg(m, ops[i].number, pc) + ops[i].number2;
		else if (a >= DW_OP_lit0 && a <= DW_OP_lit31)
			st[d++] = a - DW_OP_lit0;
		else if (a == DW_OP_call_frame_cfa)
			st[d++] = cfa;
		else if (a == DW_OP_plus_uconst)
			st[d - 1] += ops[i].number;
		else if (a == DW_OP_deref)
			st[d - 1] = mem(st[d - 1]);
		else if (a == DW_OP_stack_value)
			*is_value = true;
		else if (a == DW_OP_and)
			d--, st[d - 1] &= st[d];
		else if (a == DW_OP_ge)
			d--, st[d - 1] = (int64_t)st[d - 1] >= (int64_t)st[d];
		else if (a == DW_OP_shl)
			d--, st[d - 1] <<= st[d];
		else if (a == DW_OP_plus)
			d--, st[d - 1] += st[d];
		else
			fail_msg("libdw gives DW_OP %#x", a);
	}
	return d ? st[d - 1] : 0;
}

/* The result of a rule: the CFA, the caller's frame pointer, the return address. */
struct outcome {
	uint64_t cfa, bp, ra;
	bool end;
};

static uint64_t frame_reg(const struct machine *m, Dwarf_Frame *f, int n, uint64_t pc, uint64_t cfa, bool *undefined)
{
	Dwarf_Op mem_ops[3], *ops;
	size_t cnt;
	if (dwarf_frame_register(f, n, mem_ops, &ops, &cnt))
		fail_msg("dwarf_frame_register: %s", dwarf_errmsg(-1));
	*undefined = !cnt && ops == mem_ops;
	if (!cnt)
		return reg(m, (uint64_t)n, pc);
	bool is_value = false;
	uint64_t v = eval(m, ops, cnt, pc, cfa, &is_value);
	return is_value ? v : mem(v);
}

static struct outcome by_libdw(const struct machine *m, Dwarf_Frame *f, uint64_t pc)
{
	struct outcome o = { 0 };
	Dwarf_Op *ops;
	size_t n;
	bool ignored = false, undefined;
	if (dwarf_frame_cfa(f, &ops, &n) == 0 && n)
		o.cfa = eval(m, ops, n, pc, 0, &ignored);
	o.bp = frame_reg(m, f, m->bp, pc, o.cfa, &undefined);
	o.ra = frame_reg(m, f, m->ra, pc, o.cfa, &o.end);
	return o;
}

static struct outcome by_row(const struct unwind_row *r, uint64_t pc)
{
	struct outcome o = { .bp = BP, .end = r->kind == ALYS_ROW_END };
	if (r->kind == ALYS_ROW_SIGNAL)
		return (struct outcome){ .cfa = mem(SP + 160), .bp = mem(SP + 120), .ra = mem(SP + 168) };
	if (r->kind == ALYS_ROW_PLT) {
		o.cfa = SP + 8 + ((pc & 15) >= r->aux ? 8 : 0);
		o.ra = mem(o.cfa - 8);
		return o;
	} else {
		uint64_t at = (r->rule.base_bp ? BP : SP) + (int64_t)r->rule.off;
		o.cfa = r->rule.deref ? mem(at) + (int64_t)r->rule.add : at;
	}
	if (r->rule.bp)
		o.bp = mem((r->rule.bp == ALYS_SPEC_BP_AT_CFA  ? o.cfa
			    : r->rule.bp == ALYS_SPEC_BP_AT_BP ? BP
							       : SP) +
			   (int64_t)r->rule.bp_off);
	o.ra = r->rule.ra_off ? mem(o.cfa + (int64_t)r->rule.ra_off) : pc;
	return o;
}

struct tally {
	uint64_t compared, unsupported;
};

static void compare_at(const struct machine *m, const struct unwind_table *t, Dwarf_Frame *f, uint64_t pc, struct tally *n)
{
	struct unwind_row row;
	assert_true(unwind_row_at(t, pc, &row));
	if (row.kind == ALYS_ROW_UNSUPPORTED) {
		n->unsupported++;
		return;
	}
	assert_int_equal(dwarf_frame_info(f, NULL, NULL, NULL), m->ra);
	struct outcome want = by_libdw(m, f, pc), have = by_row(&row, pc);
	n->compared++;
	if (row.kind == ALYS_ROW_NONE || have.end != want.end)
		fail_msg("%#lx: kind %d", pc, row.kind);
	if (!have.end && (have.cfa != want.cfa || have.bp != want.bp || have.ra != want.ra))
		fail_msg("%#lx: CFA %#lx fp %#lx ra %#lx, libdw has CFA %#lx fp %#lx ra %#lx", pc, have.cfa, have.bp, have.ra,
			 want.cfa, want.bp, want.ra);
}

/* Goes through all code in libdw's ranges; each is compared at both ends. */
static struct tally compare_all(const struct machine *m, const struct unwind_table *t, const struct bottom *b, Dwarf_CFI *cfi)
{
	struct tally n = { 0 };
	uint64_t pc = t->page0 << ALYS_PAGE_SHIFT, hi = pc + (t->pages_cnt << ALYS_PAGE_SHIFT);
	while (pc < hi) {
		Dwarf_Frame *f = NULL;
		Dwarf_Addr start, end;
		struct unwind_row row;
		if (dwarf_cfi_addrframe(cfi, pc, &f)) {
			pc++; /* between functions */
			continue;
		}
		assert_true(dwarf_frame_info(f, &start, &end, NULL) >= 0);
		assert_true(unwind_row_at(t, end - 1, &row));
		if (b && bottom_is_context(b, start, end)) { /* glibc's rows lead on to what makecontext keeps there */
			assert_int_equal(row.kind, ALYS_ROW_END);
		} else {
			compare_at(m, t, f, pc, &n);
			compare_at(m, t, f, end - 1, &n);
		}
		free(f);
		pc = end;
	}
	return n;
}

static bool is_here(const char *path)
{
	return access(path, R_OK) == 0;
}

static void compare_table(const struct machine *m, const char *path, Elf *elf, const struct unwind_table *t,
			  const struct bottom *b, const struct tally *limits)
{
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	struct tally n = compare_all(m, t, b, cfi);
	if (n.compared < limits->compared || n.unsupported > limits->unsupported)
		fail_msg("%s: %lu compared, %lu unsupported", path, n.compared, n.unsupported);
	print_message("%s: %lu compared, %lu unsupported\n", path, n.compared, n.unsupported);
	dwarf_cfi_end(cfi);
}

static Elf *open_libelf(int fd)
{
	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	return elf_begin(fd, ELF_C_READ_MMAP, NULL);
}

static int open_if_here(const char *path)
{
	if (!is_here(path)) {
		print_message("%s is not here\n", path);
		skip();
	}
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void compare_file(const char *path, uint64_t at_least, uint64_t unsupported_at_most)
{
	int fd = open_if_here(path);
	struct err err = { 0 };
	struct elf *e = elf_open(fd, path, &err);
	if (!e && err.code == ENOEXEC)
		skip(); /* of another machine, in an emulator */
	assert_non_null(e);
	struct bottom b;
	bottom_find(e, &b);
	struct unwind_table *t = unwind_compile(e, &err);
	if (!t)
		fail_msg("%s: %s", path, err.text);
	Elf *elf = open_libelf(fd);
	const struct tally limits = { at_least, unsupported_at_most };
	compare_table(t->machine == EM_X86_64 ? &amd64 : &arm64, path, elf, t, &b, &limits);
	elf_end(elf);
	unwind_free(t);
	elf_close(e);
	close(fd);
}

static void compare_arm64(const char *path, uint64_t at_least, uint64_t unsupported_at_most)
{
	int fd = open_if_here(path);
	struct err err = { 0 };
	Elf *elf = open_libelf(fd);
	struct unwind_table *t = foreign_rows(elf, EM_AARCH64, &err);
	if (!t)
		fail_msg("%s: %s", path, err.text);
	const struct tally limits = { at_least, unsupported_at_most };
	compare_table(&arm64, path, elf, t, NULL, &limits);
	elf_end(elf);
	unwind_free(t);
	close(fd);
}

#define LIB "/usr/lib/" TEST_MACHINE "-linux-gnu/"

static void test_libc(void **state)
{
	(void)state;
	compare_file(LIB "libc.so.6", 20000, 20);
}

static void test_libgc(void **state)
{
	(void)state;
	/* Debian 13's aligns a stack by way of another register: two addresses. */
	compare_file(LIB "libgc.so.1", 3000, 2);
}

static void test_libcrypto(void **state)
{
	(void)state;
	compare_file(LIB "libcrypto.so.3", 100000, 2000);
}

static void test_libstdcxx(void **state)
{
	(void)state;
	compare_file(LIB "libstdc++.so.6", 20000, 0);
}

/* The test itself: a position-independent program with its own small functions. */
static void test_self(void **state)
{
	(void)state;
	compare_file("/proc/self/exe", 100, 0);
}

#define ARM64 "/usr/aarch64-linux-gnu/lib/"

static void test_arm64_libc(void **state)
{
	(void)state;
	compare_arm64(ARM64 "libc.so.6", 10000, 20);
}

static void test_arm64_libstdcxx(void **state)
{
	(void)state;
	compare_arm64(ARM64 "libstdc++.so.6", 10000, 0);
}

/* Frames of all kinds, as compilers lay them out by different options. */
static void test_arm64_options(void **state)
{
	(void)state;
	static const char *const options[] = {
		"-O2",
		"-O0",
		"-O2 -fomit-frame-pointer",
		"-O2 -mbranch-protection=standard",
		"-O2 -mbranch-protection=pac-ret+leaf+b-key -fomit-frame-pointer",
		"-Os -fstack-protector-all -fstack-clash-protection",
	};
	char dir[] = "/tmp/oracleXXXXXX", file[64], command[512];
	if (system("command -v aarch64-linux-gnu-gcc >/dev/null"))
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/frames.so", dir);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		snprintf(command, sizeof(command), "aarch64-linux-gnu-gcc -shared -fPIC -fasynchronous-unwind-tables %s -o %s %s",
			 options[i], file, "tests/unit/frames.c");
		assert_int_equal(system(command), 0);
		compare_arm64(file, 30, 0);
	}
	unlink(file);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_libgc),
		cmocka_unit_test(test_libcrypto),
		cmocka_unit_test(test_libstdcxx),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_arm64_libc),
		cmocka_unit_test(test_arm64_libstdcxx),
		cmocka_unit_test(test_arm64_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
