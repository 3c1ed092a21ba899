/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/heap_process: splits a verb that reads a heap into two processes: one keeps the privileges to look into that
 * process and serves requests (broker, broker/grants), the other has none, and reads, interprets and answers.
 *
 *   broker: memory, maps and files of one process --> reader: interprets them, standard output
 */
#ifndef ALYS_HEAPVIEW_HEAP_PROCESS_H
#define ALYS_HEAPVIEW_HEAP_PROCESS_H

#include "access/outfile.h"
#include "broker/broker.h"

struct reader {
	struct broker broker;
	struct outfile *out; /* finished by the broker, NULL = none */
};

/*
 * Files to read and write must be open before (access/outfile, access/infile). 0: this is the reader. 1: this was the
 * broker, and *status is the verb's; out was aborted unless finished. Or -errno. There must be no other threads.
 */
int reader_split(struct reader *r, uint32_t tgid, bool stops, int *status, struct err *err);
/* In the reader: out is complete. 0 or -errno, with a message. */
int reader_finish(struct reader *r, struct err *err);

#endif
