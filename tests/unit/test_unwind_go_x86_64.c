/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/goswitch of x86-64: asmcgocall and crosscall2 as Go's assembler writes them from 1.21 on, in small programs. That walks come
 * through them is seen on a real program (tests/e2e/test_unwinding.py).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "go_program.h"

#define ASMCGOCALL                                                                                                       \
	"asmcgocall: push %rbp\n mov %rsp, %rbp\n call *%rcx\n.globl cgo\ncgo: mov 48(%rsp), %rdi\n mov 8(%rdi), %rsi\n" \
	"sub 40(%rsp), %rsi\n mov %rdi, %fs:-8\n mov %rsi, %rsp\n mov %eax, 32(%rsp)\n pop %rbp\n ret\n"
#define CROSSCALL(begin)                                                                                                    \
	".globl crosscall2\ncrosscall2: " begin "sub $0x18, %rsp\n call crosscall2\n.globl cross\ncross: add $0x18, %rsp\n" \
	"ret\n.size crosscall2, . - crosscall2\n"
#define BEGIN "push %rbp\n mov %rsp, %rbp\n sub $0x30, %rsp\n mov %rbp, 0x28(%rsp)\n lea 0x28(%rsp), %rbp\n"

static const struct alys_spec from_goroutine = {
	.off = 40, .deref = 1, .add = 16, .ra_off = -8, .bp = ALYS_SPEC_BP_AT_CFA, .bp_off = -16, .far = ALYS_SPEC_GO + 48
};
static const struct alys_spec from_c = { .off = 88, .ra_off = -8, .bp = ALYS_SPEC_BP_AT_CFA, .bp_off = -16 };

static void test_switches(void **state)
{
	struct program p = program_of(BUILDINFO ASMCGOCALL CROSSCALL(BEGIN));
	(void)state;
	expect_rule(&p, "cgo", &from_goroutine);
	expect_rule(&p, "cross", &from_c);
	end_program(&p);
}

static void test_others(void **state)
{
	(void)state;
	expect_none(ASMCGOCALL CROSSCALL(BEGIN), "cgo"); /* not Go's */
	expect_none(BUILDINFO CROSSCALL(BEGIN), "cross");
	/* Before 1.21 frame pointers lead on. */
	expect_none(BUILDINFO ASMCGOCALL CROSSCALL("sub $0x30, %rsp\n mov %rbp, 0x28(%rsp)\n lea 0x28(%rsp), %rbp\n"), "cross");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
