/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/watchdog: a small process of ours that resumes targets that we stopped, if we cannot: all that it knows
 * of, when our end of its pipe closes (we died) or when we sent no heartbeat for two seconds (we were stopped
 * ourselves).
 */
#ifndef ALYS_LIVENESS_WATCHDOG_H
#define ALYS_LIVENESS_WATCHDOG_H

#include <stdint.h>

#include "base/err.h"

struct watchdog {
	int fd; /* our end of its pipe, -1 = there is none */
	int pid;
};

#define WATCHDOG_NONE    \
	{                \
		.fd = -1 \
	}

/* states: probe_collections_states. The forked process calls nothing that takes a lock, since threads may exist. */
int watchdog_start(struct watchdog *k, int states, struct err *err);
/* From now on it watches this process, too; over: see stops_end. */
void watchdog_add(struct watchdog *k, uint32_t tgid, uint32_t over);
/* Sends a heartbeat; call more than once a second. */
void watchdog_beat(struct watchdog *k);
/* It resumes all of them a last time and exits. */
void watchdog_stop(struct watchdog *k);

#endif
