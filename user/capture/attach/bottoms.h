/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/bottoms: how the kernel's own walk ended (--walk kernel). It follows frame pointers and stops silently, both
 * at the bottom of the stack and at a function without a frame pointer.
 */
#ifndef ALYS_ATTACH_BOTTOMS_H
#define ALYS_ATTACH_BOTTOMS_H

#include "attach/study.h"
#include "base/map.h"
#include "intake/intake.h"
#include "recording/handles.h"

struct bottoms {
	const struct handles *h;
	struct study *study;
	struct map rows;       /* module -> its unwind rows, or 0 */
	uint32_t kernel_depth; /* maximum depth of the kernel's own walk, 0 = not read yet */
};

/* enum stack_end of a new stack; for other kinds of walk, what they reported. */
uint8_t bottoms_end(struct bottoms *b, const struct intake_stack *s, const struct frame *frames);
/* The rows that were requested for a file. */
void bottoms_found(struct bottoms *b, struct findings *f);
void bottoms_free(struct bottoms *b);

#endif
