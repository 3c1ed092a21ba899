/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -rdynamic */
/*
 * An Erlang VM with JIT by its functions, whose code tells a layout of processes; but what the processes hold contradicts itself, or is
 * endless. Prints how many of its heap-fulls can be true, and their bytes; and how many are met again, as where a collection is put off.
 * All heaps are one block: where words are asked for, none was put off.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIMES 1000
#define HEAP_WORDS 64

/* Offsets that erts_process_gc_info tells, in words. */
enum {
	HTOP = 0x50 / 8,
	STOP = 0x58 / 8,
	HEAP = 0x80 / 8,
	HEND = 0x88 / 8,
	ABANDONED = 0x90 / 8,
	HEAP_SZ = 0x98 / 8,
	HIGH_WATER = 0x1f0 / 8,
	MBUF_SZ = 0x248 / 8,
	WORDS = 0x250 / 8
};

/* In the form of OTP 25, see tests/unit/test_beam_x86_64.c. Nobody calls it. */
asm(".text\n.globl erts_process_gc_info\n.type erts_process_gc_info, @function\nerts_process_gc_info:\n"
    "push %rbx\n mov %rdi, %rbx\n sub $0xe8, %rsp\n"
    "mov 0x98(%rbx), %rcx\n add %rcx, %r13\n mov %r13, 0x88(%rsp)\n"
    "mov 0x248(%rbx), %rax\n mov %rax, 0x90(%rsp)\n"
    "mov 0x1f0(%rbx), %rdx\n mov 0x80(%rbx), %rdi\n mov %rdx, %rax\n sub %rdi, %rax\n sar $3, %rax\n mov %rax, 0x98(%rsp)\n"
    "mov 0x88(%rbx), %rax\n sub 0x58(%rbx), %rax\n sar $3, %rax\n mov %rax, 0xa0(%rsp)\n"
    "xor %eax, %eax\n mov %rax, 0xa8(%rsp)\n"
    "mov 0x50(%rbx), %rax\n sub %rdi, %rax\n sar $3, %rax\n mov %rax, 0xb0(%rsp)\n"
    "mov 0x90(%rbx), %rax\n sub %rax, %rdx\n sar $3, %rdx\n mov %rdx, 0x98(%rsp)\n"
    "lea (%rax, %rcx, 8), %rcx\n sub %rax, %rcx\n sar $3, %rcx\n mov %rcx, 0xb0(%rsp)\n"
    "add $0xe8, %rsp\n pop %rbx\n ret\n.size erts_process_gc_info, . - erts_process_gc_info\n");

int beamasm_init(void);
int erts_garbage_collect_nobump(const uint64_t *process, int need);

__attribute__((noipa)) int beamasm_init(void)
{
	return 0;
}

__attribute__((noipa)) int erts_garbage_collect_nobump(const uint64_t *process, int need)
{
	return process && process != (void *)8 && need;
}

static uint64_t heap[HEAP_WORDS];

/* A process with ten words on its heap. */
static void begin(uint64_t p[WORDS])
{
	memset(p, 0, WORDS * sizeof(*p));
	p[HEAP] = p[HIGH_WATER] = (uintptr_t)heap;
	p[HTOP] = (uintptr_t)(heap + 10);
	p[STOP] = (uintptr_t)(heap + HEAP_WORDS - 4);
	p[HEND] = (uintptr_t)(heap + HEAP_WORDS);
	p[HEAP_SZ] = HEAP_WORDS;
}

/* One word is another one. */
static void lie(size_t word, uint64_t value)
{
	uint64_t p[WORDS];
	begin(p);
	p[word] = value;
	for (int i = 0; i < TIMES; i++)
		erts_garbage_collect_nobump(p, 1);
}

/* The same words twice, and then one more; then a collection that leaves nothing. */
static void put_off(void)
{
	uint64_t p[WORDS];
	for (int i = 0; i < TIMES; i++) {
		begin(p);
		erts_garbage_collect_nobump(p, 0);
		erts_garbage_collect_nobump(p, 0);
		p[HTOP] += 8;
		erts_garbage_collect_nobump(p, 0);
	}
}

/* Each collection leaves as much as the one before it, except for one word. */
static void collected(void)
{
	uint64_t p[WORDS];
	begin(p);
	for (int i = 0; i < TIMES; i++) {
		p[HIGH_WATER] = p[HEAP] + 8 * (i & 1);
		erts_garbage_collect_nobump(p, 0);
	}
}

/* The stack goes on for a terabyte, of which nothing is there. */
static void endless_stack(void)
{
	uint64_t p[WORDS];
	begin(p);
	p[HEAP_SZ] = 1ull << 37;
	p[HEND] = p[HEAP] + (1ull << 40);
	p[STOP] = p[HEAP] + (1ull << 30);
	for (int i = 0; i < TIMES; i++)
		erts_garbage_collect_nobump(p, 1);
}

int main(void)
{
	char c;
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 1;
	lie(0, 0x1234567890abcdef);
	endless_stack();
	put_off();
	collected();
	lie(HTOP, 8);
	lie(HEND, UINT64_MAX);
	lie(HEAP_SZ, HEAP_WORDS + 1);
	lie(HIGH_WATER, UINT64_MAX);
	lie(MBUF_SZ, 1ull << 60);
	lie(MBUF_SZ, UINT64_MAX);
	for (int i = 0; i < TIMES; i++)
		erts_garbage_collect_nobump((void *)8, 1);
	printf("{\"true\": %d, \"false\": %d, \"again\": %d, \"bytes\": %d}\n", 5 * TIMES, 7 * TIMES, TIMES,
	       TIMES * (3 * 80 + 8 + 76));
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
