/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of c_usdt.c, with each form of arguments that x86-64 has. The twin is in ../aarch64. */
#ifndef ALYS_PROG_USDT_REPORTS_H
#define ALYS_PROG_USDT_REPORTS_H

#include <stddef.h>

#include "usdt.h"

#define SAMPLER __attribute__((noipa)) static

USDT_COUNTER alloc_semaphore;
USDT_COUNTER free_semaphore;

/* All three arguments in registers. */
SAMPLER void in_registers(void *p, size_t size, size_t weight)
{
	USDT("otel_memory", "alloc", "0", "nop", "8@%%rdi 8@%%rsi 8@%%rdx", "D"(p), "S"(size), "d"(weight));
}

/* The address in memory, the size in the lower half of a register, the weight a constant. */
SAMPLER void in_memory(void *p, size_t size)
{
	struct {
		long before;
		void *block;
	} here = { 0, p };
	USDT("otel_memory", "alloc", "0", "nop", "8@8(%%rbx) 4@%%ecx 8@$96", "b"(&here), "c"(size | 7ull << 32), "m"(here));
}

/* Signed arguments, the size in memory at a negative offset; no weight. */
SAMPLER void as_signed(void *p, size_t size)
{
	struct {
		int size, after;
	} here = { (int)size, -1 };
	USDT("otel_memory", "alloc", "0", "nop", "-8@%%rax -4@-4(%%rdx)", "a"(p), "d"(&here.after), "m"(here));
}

SAMPLER int counted(void *p, size_t size)
{
	if (!*(volatile unsigned short *)&alloc_semaphore)
		return 0;
	USDT("ddheap", "alloc", "alloc_semaphore", "nop", "8@%%rdi 8@%%rsi 8@%%rdx", "D"(p), "S"(size), "d"(size));
	return 1;
}

/* Argument forms that alys-bpf does not read, and a five-byte nop: it must not attach a probe to any of these. */
SAMPLER void refused(void *p, size_t size)
{
	static void *block;
	block = p;
	USDT("otel_memory", "alloc", "0", "nop", "8@block(%%rip) 8@%%rsi 8@%%rdx", "S"(size), "d"(size), "m"(block));
	USDT("otel_memory", "alloc", "0", "nop", "8@(%%rax,%%rsi,8) 8@%%rsi 8@%%rdx", "a"(&block), "S"(0l), "d"(size));
	USDT("otel_memory", "alloc", "0", ".byte 0x0f, 0x1f, 0x44, 0, 0", "8@%%rdi 8@%%rsi 8@%%rdx", "D"(p), "S"(size),
	     "d"(size));
}

SAMPLER void ended(void *p)
{
	USDT("otel_memory", "free", "0", "nop", "8@%%rdi", "D"(p));
}

SAMPLER int counted_end(void *p)
{
	if (!*(volatile unsigned short *)&free_semaphore)
		return 0;
	USDT("ddheap", "free", "free_semaphore", "nop", "8@%%rdi", "D"(p));
	return 1;
}

#endif
