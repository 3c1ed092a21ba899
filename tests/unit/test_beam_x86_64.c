/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam: the layout of the Erlang VM's processes, from code in the form that compilers give erts_process_gc_info, and
 * from others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "beam/process_layout.h"

#define CODE(name, text)                                                             \
	asm(".pushsection .rodata\n" #name ":\n" text #name "_end:\n.popsection\n"); \
	extern const uint8_t name[], name##_end[]

/* rdi: the process; rdx, rcx: what is added to the sizes. Offsets are those of OTP 25's release. */
#define BEGIN "push %rbx\n mov %rdi, %rbx\n sub $0xe8, %rsp\n call . + 0x100\n"
#define SIZE "mov 0x98(%rbx), %rcx\n add %rcx, %r13\n mov %r13, 0x88(%rsp)\n"
#define MBUF "mov 0x248(%rbx), %rax\n mov %rax, 0x90(%rsp)\n"
#define RECENT \
	"mov 0x1f0(%rbx), %rdx\n mov 0x80(%rbx), %rdi\n mov %rdx, %rax\n sub %rdi, %rax\n sar $3, %rax\n mov %rax, 0x98(%rsp)\n"
#define STACK "mov 0x88(%rbx), %rax\n sub 0x58(%rbx), %rax\n sar $3, %rax\n mov %rax, 0xa0(%rsp)\n"
#define OLD "xor %eax, %eax\n mov %rax, 0xa8(%rsp)\n"
#define USED "mov 0x50(%rbx), %rax\n sub %rdi, %rax\n sar $3, %rax\n mov %rax, 0xb0(%rsp)\n"
#define OTHER                                                                                             \
	"mov 0x90(%rbx), %rax\n test %rax, %rax\n sub %rax, %rdx\n sar $3, %rdx\n mov %rdx, 0x98(%rsp)\n" \
	"lea (%rax, %rcx, 8), %rcx\n sub %rax, %rcx\n sar $3, %rcx\n mov %rcx, 0xb0(%rsp)\n"
/*
 * Two slots at once, from an SSE register, and a high_water that is read from the heap that serves for the abandoned
 * one (OTP 27).
 */
#define PAIR "mov 0x50(%rbx), %rdx\n movq %rax, %xmm0\n sub %rdi, %rdx\n sar $3, %rdx\n movq %rdx, %xmm3\n"
#define JOINED PAIR "punpcklqdq %xmm3, %xmm0\n movups %xmm0, 0xa8(%rsp)\n"
#define ELSEWHERE "mov 0x90(%rbx), %rax\n lea (%rax, %rcx, 8), %rdx\n mov (%rsi), %rcx\n"
#define OTHER_27                                                     \
	ELSEWHERE "sub %rax, %rdx\n sar $3, %rdx\n sub %rax, %rcx\n" \
		  "mov %rdx, 0xb0(%rsp)\n sar $3, %rcx\n mov %rcx, 0x98(%rsp)\n"
#define END "add $0xe8, %rsp\n pop %rbx\n ret\n"

CODE(right, BEGIN SIZE MBUF RECENT STACK OLD USED OTHER END);
CODE(shuffled, BEGIN MBUF RECENT SIZE OLD STACK USED OTHER END);
CODE(joined, BEGIN SIZE MBUF RECENT STACK JOINED OTHER_27 END);
CODE(swapped, BEGIN SIZE MBUF RECENT STACK PAIR "punpcklqdq %xmm0, %xmm3\n movups %xmm3, 0xa8(%rsp)\n" OTHER_27 END);
CODE(lost_pair,
     BEGIN SIZE MBUF RECENT STACK PAIR "pxor %xmm3, %xmm3\n punpcklqdq %xmm3, %xmm0\n movups %xmm0, 0xa8(%rsp)\n" OTHER_27 END);
CODE(pair_at_call,
     BEGIN SIZE MBUF RECENT STACK PAIR "punpcklqdq %xmm3, %xmm0\n call . + 0x100\n movups %xmm0, 0xa8(%rsp)\n" OTHER_27 END);
CODE(half_abandoned, BEGIN SIZE MBUF RECENT STACK JOINED ELSEWHERE "sub %rax, %rcx\n sar $3, %rcx\n mov %rcx, 0x98(%rsp)\n" END);
CODE(never_abandoned, BEGIN SIZE MBUF RECENT STACK OLD USED END);
CODE(no_fragments, BEGIN SIZE RECENT STACK OLD USED OTHER END);
CODE(other_heap, BEGIN SIZE MBUF RECENT STACK OLD "mov 0x78(%rbx), %rdi\n" USED OTHER END);
CODE(bytes_kept, BEGIN SIZE MBUF RECENT STACK OLD "mov 0x50(%rbx), %rax\n sub %rdi, %rax\n mov %rax, 0xb0(%rsp)\n" OTHER END);
CODE(lost_at_call, BEGIN SIZE MBUF RECENT STACK OLD "call . + 0x100\n" USED OTHER END);
CODE(other_struct, BEGIN "mov (%rbx), %rbx\n" SIZE MBUF RECENT STACK OLD USED OTHER END);
CODE(one_word_twice, BEGIN SIZE "mov 0x98(%rbx), %rax\n mov %rax, 0x90(%rsp)\n" RECENT STACK OLD USED OTHER END);
CODE(unaligned, BEGIN SIZE "mov 0x249(%rbx), %rax\n mov %rax, 0x90(%rsp)\n" RECENT STACK OLD USED OTHER END);
CODE(far_away, BEGIN SIZE "mov 0x10248(%rbx), %rax\n mov %rax, 0x90(%rsp)\n" RECENT STACK OLD USED OTHER END);

static const struct alys_beam otp25 = {
	.heap = 0x80,
	.high_water = 0x1f0,
	.htop = 0x50,
	.stop = 0x58,
	.hend = 0x88,
	.heap_sz = 0x98,
	.mbuf_sz = 0x248,
	.abandoned = 0x90,
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
	expect(shuffled, shuffled_end, &otp25);
	expect(joined, joined_end, &otp25);
}

static void test_refused(void **state)
{
	static const uint8_t *const refused[][2] = {
		{ swapped, swapped_end },
		{ lost_pair, lost_pair_end },
		{ pair_at_call, pair_at_call_end },
		{ half_abandoned, half_abandoned_end },
		{ never_abandoned, never_abandoned_end },
		{ no_fragments, no_fragments_end },
		{ other_heap, other_heap_end },
		{ bytes_kept, bytes_kept_end },
		{ lost_at_call, lost_at_call_end },
		{ other_struct, other_struct_end },
		{ one_word_twice, one_word_twice_end },
		{ unaligned, unaligned_end },
		{ far_away, far_away_end },
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
