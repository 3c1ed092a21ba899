/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/pack: encodes a tally and its cells for the page's script (web/src/decode.js): columns of varints, deflated,
 * base64. Private to this module.
 */
#ifndef ALYS_SINK_PACK_H
#define ALYS_SINK_PACK_H

#include "sink/cells.h"

/* 0 or -ENOMEM. */
int pack_base64(const struct tally *t, const struct cells *c, struct buf *out);

#endif
