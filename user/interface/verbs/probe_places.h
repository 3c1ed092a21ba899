/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/probe_places: lists, for people, where the files of a process would be probed, and why. */
#ifndef ALYS_VERBS_PROBE_PLACES_H
#define ALYS_VERBS_PROBE_PLACES_H

#include "base/buf.h"
#include "base/err.h"

/* Attaches nothing. */
int places_list(uint32_t tgid, struct buf *out, struct err *err);

#endif
