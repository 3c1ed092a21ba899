/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol/locate: opens the separate debug files that a worker requests. It runs with the recorder's privileges, so it
 * parses none of them, and opens only files of the system or of the same owner.
 */
#ifndef ALYS_SYMBOL_LOCATE_H
#define ALYS_SYMBOL_LOCATE_H

#include "dwarf/want.h"

/*
 * A descriptor, or -1. fd and path are those of the file that the debug information is for. Never uses the network (see
 * fetch.h).
 */
int locate_debug(const struct want *w, int fd, const char *path);

#endif
