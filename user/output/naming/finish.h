/* SPDX-License-Identifier: Apache-2.0 */
/* naming/finish: names for what was recorded, when it is to be read: at the end, or for a report. */
#ifndef ALYS_NAMING_FINISH_H
#define ALYS_NAMING_FINISH_H

#include "catalog/catalog.h"
#include "recording/handles.h"
#include "trace/trace.h"

/* Resolves every frame that was recorded and puts the answers into the trace. */
int finish_symbols(const struct handles *h, struct err *err);
/* Writes the names that the catalog has for the frames of wanted stacks; NULL: of all. */
int finish_names(const struct catalog *c, struct trace_writer *w, bool (*wanted)(void *ctx, const struct stack *s), void *ctx);

#endif
