/* daemon/notify: tells the service manager how the daemon is, when there is one (sd_notify(3)). */
#ifndef ALYS_DAEMON_NOTIFY_H
#define ALYS_DAEMON_NOTIFY_H

#include <stdint.h>

#define NOTIFY_ON "STATUS=tracing"
#define NOTIFY_OFF "STATUS=off"

/* "READY=1", "STATUS=...", "STOPPING=1", "WATCHDOG=1". Failures are of no consequence. */
void notify(const char *state);
/* Microseconds within which the manager wants to hear WATCHDOG=1; 0 = it does not. */
uint64_t notify_watchdog_us(void);

#endif
