/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/notify: tells the service manager how the daemon is, when there is one (sd_notify(3)). */
#ifndef ALYS_DAEMON_NOTIFY_H
#define ALYS_DAEMON_NOTIFY_H

#include <stdint.h>

enum notify { NOTIFY_READY, NOTIFY_ON, NOTIFY_OFF, NOTIFY_RELOADING, NOTIFY_STOPPING, NOTIFY_ALIVE, NOTIFY_CNT };

/* Failures are of no consequence. */
void notify(enum notify what);
/* From here on somebody else says it: a process that the manager listens to. */
void notify_through(int (*tell)(void *ctx, int what), void *ctx);
/* Microseconds within which the manager wants to hear WATCHDOG=1; 0 = it does not. */
uint64_t notify_watchdog_us(void);

#endif
