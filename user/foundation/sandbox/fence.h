/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/fence: restricts this process and its children by landlock: files can be changed in one directory only, and
 * directories listed only there, in /proc and in /sys.
 *
 * Reading files stays as the user's permissions allow. Landlock judges a file by its location, and what must be read
 * can be anywhere: debug files beside a program, perf maps in the /tmp of any container (opened below a directory
 * descriptor from the broker, which landlock does not accept as permission), certificates, files of the resolver and
 * the user database with the libraries they load. Reading them through the broker would mean reading with the broker's
 * rights, which are more than this process has.
 */
#ifndef ALYS_SANDBOX_FENCE_H
#define ALYS_SANDBOX_FENCE_H

/* dir_fd -1: no directory. no_new_privs must be set. 1: done; 0: this kernel has no landlock; or -errno. */
int fence_raise(int dir_fd);

#endif
