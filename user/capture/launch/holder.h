/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch/holder: a small process of ours that stops threads of launched programs when they exec or have loaded
 * libraries, until their files have been probed. It uses ptrace, and only for that time: the thread's parent does not
 * notice, set-uid programs keep their privileges, and if either of our processes dies the kernel resumes the thread. If
 * we are stopped ourselves, or take too long, the thread continues without us. A thread traced by somebody else is left
 * alone.
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

/* The longest hold. Probing the files of the largest programs takes about a second. */
#define HOLDER_LIMIT_NS 5000000000ull

/* The waiting thread spins: a holder must be able to run on another CPU, hence two of them. */
#define HOLDERS 2

/*
 * ring: probe_hold_ring_fd with the same `odd`. No other thread of ours may be running: the forked process allocates
 * memory.
 */
int holder_start(struct holder *h, int ring, bool odd, struct err *err);
/* What the thread was stopped for at that time has been handled. */
void holder_release(struct holder *h, uint32_t tid, uint64_t time_ns);
/* It resumes all threads and exits. */
void holder_stop(struct holder *h);

#endif
