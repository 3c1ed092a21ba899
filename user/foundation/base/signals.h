/* SPDX-License-Identifier: Apache-2.0 */
/* base/signals: the signals that end a long run, as a descriptor to poll. */
#ifndef ALYS_BASE_SIGNALS_H
#define ALYS_BASE_SIGNALS_H

#include <stdbool.h>

#include "base/err.h"

/*
 * From now on SIGINT, SIGTERM and SIGHUP are read from this descriptor (signalfd); or -errno. hangup: SIGHUP, too, if
 * it was ignored so far (nohup); otherwise it stays ignored.
 */
int signals_open(bool hangup, struct err *err);
/* Discards pending signals and restores their default action. */
void signals_close(int fd);
/* In a forked child before exec: restores the signals of before signals_open. */
void signals_give_back(void);

#endif
