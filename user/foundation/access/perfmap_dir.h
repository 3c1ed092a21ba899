/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/perfmap_dir: a handle to the directory in which a process keeps its perf map (/tmp/perf-PID.map, in its own mount
 * namespace and under its own PID). It outlives the process, whose map is often complete only at its end. Handles are
 * numbers above 0.
 */
#ifndef ALYS_ACCESS_PERFMAP_DIR_H
#define ALYS_ACCESS_PERFMAP_DIR_H

#include <stdint.h>

/*
 * All return a number or -errno. -EMFILE: there are too many, and no other user has more than this one. So that one
 * user cannot use up all handles, the user with the most loses one to a user with fewer; its number then gives -EBADF.
 */
int perfmap_dir_open(uint32_t tgid);
/* Adds an owner; each owner calls perfmap_dir_close. */
int perfmap_dir_share(int place);
void perfmap_dir_close(int place);
/*
 * A descriptor of the file as it is now. -EACCES: another user than the process' own created it, or it is not a regular
 * file.
 */
int perfmap_dir_map(int place);

#endif
