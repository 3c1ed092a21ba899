/* SPDX-License-Identifier: Apache-2.0 */
/* format/field_names: see field_names.h. */
#include "format/field_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static uint64_t hash_of(const uint8_t *bytes, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */
	for (size_t i = 0; i < len; i++)
		h = (h ^ bytes[i]) * 0x100000001b3ull;
	return h;
}

static uint32_t add_span(struct names *n, const void *bytes, size_t len)
{
	if (n->spans_cnt >= NAMES_FAILED)
		return NAMES_FAILED;
	struct name_span *s = VEC_PUSH(n, spans);
	if (!s)
		return NAMES_FAILED;
	*s = (struct name_span){ .at = n->text.len, .len = len };
	buf_add(&n->text, bytes, len);
	buf_u8(&n->text, 0);
	return n->text.failed ? NAMES_FAILED : (uint32_t)(n->spans_cnt - 1);
}

uint32_t names_put(struct names *n, const void *bytes, size_t len)
{
	uint64_t h = hash_of(bytes, len);
	for (uint64_t *id; (id = map_get(&n->by_hash, h)); h++) {
		const struct name_span *s = &n->spans[*id];
		if (s->len == len && (!len || !memcmp(n->text.data + s->at, bytes, len)))
			return (uint32_t)*id;
	}
	uint32_t made = add_span(n, bytes, len);
	uint64_t *place = made == NAMES_FAILED ? NULL : map_put(&n->by_hash, h);
	if (!place)
		return NAMES_FAILED;
	*place = made;
	return made;
}

const char *names_at(const struct names *n, uint32_t id)
{
	return (const char *)n->text.data + n->spans[id].at;
}

void names_free(struct names *n)
{
	buf_free(&n->text);
	map_free(&n->by_hash);
	free(n->spans);
	*n = (struct names){ 0 };
}
