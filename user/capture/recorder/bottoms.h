/*
 * recorder/bottoms: how the kernel's own walk ended (--walk kernel). It follows frame pointers and
 * stops without a word, at the bottom of the stack as where a function keeps none.
 */
#ifndef ALYS_RECORDER_BOTTOMS_H
#define ALYS_RECORDER_BOTTOMS_H

#include "examine/findings.h"
#include "intake/intake.h"
#include "recorder/live.h"

/* enum stack_end of a new stack; what another walk has said stands. */
uint8_t bottoms_end(struct live *l, const struct intake_stack *s, const struct frame *frames);
/* The rows of a file that was asked for. */
void bottoms_found(struct live *l, struct findings *f);
void bottoms_free(struct live *l);

#endif
