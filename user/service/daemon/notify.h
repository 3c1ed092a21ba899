/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/notify: reports the daemon's state to the service manager, if there is one (sd_notify(3)). */
#ifndef ALYS_DAEMON_NOTIFY_H
#define ALYS_DAEMON_NOTIFY_H

#include <stdint.h>

enum notify { NOTIFY_READY, NOTIFY_ON, NOTIFY_OFF, NOTIFY_RELOADING, NOTIFY_STOPPING, NOTIFY_ALIVE, NOTIFY_CNT };

/* Failures are ignored. */
void notify(enum notify what);
/* From now on another process sends it, to which the manager listens. */
void notify_through(int (*tell)(void *ctx, int what), void *ctx);
/* Interval in microseconds within which the manager expects WATCHDOG=1; 0 = none. */
uint64_t notify_watchdog_us(void);

#endif
