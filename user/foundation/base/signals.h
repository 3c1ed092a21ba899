/* SPDX-License-Identifier: Apache-2.0 */
/* base/signals: the signals that end a long run, as a descriptor to poll; threads that get none. */
#ifndef ALYS_BASE_SIGNALS_H
#define ALYS_BASE_SIGNALS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"

/*
 * From now on SIGINT, SIGTERM and SIGHUP are read from this descriptor (signalfd); or -errno. hangup: SIGHUP, too, if
 * it was ignored so far (nohup); otherwise it stays ignored.
 */
int signals_open(bool hangup, struct err *err);
/* Discards pending signals and restores their default action. */
void signals_close(int fd);
/* A thread with all signals blocked: other threads handle them. out NULL: detached. An errno, or 0. */
int signals_thread(pthread_t *out, void *(*run)(void *arg), void *arg);
/* In a forked child before exec: restores the signals of before signals_open. */
void signals_give_back(void);

#endif
