/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam/process_layout: finds where the Erlang VM keeps the bounds of a process' heap in its struct Process, from the
 * machine code of erts_process_gc_info. That function makes what process_info(Pid, garbage_collection_info) answers: a
 * list of sizes, in an order that has not changed since OTP 19 (erts/emulator/beam/erl_gc.c, `values`):
 *
 *	heap_sz + extra, mbuf_sz, high_water - heap, hend - stop, ..., htop - heap
 *
 * and again, for a process with an abandoned heap, the third and the last one measured from there. In: the functions of
 * one file. Out: offsets, or false if the code does not have this form.
 */
#ifndef ALYS_BEAM_PROCESS_LAYOUT_H
#define ALYS_BEAM_PROCESS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alys.h"

struct funcs;

#define BEAM_LAYOUT_FUNCTION "erts_process_gc_info"

bool beam_layout_find(const struct funcs *f, struct alys_beam *out);
/* The same for the function's bytes. */
bool beam_layout_in(const uint8_t *code, size_t n, struct alys_beam *out);

#endif
