/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes: the probes that a program or library defines for tracers (USDT): notes in .note.stapsdt, as sys/sdt.h of
 * systemtap writes them. In: one ELF file, which may be hostile. Out: each probe's place, its semaphore and where its
 * arguments are. Source: sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
 */
#ifndef ALYS_NOTES_H
#define ALYS_NOTES_H

#include "alys.h"
#include "elf/elf.h"

/* A probe, as in its note. Borrowed texts, valid during the call. */
struct note {
	const char *provider, *name;
	const char *args;   /* "8@%rdi -4@-20(%rbp) 8@$1", "8@x0 -4@[sp, 12] 8@1": SIZE@PLACE, a negative size is a signed one */
	uint64_t vaddr;     /* of its instruction */
	uint64_t semaphore; /* address of a 16-bit counter of its tracers; 0 = none */
};

/* Calls fn for each note until it returns other than 0, which is returned. Malformed notes end the list. */
int notes_each(const struct elf *e, int (*fn)(void *ctx, const struct note *n), void *ctx);

/*
 * Reads the places of the first `max` arguments; the others are ALYS_NOTE_NONE. Returns how many there are, or
 * -ENOTSUP: one of them is in a form that programs in the kernel do not read: relative to a symbol, with an index
 * register, in a vector register, of more than 8 bytes. -EINVAL: malformed.
 */
int note_args(const char *text, struct alys_note_arg *out, unsigned int max);

#endif
