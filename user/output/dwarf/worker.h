/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/worker: the process that reads the files of traced programs. Any program that has this
 * room in it becomes the worker when it is started under worker_name: see worker.c.
 */
#ifndef ALYS_DWARF_WORKER_H
#define ALYS_DWARF_WORKER_H

/* No macro: who wants a worker is to have one linked in. */
extern const char worker_name[];

/* Serves one file until the other side hangs up; the exit status. Gives up its rights on the way. */
int worker_main(int sock);

#endif
