/* SPDX-License-Identifier: Apache-2.0 */
/* sink/registry: all formats. */
#ifndef ALYS_SINK_REGISTRY_H
#define ALYS_SINK_REGISTRY_H

#include <stddef.h>

#include "format/sink.h"

extern const struct sink_ops sink_json, sink_jsonl, sink_pprof, sink_folded, sink_flamegraph, sink_text, sink_dhat,
	sink_heaptrack, sink_massif, sink_speedscope, sink_html, sink_feed;

const struct sink_ops *sink_find(const char *name); /* NULL when unknown */
const struct sink_ops *sink_next(size_t *i);        /* all, for help texts */

#endif
