/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes/note_place: what differs between machines in a probe: the words in which the assembler says where an argument is, and the
 * instruction. Private to this module.
 */
#ifndef ALYS_NOTES_NOTE_PLACE_H
#define ALYS_NOTES_NOTE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "alys.h"

/* What sys/sdt.h puts a probe on. */
struct note_nop {
	uint8_t bytes[4], len;
	bool emulated; /* by every kernel */
};

extern const struct note_nop note_nop;

/*
 * Reads the place at *at and moves *at behind it; sets form, value and reg. 0, -ENOTSUP or -EINVAL as note_args in
 * notes.h. What follows the place is not looked at.
 */
int note_place(const char **at, struct alys_note_arg *out);

/* A number in C's forms, and moves *at behind it. False: there is none. */
bool note_number(const char **at, long long *out);

#endif
