/* SPDX-License-Identifier: Apache-2.0 */
/* naming/finish: names for what was recorded, when it is to be read: at the end, or for a report. */
#ifndef ALYS_NAMING_FINISH_H
#define ALYS_NAMING_FINISH_H

#include "base/err.h"
#include "catalog/consumer.h"
#include "recording/handles.h"

/* Resolves every frame that was recorded, for the catalog and the consumer. */
int finish_symbols(const struct handles *h, struct err *err);
/* Hands on the names that the catalog has for the frames of wanted stacks; NULL: of all. */
int finish_names(const struct catalog *c, const struct consumer *to, bool (*wanted)(void *ctx, const struct stack *s), void *ctx);

#endif
