/* SPDX-License-Identifier: Apache-2.0 */
/* event/unseen: why collections of a process cannot be observed, or its marks not be read. Text: catalog/exactness.h. */
#ifndef ALYS_EVENT_UNSEEN_H
#define ALYS_EVENT_UNSEEN_H

/* Stored in traces by number: append new values. */
enum gc_unseen {
	GC_SEEN,
	GC_NO_SYMBOL,   /* the file has no GC_gc_no */
	GC_NO_FRAMES,   /* it has no .eh_frame */
	GC_BAD_FRAMES,  /* its .eh_frame cannot be read */
	GC_NO_COUNT,    /* no function of it adds to GC_gc_no */
	GC_MANY_COUNTS, /* more than one does */
	GC_NO_ENDS,     /* no begin and end around the count */
	GC_UNSEARCHED,  /* no memory to look for them */
	GC_NO_READER,   /* the mark reader could not be started: error */
	GC_NO_PROBES,   /* the probes could not be attached: error */
	GC_NO_ROOM,     /* the kernel's table of collecting processes was full */
	GC_UNREADABLE,  /* the mark reader could not read its heap: object is the reader's message */
	GC_UNSEEN_CNT,
};

struct unseen {
	enum gc_unseen why;
	int error;          /* an errno, 0 = none */
	const char *object; /* a file; NULL = none */
};

#endif
