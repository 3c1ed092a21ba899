/* SPDX-License-Identifier: Apache-2.0 */
/* beam: the layout of the Erlang VM's processes, from code in the form that gcc gives erts_process_gc_info on aarch64, and from others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "beam/process_layout.h"

/* Hidden: with entries of the GOT, those of two labels of one section would be the same one. */
#define CODE(name, text)                                                                        \
	asm(".pushsection .rodata\n.balign 4\n" #name ":\n" text #name "_end:\n.popsection\n"); \
	__attribute__((visibility("hidden"))) extern const uint8_t name[], name##_end[]

/* x0: the process; x22, x23: what is added to the sizes. Offsets are those of OTP 25's release. */
#define BEGIN "stp x29, x30, [sp, -272]!\n mov x29, sp\n stp x19, x20, [sp, 16]\n mov x19, x0\n bl . + 0x100\n"
#define SIZE "ldr x0, [x19, 144]\n add x22, x0, x22\n stp x23, x22, [sp, 184]\n"
#define RECENT "ldp x6, x1, [x19, 120]\n ldr x2, [x19, 488]\n sub x5, x2, x6\n asr x5, x5, 3\n"
#define MBUF "ldr x7, [x19, 576]\n stp x7, x5, [sp, 200]\n"
#define STACK "ldr x4, [x19, 88]\n sub x1, x1, x4\n asr x1, x1, 3\n str x1, [sp, 216]\n"
#define USED "mov x3, 0\n ldr x1, [x19, 80]\n sub x1, x1, x6\n asr x1, x1, 3\n stp x3, x1, [sp, 224]\n"
#define OTHER                                                                                                                  \
	"ldr x3, [x19, 136]\n cbz x3, . + 28\n add x0, x3, x0, lsl 3\n sub x2, x2, x3\n sub x0, x0, x3\n asr x2, x2, 3\n asr " \
	"x0, x0, 3\n"                                                                                                          \
	"str x2, [sp, 208]\n str x0, [sp, 232]\n"
#define END "ldp x19, x20, [sp, 16]\n ldp x29, x30, [sp], 272\n ret\n"

CODE(right, BEGIN SIZE RECENT MBUF STACK USED OTHER END);
CODE(apart, BEGIN SIZE RECENT "ldr x7, [x19, 576]\n str x5, [sp, 208]\n str x7, [sp, 200]\n" STACK USED OTHER END);
/* The second word of a pair is read from the base as it was. */
CODE(base_lost, BEGIN SIZE RECENT MBUF "mov x8, x19\n ldp x8, x4, [x8, 80]\n"
				       "sub x1, x1, x4\n asr x1, x1, 3\n str x1, [sp, 216]\n" USED OTHER END);
CODE(never_abandoned, BEGIN SIZE RECENT MBUF STACK USED END);
CODE(half_abandoned,
     BEGIN SIZE RECENT MBUF STACK USED "ldr x3, [x19, 136]\n sub x2, x2, x3\n asr x2, x2, 3\n str x2, [sp, 208]\n" END);
CODE(swapped, BEGIN SIZE RECENT "ldr x7, [x19, 576]\n stp x5, x7, [sp, 200]\n" STACK USED OTHER END);
CODE(other_heap, BEGIN SIZE RECENT MBUF STACK "ldr x6, [x19, 112]\n" USED OTHER END);
CODE(reversed, BEGIN SIZE RECENT MBUF "ldr x4, [x19, 88]\n sub x1, x4, x1\n asr x1, x1, 4\n str x1, [sp, 216]\n" USED OTHER END);
CODE(shifted_sum,
     BEGIN "ldr x0, [x19, 144]\n add x22, x0, x22, lsl 1\n stp x23, x22, [sp, 184]\n" RECENT MBUF STACK USED OTHER END);
CODE(lost_at_call, BEGIN SIZE RECENT MBUF STACK "bl . + 0x100\n" USED OTHER END);
CODE(other_struct, BEGIN "ldr x19, [x19]\n" SIZE RECENT MBUF STACK USED OTHER END);
CODE(one_word_twice, BEGIN SIZE RECENT "ldr x7, [x19, 144]\n stp x7, x5, [sp, 200]\n" STACK USED OTHER END);
CODE(far_away, BEGIN SIZE RECENT "ldr x7, [x19, 4096]\n stp x7, x5, [sp, 200]\n" STACK USED OTHER END);
CODE(unaligned, BEGIN SIZE RECENT "ldur x7, [x19, 77]\n stp x7, x5, [sp, 200]\n" STACK USED OTHER END);

static const struct alys_beam otp25 = {
	.heap = 120,
	.high_water = 488,
	.htop = 80,
	.stop = 88,
	.hend = 128,
	.heap_sz = 144,
	.mbuf_sz = 576,
	.abandoned = 136,
};
static const struct alys_beam none;

static void expect(const uint8_t *code, const uint8_t *end, const struct alys_beam *want)
{
	struct alys_beam l;
	assert_int_equal(beam_layout_in(code, (size_t)(end - code), &l), want != &none);
	assert_memory_equal(&l, want, sizeof(l));
}

static void test_found(void **state)
{
	(void)state;
	expect(right, right_end, &otp25);
	expect(apart, apart_end, &otp25);
	expect(base_lost, base_lost_end, &otp25);
}

static void test_refused(void **state)
{
	static const uint8_t *const refused[][2] = {
		{ never_abandoned, never_abandoned_end },
		{ half_abandoned, half_abandoned_end },
		{ swapped, swapped_end },
		{ other_heap, other_heap_end },
		{ reversed, reversed_end },
		{ shifted_sum, shifted_sum_end },
		{ lost_at_call, lost_at_call_end },
		{ other_struct, other_struct_end },
		{ one_word_twice, one_word_twice_end },
		{ far_away, far_away_end },
		{ unaligned, unaligned_end },
		{ right, right },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		expect(refused[i][0], refused[i][1], &none);
}

/* Code that ends anywhere, within an instruction as well, is read no further. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t n = 0; n < (size_t)(right_end - right); n++) {
		struct alys_beam l;
		uint8_t *copy = malloc(n + 1);
		assert_non_null(copy);
		memcpy(copy, right, n);
		if (beam_layout_in(copy, n, &l))
			assert_memory_equal(&l, &otp25, sizeof(l));
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
