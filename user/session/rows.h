/*
 * session/rows: what the stack walk in the kernel needs of a file and of a process: unwind rows, once
 * a file, and the list of mappings, each time it changes.
 */
#ifndef ALYS_SESSION_ROWS_H
#define ALYS_SESSION_ROWS_H

#include "session/live.h"

/*
 * A file is mapped: the sooner it is known, the more of this is done while the kernel looks at our
 * programs. A file without usable rows is noted in the counters; its frames are walked by frame pointer.
 */
void rows_publish(struct live *l, const struct module *m, int fd);
/* The process' mappings are others than before. */
void rows_map(struct live *l, const struct proc *p);

#endif
