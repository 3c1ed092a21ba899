/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam/pids: how an Erlang VM makes a pid of its number and serial, from the machine code of list_to_pid_1, the function
 * behind list_to_pid(List). That refuses numbers of more bits than the VM's pids have: 15 up to OTP 25, with 13 of the serial behind
 * them and the index in the table of processes in the upper half of the word; 28 later (erl_term.h, erl_ptab.h). Then all bits belong to
 * the pid, but the VM permutes those that are the index, by constants in its variable erts_proc: the first of them is the mask of these
 * bits. Whether it is, is proven by the constants themselves at each pid (bpf/beam.bpf.h).
 */
#ifndef ALYS_BEAM_PIDS_H
#define ALYS_BEAM_PIDS_H

#include "alys.h"

struct funcs;

/* Sets pid_bits and pid_table; leaves 0 where the code has another form. */
void beam_pids_find(const struct funcs *f, struct alys_beam *out);

#endif
