/*
 * session/rows: what the stack walk in the kernel needs of a file and of a process: unwind rows, once
 * a file, and the list of mappings, each time it changes.
 */
#ifndef ALYS_SESSION_ROWS_H
#define ALYS_SESSION_ROWS_H

#include "session/live.h"

/*
 * A file is mapped: at first, the sooner this is called the more of it is done while the kernel looks at our
 * programs. rows_map does it for all files of a process that it was not done for. A file without usable rows
 * is noted in the counters; its frames are walked by frame pointer.
 */
void rows_publish(struct live *l, const struct module *m, int fd);
/* The process' mappings are others than before. */
void rows_map(struct live *l, const struct proc *p);

#endif
