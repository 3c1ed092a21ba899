/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/stack_ends: how the kernel's own walk ended (--walk kernel). It follows frame pointers and stops silently, both
 * at the bottom of the stack and at a function without a frame pointer.
 */
#ifndef ALYS_ATTACH_STACK_ENDS_H
#define ALYS_ATTACH_STACK_ENDS_H

#include "attach/study.h"
#include "base/map.h"
#include "intake/intake.h"
#include "recording/handles.h"

struct stack_ends {
	const struct handles *h;
	struct study *study;
	struct map rows;       /* module -> its unwind rows, or 0 */
	uint32_t kernel_depth; /* maximum depth of the kernel's own walk, 0 = not read yet */
};

/* enum stack_end of a new stack; for other kinds of walk, what they reported. */
uint8_t stack_ends_of(struct stack_ends *b, const struct intake_stack *s, const struct frame *frames);
/* The rows that were requested for a file. */
void stack_ends_found(struct stack_ends *b, struct findings *f);
void stack_ends_free(struct stack_ends *b);

#endif
