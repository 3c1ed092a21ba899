/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of c_usdt.c, with each form of arguments that aarch64 has. The twin is in ../x86_64. */
#ifndef ALYS_PROG_USDT_REPORTS_H
#define ALYS_PROG_USDT_REPORTS_H

#include <stddef.h>

#include "usdt.h"

#define SAMPLER __attribute__((noipa)) static
#define IN(name, type, value) register type name __asm__(#name) = (value)

USDT_COUNTER alloc_semaphore;
USDT_COUNTER free_semaphore;

/* All three arguments in registers. */
SAMPLER void in_registers(void *p, size_t size, size_t weight)
{
	IN(x15, void *, p);
	IN(x16, size_t, size);
	IN(x28, size_t, weight);
	USDT("otel_memory", "alloc", "0", "nop", "8@x15 8@x16 8@x28", "r"(x15), "r"(x16), "r"(x28));
}

/* The address in memory, the size in the lower half of a register, the weight a constant. */
SAMPLER void in_memory(void *p, size_t size)
{
	struct {
		long before;
		void *block;
	} here = { 0, p };
	IN(x19, void *, &here);
	IN(x9, size_t, size | 7ull << 32);
	USDT("otel_memory", "alloc", "0", "nop", "8@[x19, 8] 4@w9 8@96", "r"(x19), "r"(x9), "m"(here));
}

/* Signed arguments, the size in memory at a negative offset; a weight of 0. */
SAMPLER void as_signed(void *p, size_t size)
{
	struct {
		int size, after;
	} here = { (int)size, -1 };
	IN(x17, void *, p);
	IN(x30, void *, &here.after);
	USDT("otel_memory", "alloc", "0", "nop", "-8@x17 -4@[x30, -4] 8@xzr", "r"(x17), "r"(x30), "m"(here));
}

SAMPLER int counted(void *p, size_t size)
{
	if (!*(volatile unsigned short *)&alloc_semaphore)
		return 0;
	IN(x0, void *, p);
	IN(x1, size_t, size);
	USDT("ddheap", "alloc", "alloc_semaphore", "nop", "8@x0 8@x1 8@x1", "r"(x0), "r"(x1));
	return 1;
}

/* Argument forms that alys-bpf does not read, and another hint than nop: it must not attach a probe to any of these. */
SAMPLER void refused(void *p, size_t size)
{
	static void *block;
	block = p;
	IN(x0, void *, &block);
	IN(x1, size_t, size);
	IN(x2, long, 0);
	USDT("otel_memory", "alloc", "0", "nop", "8@[x0, #:lo12:block] 8@x1 8@x1", "r"(x0), "r"(x1), "m"(block));
	USDT("otel_memory", "alloc", "0", "nop", "8@[x0, x2, lsl 3] 8@x1 8@x1", "r"(x0), "r"(x1), "r"(x2));
	USDT("otel_memory", "alloc", "0", "yield", "8@x0 8@x1 8@x1", "r"(x0), "r"(x1));
}

SAMPLER void ended(void *p)
{
	IN(x0, void *, p);
	USDT("otel_memory", "free", "0", "nop", "8@x0", "r"(x0));
}

SAMPLER int counted_end(void *p)
{
	if (!*(volatile unsigned short *)&free_semaphore)
		return 0;
	IN(x7, void *, p);
	USDT("ddheap", "free", "free_semaphore", "nop", "8@x7", "r"(x7));
	return 1;
}

#endif
