/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/goswitch of aarch64: the functions of Go's runtime that switch stacks, as its compiler writes them (1.19 and 1.24), in small
 * programs. That walks come through them is seen on real programs (tests/e2e/test_arm64_probes.py).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "go_program.h"

#define PROLOGUE(size) "str x30, [sp, -" #size "]!\n stur x29, [sp, -8]\n sub x29, sp, 8\n"
#define EPILOGUE(size) "ldp x29, x30, [sp, -8]\n add sp, sp, " #size "\n ret\n"
#define ASMCGOCALL                                                                                                      \
	"asmcgocall: " PROLOGUE(                                                                                        \
		16) "mov x2, sp\n sub sp, sp, 16\n str x4, [sp]\n ldr x4, [x4, 8]\n sub x4, x4, x2\n str x4, [sp, 8]\n" \
		    "blr x1\n.globl cgo\ncgo: mov x9, x0\n ldr x28, [sp]\n" EPILOGUE(16)
#define NO_SAVE \
	"mov x4, 0\n str x4, [sp]\n str x2, [sp, 8]\n blr x1\n.globl plain\nplain: ldr x2, [sp, 8]\n mov sp, x2\n" EPILOGUE(16)
#define CALLBACK(size)                                                                                                  \
	"cgocallback: " PROLOGUE(size) "blr x0\n ldr x8, [x28, 48]\n blr x0\n.globl callback\ncallback: ldr x5, [sp]\n" \
				       "str x5, [x28, 64]\n mov x4, sp\n" EPILOGUE(size)
#define SYSTEMSTACK               \
	"systemstack: " PROLOGUE( \
		16) "ldr x3, [x26]\n blr x3\n.globl system\nsystem: ldr x3, [x28, 48]\n ldr x28, [x3, 192]\n" EPILOGUE(16)
#define MCALL "mcall: stur xzr, [sp, -16]\n sub sp, sp, 16\n ldr x4, [x26]\n blr x4\n.globl bottom\nbottom: b mcall\n"
#define CROSSCALL(size, at)                                                                                                \
	".globl crosscall2\ncrosscall2: sub sp, sp, " #size "\n stp x29, x30, [sp, " #at "]\n bl mcall\n bl cgocallback\n" \
	".globl cross\ncross: ret\n.size crosscall2, . - crosscall2\n"
#define RUNTIME ASMCGOCALL NO_SAVE CALLBACK(48) SYSTEMSTACK MCALL CROSSCALL(192, 176)

/* Where sp was saved, 8 bytes above a record, as its distance from the end of the stack of the goroutine in [sp]. */
static const struct alys_spec from_goroutine = {
	.off = 8, .deref = 1, .add = 8, .ra_off = -8, .bp = ALYS_SPEC_BP_AT_CFA, .bp_off = -16, .far = ALYS_SPEC_GO
};

static struct alys_spec from_callback(int32_t frame)
{
	return (struct alys_spec){ .off = frame + 8,
				   .base_bp = 1,
				   .ra_off = -frame,
				   .bp = ALYS_SPEC_BP_AT_CFA,
				   .bp_off = -frame - 8,
				   .far = ALYS_SPEC_FAR };
}

static void test_switches(void **state)
{
	struct program p = program_of(BUILDINFO RUNTIME);
	struct alys_spec plain = from_goroutine, callback = from_callback(48);
	const struct alys_spec cross = { .off = 192, .ra_off = -8, .bp = ALYS_SPEC_BP_AT_CFA, .bp_off = -16 };
	(void)state;
	plain.far = 0;
	expect_rule(&p, "cgo", &from_goroutine);
	expect_rule(&p, "plain", &plain);
	expect_rule(&p, "callback", &callback);
	expect_rule(&p, "cross", &cross);
	assert_int_equal(row_of(&p, "bottom").kind, ALYS_ROW_END);
	assert_int_equal(row_of(&p, "system").kind, ALYS_ROW_UNSUPPORTED);
	end_program(&p);
}

/* Sizes are read from the code. */
static void test_other_frames(void **state)
{
	struct program p = program_of(BUILDINFO ASMCGOCALL CALLBACK(64) MCALL CROSSCALL(208, 160));
	struct alys_spec callback = from_callback(64);
	const struct alys_spec cross = { .off = 208, .ra_off = -40, .bp = ALYS_SPEC_BP_AT_CFA, .bp_off = -48 };
	(void)state;
	expect_rule(&p, "cgo", &from_goroutine);
	expect_rule(&p, "callback", &callback);
	expect_rule(&p, "cross", &cross);
	end_program(&p);
}

static void test_others(void **state)
{
	(void)state;
	expect_none(RUNTIME, "cgo"); /* not Go's */
	/* Without asmcgocall nothing is known of the runtime. */
	expect_none(BUILDINFO CALLBACK(48), "callback");
	expect_none(BUILDINFO MCALL, "bottom");
	/* A function without the usual begin, and a frame that would not hold the record. */
	expect_none(BUILDINFO ASMCGOCALL "other: sub sp, sp, 48\n"
					 ".rept 128\n nop\n.endr\n"
					 "blr x0\n.globl callback\ncallback: ldr x5, [sp]\n str x5, [x28, 64]\n mov x4, sp\n",
		    "callback");
	expect_none(BUILDINFO ASMCGOCALL CALLBACK(48) MCALL CROSSCALL(176, 176), "cross");
	expect_none(BUILDINFO ASMCGOCALL CALLBACK(48) MCALL CROSSCALL(176, 168), "cross");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_other_frames),
		cmocka_unit_test(test_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
