/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/fence: takes this process, and all it starts, the right to change files but in one directory, and to
 * list directories but there, in /proc and in /sys (landlock).
 *
 * Reading files stays as the user's rights allow. Landlock judges a file by where it lies, and what must be
 * read lies anywhere: debug files beside a program of any directory, perf maps in the /tmp of any container
 * (opened below a directory that the broker gave, which to landlock is no permission), certificates, the resolver's
 * and the user data base's files with whatever libraries they load. Read through the broker instead, they would
 * be read with its rights, which are more than this process has.
 */
#ifndef ALYS_SANDBOX_FENCE_H
#define ALYS_SANDBOX_FENCE_H

/* dir_fd -1: in none. No new privileges must be set. 1: done; 0: this kernel has no landlock; or -errno. */
int fence_raise(int dir_fd);

#endif
