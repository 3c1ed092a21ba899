/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/pack: a tally and its cells as the bytes that the page's script reads (web/src/decode.js):
 * columns of varints, deflated, as base64. Not for other modules.
 */
#ifndef ALYS_SINK_PACK_H
#define ALYS_SINK_PACK_H

#include "sink/cells.h"

/* 0 or -ENOMEM. */
int pack_base64(const struct tally *t, const struct cells *c, struct buf *out);

#endif
