/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/calls: the running account of entries against exits, by function: its name and that of its file. What entered, and
 * neither left nor is still inside, is lost. Not for other modules, which have probe_calls.
 */
#ifndef ALYS_PROBE_CALLS_H
#define ALYS_PROBE_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "probe/state.h"

/* The function's number, 0 when there are too many. */
uint16_t calls_number(struct probe *p, const char *function, int file_fd);
void calls_free(struct counted_list *l);

#endif
