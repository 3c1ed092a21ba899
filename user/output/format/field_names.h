/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/field_names: interns byte strings, numbered from 0 in order of arrival. A zeroed struct is empty. For sink/
 * and report/ only.
 */
#ifndef ALYS_FORMAT_FIELD_NAMES_H
#define ALYS_FORMAT_FIELD_NAMES_H

#include "base/buf.h"
#include "base/map.h"

#define NAMES_FAILED UINT32_MAX

struct name_span {
	size_t at, len;
};

struct names {
	struct buf text;
	struct map by_hash; /* hash, or the next free number after it -> id */
	struct name_span *spans;
	size_t spans_cnt, spans_cap;
};

/* The id, new or old; NAMES_FAILED when out of memory. */
uint32_t names_put(struct names *n, const void *bytes, size_t len);
/* NUL-terminated; borrowed until the next put. */
const char *names_at(const struct names *n, uint32_t id);
void names_free(struct names *n);

#endif
