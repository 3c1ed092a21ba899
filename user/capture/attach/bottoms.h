/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/bottoms: how the kernel's own walk ended (--walk kernel). It follows frame pointers and
 * stops without a word, at the bottom of the stack as where a function keeps none.
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
	uint32_t kernel_depth; /* frames of the kernel's own walk at most, 0 = not read yet */
};

/* enum stack_end of a new stack; what another walk has said stands. */
uint8_t bottoms_end(struct bottoms *b, const struct intake_stack *s, const struct frame *frames);
/* The rows of a file that was asked for. */
void bottoms_found(struct bottoms *b, struct findings *f);
void bottoms_free(struct bottoms *b);

#endif
