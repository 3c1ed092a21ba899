/*
 * recorder/rows: what the stack walk in the kernel needs of a file and of a process: unwind rows, once
 * a file, and the list of mappings, each time it changes.
 */
#ifndef ALYS_RECORDER_ROWS_H
#define ALYS_RECORDER_ROWS_H

#include "examine/findings.h"
#include "recorder/live.h"

/* FINDINGS_ROWS when the file's rows are wanted, not there and not on their way yet: then whoever asks this asks for them. */
uint32_t rows_wanted(struct live *l, const struct module *m);
/*
 * They are there: what is in f is taken. A file without usable rows is noted in the counters; its frames are walked by
 * frame pointer.
 */
void rows_found(struct live *l, struct findings *f);
/* The process' mappings are others than before. Asks for the rows of files that nobody asked for. */
void rows_map(struct live *l, const struct proc *p);
/* The rows of these files (numbers of modules) came while processes had them mapped already. */
void rows_renew(struct live *l, const struct map *modules);

#endif
