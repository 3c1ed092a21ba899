/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/reader: a verb that reads the heap of one process does so without any right: it becomes two, of which one keeps
 * the right to look into that process and hands out what a heap's reader wants (broker, broker/grants), and the
 * other one reads, judges and answers.
 *
 *   broker: memory, maps and files of one process --> reader: all that they say, standard output
 */
#ifndef ALYS_HEAPVIEW_READER_H
#define ALYS_HEAPVIEW_READER_H

#include "access/outfile.h"
#include "broker/broker.h"

struct reader {
	struct broker broker;
	struct outfile *out; /* the broker's to finish, NULL = none */
};

/*
 * What the reader shall write and read of files must be open before (access/outfile, access/infile). 0: this is the reader.
 * 1: this was the broker, and *status is the verb's; out was aborted unless it was finished. Or -errno. There may be no
 * other threads.
 */
int reader_split(struct reader *r, uint32_t tgid, bool stops, int *status, struct err *err);
/* In the reader: out is whole. 0 or -errno, with a sentence. */
int reader_finish(struct reader *r, struct err *err);

#endif
