/*
 * session/rows: what the stack walk in the kernel needs of a file and of a process: unwind rows, once
 * a file, and the list of mappings, each time it changes.
 */
#ifndef ALYS_SESSION_ROWS_H
#define ALYS_SESSION_ROWS_H

#include "session/live.h"

/* A file without usable rows is noted in the counters; its frames are walked by frame pointer. */
void rows_publish(struct live *l, const struct module *m, int fd);
void rows_map(struct live *l, const struct proc *p);

#endif
