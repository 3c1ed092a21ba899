/* SPDX-License-Identifier: Apache-2.0 */
/* model/heap_facts: what a heap counts of its input, whatever becomes of the event. Private to this module. */
#ifndef ALYS_MODEL_HEAP_FACTS_H
#define ALYS_MODEL_HEAP_FACTS_H

#include "model/model.h"

void facts_note(struct heap_facts *f, const struct event *e);
/* The events that a loss is about. */
void facts_note_loss(struct heap_facts *f, const struct event *e);

#endif
