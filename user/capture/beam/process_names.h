/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam/process_names: where the Erlang VM keeps what a process is called, from the machine code of print_process_info, which writes a
 * process into a crash dump. It passes these words to erts_print, each beside the text that says what they are:
 *
 *	"Name: %T\n"                p->common.u.alive.reg->name
 *	"Spawned as: %T:%T/%bpu\n"  p->u.initial.module, function, arity: three neighbours
 *
 * In: the functions of one file.
 */
#ifndef ALYS_BEAM_PROCESS_NAMES_H
#define ALYS_BEAM_PROCESS_NAMES_H

#include <stdint.h>

#include "alys.h"

struct funcs;

#define BEAM_ATOMS 24
#define BEAM_ATOM_NAME 32

/* The VM's table of atoms, by its ELF address, 0 = not known; and what the first of them are called (erl_atom_names). */
struct beam_atoms {
	uint64_t table;
	char names[BEAM_ATOMS][BEAM_ATOM_NAME];
};

/* Sets registered, registered_name and initial; leaves 0 where the code has another form. */
void beam_process_names_find(const struct funcs *f, struct alys_beam *out, struct beam_atoms *atoms);

#endif
