/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam/generations: finds where the Erlang VM counts a process' minor collections since its last major one (gen_gcs), from
 * the machine code of erl_create_process. That sets two neighbouring 16-bit words of the new struct Process (erl_process.h):
 *
 *	p->gen_gcs = 0;
 *	p->max_gen_gcs = erts_max_gen_gcs;
 */
#ifndef ALYS_BEAM_GENERATIONS_H
#define ALYS_BEAM_GENERATIONS_H

#include "alys.h"

struct funcs;

/* Sets gen_gcs; leaves 0 where the code has another form. */
void beam_generations_find(const struct funcs *f, struct alys_beam *out);

#endif
