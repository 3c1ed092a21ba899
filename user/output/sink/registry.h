/* SPDX-License-Identifier: Apache-2.0 */
/* sink/registry: the one list of export formats. */
#ifndef ALYS_SINK_REGISTRY_H
#define ALYS_SINK_REGISTRY_H

#include <stddef.h>

#include "profiles/profiles.h"

/* struct sink_ops sink_ID, the separator before its name in a list, and its name. */
#define SINK_LIST(X)                      \
	X(json, "", "json")               \
	X(jsonl, ", ", "jsonl")           \
	X(pprof, ", ", "pprof")           \
	X(otlp, ", ", "otlp")             \
	X(perfetto, ", ", "perfetto")     \
	X(folded, ", ", "folded-stacks")  \
	X(flamegraph, ", ", "flamegraph") \
	X(text, ", ", "text")             \
	X(dhat, ", ", "dhat")             \
	X(heaptrack, ", ", "heaptrack")   \
	X(massif, ", ", "massif")         \
	X(speedscope, ", ", "speedscope") \
	X(html, ", ", "html")

/* "json, jsonl, ...": a string literal, for help texts. */
#define SINK_NAMES SINK_LIST(SINK_NAME_)
#define SINK_NAME_(id, before, name) before name

#define SINK_DECLARE_(id, before, name) extern const struct sink_ops sink_##id;
SINK_LIST(SINK_DECLARE_)
#undef SINK_DECLARE_
extern const struct sink_ops sink_feed; /* used by `top`; not in help texts */

const struct sink_ops *sink_find(const char *name); /* NULL when unknown */
const struct sink_ops *sink_next(size_t *i);        /* all */

#endif
