/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/allowed: seccomp filters of the daemon's two processes. The broker's filter includes the collector's: when
 * the configuration is reloaded, the next collector is its child. Neither may trace, write to others' memory, mount,
 * load modules, make namespaces or do anything that it does not need; a broker that may stop a process uses ptrace for
 * that only. 0 or -errno; no_new_privs must be set.
 */
#ifndef ALYS_SANDBOX_ALLOWED_H
#define ALYS_SANDBOX_ALLOWED_H

#include <stdbool.h>

int allowed_to_broker(bool stops);
int allowed_to_collector(void);

#endif
