/* SPDX-License-Identifier: Apache-2.0 */
/*
 * governor/turns: a thread that carries out one turn at a time. In: what to do. Out: when it was done.
 *
 *   probes attached -> window opened, counted -> after length_ns counted, shut -> probes detached
 *   probes at collections detached
 */
#ifndef ALYS_GOVERNOR_TURNS_H
#define ALYS_GOVERNOR_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/probe.h"

/* Time for calls under way to return after a window is shut. */
#define TURN_COME_BACK_NS 1000000ull

/* A request to the thread, and its result. */
struct turn {
	bool window;                                      /* otherwise they are only detached */
	bool stay;                                        /* they stay attached after the window */
	bool leave;                                       /* only those that linger are detached, see probe_window_leave */
	uint64_t length_ns;                               /* of the window */
	uint64_t interval, interval_then;                 /* during the window, and after it */
	uint64_t begun_ns, opened_ns, closed_ns, done_ns; /* 0 = not yet */
};

struct turns;

/* count: called by the thread at both ends of a window, and before they are only detached (closed). Borrows p. NULL: err. */
struct turns *turns_new(struct probe *p, void (*count)(void *ctx, bool closed), void *ctx, struct err *err);
/* Not during a turn. False: there is no thread, and no turn. */
bool turns_ask(struct turns *t, const struct turn *what);
/* How far the last turn has come. */
struct turn turns_now(struct turns *t);
/* Readable when a window was closed, or a turn is done, since turns_now was called last. */
int turns_fd(const struct turns *t);
void turns_await(struct turns *t);
void turns_free(struct turns *t);

#endif
