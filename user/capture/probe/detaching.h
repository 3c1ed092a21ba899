/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/detaching: detaches in background threads. The kernel takes one or two grace periods per link, 20 to 500 ms,
 * which must not delay new processes.
 */
#ifndef ALYS_PROBE_DETACHING_H
#define ALYS_PROBE_DETACHING_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/state.h"

/* Takes over n attachments. Blocks only while very many are being detached. */
void detaching_put(const struct attachment *list, size_t n);
/* Waits until all are detached. */
void detaching_await(void);
/*
 * Are links of this file that fire in the process (0 = any) still being detached? Links without a process fire in each.
 */
bool detaching_holds(struct probe_file file, uint32_t tgid);
/* Waits until none are. */
void detaching_await_of(struct probe_file file, uint32_t tgid);

#endif
