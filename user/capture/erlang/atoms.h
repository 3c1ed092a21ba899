/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erlang/atoms: texts of atoms of a running Erlang VM, read from its table of atoms. Where that keeps what is found by the atoms that every VM has
 * from its start, whose names are in its program, and proven by these. An atom never goes, so its text may be read at
 * any time while the VM runs. Everything that is read may be hostile: lengths are bounded, nothing is followed twice, and a VM with
 * which reading failed too often is read no more.
 */
#ifndef ALYS_ERLANG_ATOMS_H
#define ALYS_ERLANG_ATOMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "beam/process_names.h"

struct atoms {
	uint32_t tgid;
	uint64_t pages;    /* address of the table's array of pages; 0 = not understood */
	uint16_t index_at; /* offsets in an atom: its own number, */
	uint16_t len_at;   /* bytes of its name, */
	uint16_t name_at;  /* and where that is */
	uint16_t misses;   /* what could not be read, or is no atom */
};

/* bias: what is added to ELF addresses in the process. */
void atoms_find(uint32_t tgid, uint64_t bias, const struct beam_atoms *known, struct atoms *out);
/* Adds the text of a term; false: it is no atom, or cannot be read. */
bool atoms_text(struct atoms *a, uint64_t term, struct buf *out);

#endif
