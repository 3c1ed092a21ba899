/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/balance: balance of entries and exits per function (its name and file's name). A call that entered, has not left
 * and is not inside any more is lost. Private to this module; others use probe_calls.
 */
#ifndef ALYS_PROBE_BALANCE_H
#define ALYS_PROBE_BALANCE_H

#include <stddef.h>
#include <stdint.h>

#include "probe/state.h"

/* The function's index, 0 if there are too many. */
uint16_t calls_number(struct probe *p, const char *function, int file_fd);
void calls_free(struct counted_list *l);

#endif
