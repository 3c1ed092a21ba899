/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/allowed: what the daemon's two processes may ask the kernel for (seccomp). The broker's table is of both: when
 * options are read again, the next collector is its child. Neither may trace, write to others' memory, mount, load
 * modules, make namespaces, or use what they have no use for; a broker that may stop a process traces it to that end only.
 * 0 or -errno; no new privileges must be set.
 */
#ifndef ALYS_SANDBOX_ALLOWED_H
#define ALYS_SANDBOX_ALLOWED_H

#include <stdbool.h>

int allowed_to_broker(bool stops);
int allowed_to_collector(void);

#endif
