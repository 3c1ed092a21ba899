/* SPDX-License-Identifier: Apache-2.0 */
/* naming/finish: symbolizes what was recorded, at the end or for a report. */
#ifndef ALYS_NAMING_FINISH_H
#define ALYS_NAMING_FINISH_H

#include "base/err.h"
#include "catalog/consumer.h"
#include "recording/handles.h"

/* Resolves every frame that was recorded, for the catalog and the consumer. */
int finish_symbols(const struct handles *h, struct err *err);
/* Passes on the catalog's names for the frames of wanted stacks; NULL: of all. */
int finish_names(const struct catalog *c, const struct consumer *to, bool (*wanted)(void *ctx, const struct stack *s), void *ctx);

#endif
