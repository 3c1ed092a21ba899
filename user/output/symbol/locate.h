/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol/locate: opens the separate debug files that a worker wants. Runs with the session's rights,
 * so it reads none of them, and opens only what the system or the file's own owner put there.
 */
#ifndef ALYS_SYMBOL_LOCATE_H
#define ALYS_SYMBOL_LOCATE_H

#include "dwarf/want.h"

/*
 * A descriptor, or -1. fd and path are those of the file that the debug information is about. Never
 * asks the network (see fetch.h).
 */
int locate_debug(const struct want *w, int fd, const char *path);

#endif
