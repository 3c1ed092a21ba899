/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/call_counts: how often the functions that --calls chose were called, by the names that frames are shown with. For
 * sink/, report/ and profiles/ only.
 */
#ifndef ALYS_FORMAT_CALL_COUNTS_H
#define ALYS_FORMAT_CALL_COUNTS_H

#include "format/field_names.h"
#include "format/sink.h"

struct calls {
	struct names names; /* of functions, as sink_frame_name writes them */
	uint64_t *of;       /* calls, by name */
	size_t of_cnt, of_cap;
	bool unnamed; /* some have addresses for names, as all frames do: the recording was cut short */
};

/* Were calls counted in this recording? */
bool calls_were_counted(const struct catalog *c);
/* Of one process, or all (0). 0, then calls_unload; or -ENOMEM. */
int calls_load(struct calls *k, const struct catalog *c, uint32_t tgid);
/* NULL: the function was not chosen. */
const uint64_t *calls_of(const struct calls *k, const char *name);
void calls_unload(struct calls *k);

/* The function's name. 0 or -ENOMEM. */
int calls_name(const struct catalog *c, const struct called *row, struct sink_stack *room, struct buf *out);

/* A function of which copies were inlined; their calls are in no count. */
struct inlined_copies {
	char name[1024];
	uint64_t n;
};
/* The next one; false at the end. Start with *at = 0. */
bool calls_next_inlined(const struct catalog *c, size_t *at, struct inlined_copies *out);
/* The same in words: a line, or nothing. */
void calls_inlined_note(const struct catalog *c, struct buf *out);

#endif
