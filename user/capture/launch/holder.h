/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch/holder: a small process of our own that holds threads of programs that we started, where they begin a program or
 * have loaded libraries, until the word comes that all of that is seen: by ptrace, from then until then only. So the thread's parent hears
 * nothing, set-uid programs keep their rights, and whoever dies of the two of us, the kernel lets the thread go on. When we are
 * stopped ourselves, or take too long, it goes on without us. A thread that somebody else traces is left to him.
 */
#ifndef ALYS_LAUNCH_HOLDER_H
#define ALYS_LAUNCH_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct holder {
	int pid; /* 0 = there is none */
	int fd;  /* our end of its socket */
};

/* Who waits does so at work: from whichever processor it calls, one of two has another. */
#define HOLDERS 2

/* ring: probe_hold_ring_fd, and so is odd. No other thread of ours may be at work: the process that it forks allocates memory. */
int holder_start(struct holder *h, int ring, bool odd, struct err *err);
/* What the thread was called to be held for at that time has been dealt with. */
void holder_release(struct holder *h, uint32_t tid, uint64_t time_ns);
/* It lets all of them go on and ends. */
void holder_stop(struct holder *h);

#endif
