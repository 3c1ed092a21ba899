/* sandbox/landlock: takes this process, and all it starts, its rights on files, TCP and other processes, for good. */
#ifndef ALYS_SANDBOX_LANDLOCK_H
#define ALYS_SANDBOX_LANDLOCK_H

/*
 * What is left: to read and map files below these places, a list that ends with NULL; places that are not there are
 * passed over. Listing directories is not reading. From Linux 6.7 on no TCP, from 6.12 on no signals and abstract
 * sockets to processes without. No new privileges must be set. 1: done; 0: this kernel has no landlock; or -errno.
 */
int landlock_leave(const char *const *readable);

#endif
