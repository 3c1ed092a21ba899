/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam/reclaimed: finds where the Erlang VM counts what its collections reclaim: two words in the data of each
 * scheduler, which erlang:statistics(garbage_collection) adds up. In: the functions of one file. Out: the counter, not
 * known if the code does not have the form of reclaimed.c. Its unit is the word.
 */
#ifndef ALYS_BEAM_RECLAIMED_H
#define ALYS_BEAM_RECLAIMED_H

#include "code/counter.h"

struct funcs;

struct byte_counter beam_reclaimed_find(const struct funcs *f);

#endif
