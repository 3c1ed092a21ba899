/* SPDX-License-Identifier: Apache-2.0 */
/* sink/registry: see registry.h. */
#include "sink/registry.h"

#include <string.h>

#define ADDRESS(id, before, name) &sink_##id,
static const struct sink_ops *const formats[] = { &sink_feed, SINK_LIST(ADDRESS) };

const struct sink_ops *sink_next(size_t *i)
{
	return *i < sizeof(formats) / sizeof(formats[0]) ? formats[(*i)++] : NULL;
}

const struct sink_ops *sink_find(const char *name)
{
	const struct sink_ops *ops;
	for (size_t i = 0; (ops = sink_next(&i));) {
		if (!strcmp(ops->name, name))
			return ops;
	}
	return NULL;
}
