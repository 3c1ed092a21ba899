/* SPDX-License-Identifier: Apache-2.0 */
/* format/call_counts: see call_counts.h. */
#include "format/call_counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "format/format.h"

#define INLINED_SHOWN 5

bool calls_were_counted(const struct catalog *c)
{
	return catalog_meta(c, CALLS_KEY);
}

/* The outermost frame: others at its entry are inlined into it. */
int calls_name(const struct catalog *c, const struct called *row, struct sink_stack *room, struct buf *out)
{
	static const struct sink_options whole = { .keep_allocator_frames = true };
	if (sink_stack_of(c, &whole, row->stack, room))
		return -ENOMEM;
	sink_frame_name(&room->frames[room->frames_cnt - 1], out);
	return out->failed ? -ENOMEM : 0;
}

static int add(struct calls *k, const char *name, uint64_t calls)
{
	uint32_t id = names_put(&k->names, name, strlen(name));
	uint64_t *of = id == NAMES_FAILED ? NULL : id < k->of_cnt ? &k->of[id] : VEC_PUSH(k, of);
	if (!of)
		return -ENOMEM;
	*of += calls;
	return 0;
}

void calls_unload(struct calls *k)
{
	names_free(&k->names);
	free(k->of);
	*k = (struct calls){ 0 };
}

int calls_load(struct calls *k, const struct catalog *c, uint32_t tgid)
{
	struct sink_stack room = { 0 };
	struct buf name = { 0 };
	const struct called *row;
	int rc = 0;
	*k = (struct calls){ 0 };
	for (size_t i = 0; !rc && (row = catalog_next_called(c, &i));) {
		const struct proc *p = catalog_proc(c, row->proc);
		if (tgid && (!p || p->tgid != tgid))
			continue;
		buf_reset(&name);
		rc = calls_name(c, row, &room, &name);
		k->unnamed |= !rc && !format_is_named(&room.frames[room.frames_cnt - 1]);
		rc = rc ?: add(k, buf_str(&name), row->calls);
	}
	sink_stack_free(&room);
	buf_free(&name);
	if (rc)
		calls_unload(k);
	return rc;
}

const uint64_t *calls_of(const struct calls *k, const char *name)
{
	for (uint32_t i = 0; i < k->of_cnt; i++) {
		if (!strcmp(names_at(&k->names, i), name))
			return &k->of[i];
	}
	return NULL;
}

bool calls_next_inlined(const struct catalog *c, size_t *at, struct inlined_copies *out)
{
	const char *text = catalog_meta(c, CALLS_INLINED_KEY), *line = (text ?: "") + *at, *tab = strchr(line, '\t');
	if (!tab)
		return false;
	struct buf clean = { 0 }, name = { 0 };
	buf_add(&name, line, (size_t)(tab - line));
	text_clean(&clean, buf_str(&name), SIZE_MAX);
	*out = (struct inlined_copies){ .n = strtoull(tab + 1, NULL, 10) };
	strncpy(out->name, buf_str(&clean), sizeof(out->name) - 1);
	buf_free(&clean);
	buf_free(&name);
	const char *end = strchr(tab, '\n');
	*at = end ? (size_t)(end + 1 - text) : strlen(text);
	return true;
}

void calls_inlined_note(const struct catalog *c, struct buf *out)
{
	struct inlined_copies f;
	size_t n = 0;
	for (size_t at = 0; calls_next_inlined(c, &at, &f); n++) {
		if (n == INLINED_SHOWN)
			continue;
		buf_adds(out, n ? ", " : "calls of inlined copies are not counted, so bytes per call are too high for these: ");
		buf_addf(out, "%s (%" PRIu64 " cop%s)", f.name, f.n, f.n == 1 ? "y" : "ies");
	}
	if (n > INLINED_SHOWN)
		buf_addf(out, " and %zu more", n - INLINED_SHOWN);
	buf_adds(out, n ? "\n" : "");
}
