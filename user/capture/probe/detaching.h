/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/detaching: attachments on their way out. The kernel lets go of each only after a grace period or two, 20 to
 * 500 ms, so threads wait for that: whoever has new processes to look after does not.
 */
#ifndef ALYS_PROBE_DETACHING_H
#define ALYS_PROBE_DETACHING_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/state.h"

/* Takes n attachments over. Waits only while very many are leaving already. */
void detaching_put(const struct attachment *list, size_t n);
/* Until all that were put are gone, whoever put them. */
void detaching_await(void);
/*
 * Whether some of this file are still there that see calls of the process; 0 = of any. What is
 * attached to all sees those of each.
 */
bool detaching_holds(struct probe_file file, uint32_t tgid);
/* Until none are. */
void detaching_await_of(struct probe_file file, uint32_t tgid);

#endif
