/* SPDX-License-Identifier: Apache-2.0 */
/* format/heapful_notes: what is to be said of a trace with heaps of Erlang processes (EVENT_F_HEAPFUL). */
#ifndef ALYS_FORMAT_HEAPFUL_NOTES_H
#define ALYS_FORMAT_HEAPFUL_NOTES_H

#include "format/sink.h"

/* Is all that was allocated heap-fulls? These are samples, not calls, and how they end is not known. */
bool format_all_heapfuls(const struct snapshot *s);
/* How certain the rows are, and how to get names if there are none. Nothing for other traces. */
void format_heapfuls(const struct sink_input *in, struct buf *out);

#endif
