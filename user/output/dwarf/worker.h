/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/worker: the process that reads files of traced programs. Any program linked with this module becomes the worker
 * when started under worker_name: see worker.c.
 */
#ifndef ALYS_DWARF_WORKER_H
#define ALYS_DWARF_WORKER_H

/* A variable, not a macro: using it links the worker in. */
extern const char worker_name[];

/* Serves one file until the peer closes; returns the exit status. Drops its privileges first. */
int worker_main(int sock);

#endif
