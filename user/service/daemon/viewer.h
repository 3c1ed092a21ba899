/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/viewer: fetches a daemon's lists of stacks for `top` over its socket, in a thread. */
#ifndef ALYS_DAEMON_VIEWER_H
#define ALYS_DAEMON_VIEWER_H

#include "top/top.h"

struct viewer;

/* socket NULL: daemon_socket(). pid 0: all processes. The first list has arrived when this returns. */
struct viewer *viewer_new(const char *socket, uint32_t pid, struct err *err);
struct top_source viewer_source(struct viewer *v);
void viewer_free(struct viewer *v);

#endif
