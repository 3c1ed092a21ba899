/* SPDX-License-Identifier: Apache-2.0 */
/* functions/passing: lists of functions as bytes, on the way from the process that reads the file to the recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "dwarf/demangle.h"
#include "functions/functions.h"

static char *take_name(struct cursor *c)
{
	char name[DEMANGLE_MAX + 1];
	cursor_lenstr(c, name, sizeof(name));
	return c->bad ? NULL : strdup(name);
}

void functions_write(const struct function_list *l, struct buf *out)
{
	buf_varint(out, l->matched);
	buf_varint(out, l->used);
	buf_varint(out, l->unplaceable);
	buf_lenstr(out, l->first_unplaced ?: "");
	buf_u8(out, l->stripped);
	buf_u8(out, l->has_debug);
	buf_varint(out, l->at_cnt);
	for (size_t i = 0; i < l->at_cnt; i++) {
		buf_varint(out, l->at[i].vaddr);
		buf_varint(out, l->at[i].offset);
		buf_u8(out, l->at[i].emulated);
		buf_lenstr(out, l->at[i].name);
	}
}

static int take_function(struct cursor *c, struct function_list *out)
{
	struct chosen_function f = { .vaddr = cursor_varint(c) };
	f.offset = cursor_varint(c);
	f.emulated = cursor_u8(c);
	f.name = take_name(c);
	struct chosen_function *at = f.name ? VEC_PUSH(out, at) : NULL;
	if (!at) {
		free(f.name);
		return -EPROTO;
	}
	*at = f;
	return 0;
}

int functions_read(struct cursor *c, struct function_list *out)
{
	int rc = 0;
	*out = (struct function_list){ .matched = cursor_varint(c) };
	out->used = cursor_varint(c);
	out->unplaceable = cursor_varint(c);
	out->first_unplaced = take_name(c);
	out->stripped = cursor_u8(c);
	out->has_debug = cursor_u8(c);
	for (uint64_t n = cursor_varint(c); n && !rc; n--)
		rc = take_function(c, out);
	if (rc || c->bad || !out->first_unplaced)
		functions_free(out);
	return rc ?: c->bad ? -EPROTO : 0;
}

void inlined_write(const struct inlined_list *l, struct buf *out)
{
	buf_varint(out, l->used);
	buf_varint(out, l->at_cnt);
	for (size_t i = 0; i < l->at_cnt; i++) {
		buf_varint(out, l->at[i].copies);
		buf_lenstr(out, l->at[i].name);
	}
}

int inlined_read(struct cursor *c, struct inlined_list *out)
{
	*out = (struct inlined_list){ .used = cursor_varint(c) };
	for (uint64_t n = cursor_varint(c); n && !c->bad; n--) {
		struct inlined_function f = { .copies = cursor_varint(c) };
		f.name = take_name(c);
		struct inlined_function *at = f.name ? VEC_PUSH(out, at) : NULL;
		if (at)
			*at = f;
		else
			free(f.name);
		c->bad |= !at;
	}
	if (c->bad)
		inlined_free(out);
	return c->bad ? -EPROTO : 0;
}
