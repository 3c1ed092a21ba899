/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/watchdog: a small process of our own that lets targets go on that we stopped, when we cannot any more: of all
 * that it was told of, when our end of its pipe closes (we died, however that came) or when nothing was
 * heard from us for two seconds (we were stopped ourselves).
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

/* states: probe_collections_states. The process that it forks calls nothing that takes a lock: threads may be there. */
int watchdog_start(struct watchdog *k, int states, struct err *err);
/* From now on it cares for this process as well; over: see stops_end. */
void watchdog_add(struct watchdog *k, uint32_t tgid, uint32_t over);
/* To be heard now and then, more than once a second. */
void watchdog_beat(struct watchdog *k);
/* It continues all of them a last time and ends. */
void watchdog_stop(struct watchdog *k);

#endif
