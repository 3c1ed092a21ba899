/* session/fence: takes this process, and all it starts, the right to change files but in one directory (landlock). */
#ifndef ALYS_SESSION_FENCE_H
#define ALYS_SESSION_FENCE_H

/* dir_fd -1: in none. No new privileges must be set. 1: done; 0: this kernel has no landlock; or -errno. */
int fence_writes(int dir_fd);

#endif
