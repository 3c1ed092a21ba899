/*
 * recorder/pressure: a sampled recording whose reader falls behind samples less, until it has caught up for
 * a while. Every change is an event of the trace, and every sample carries the interval that it was drawn
 * for, so estimates stay right across changes.
 */
#ifndef ALYS_RECORDER_PRESSURE_H
#define ALYS_RECORDER_PRESSURE_H

#include "recorder/live.h"

#define PRESSURE_REASON "the reader falls behind"

/* To be called often, before the ring is read. */
void pressure_look(struct live *l);
/* Another rate, for whatever reason. */
void pressure_set(struct live *l, uint64_t interval);

#endif
