/* SPDX-License-Identifier: Apache-2.0 */
/* base/signals: the signals that end a long run, as something to read. */
#ifndef ALYS_BASE_SIGNALS_H
#define ALYS_BASE_SIGNALS_H

#include <stdbool.h>

#include "base/err.h"

/*
 * SIGINT, SIGTERM and SIGHUP of this process come out of this descriptor (signalfd) from now on; or -errno. hangup: so does
 * a SIGHUP that was ignored until now (nohup), which stays ignored else.
 */
int signals_open(bool hangup, struct err *err);
/* What waits in it is forgotten, and they end the process again. */
void signals_close(int fd);
/* In a forked child that becomes another program: signals are what they were before signals_open. */
void signals_give_back(void);

#endif
