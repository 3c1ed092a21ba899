/* SPDX-License-Identifier: Apache-2.0 */
/* push/parcel: one profile in a server's format. Private to this module. */
#ifndef ALYS_PUSH_PARCEL_H
#define ALYS_PUSH_PARCEL_H

#include <stdint.h>

#include "base/buf.h"

enum push_kind { PUSH_PYROSCOPE, PUSH_PARCA };

/* Whose profile; texts are truncated, not cleaned. */
struct parcel_who {
	uint32_t pid;
	char comm[17];
};

struct parcel {
	struct parcel *next;
	struct buf body;
};

/* One series with the labels of `who`: JSON for Pyroscope, a gRPC message for Parca. NULL when out of memory. */
struct parcel *parcel_new(enum push_kind kind, const struct parcel_who *who, const struct buf *pprof);
void parcel_free(struct parcel *p);

#endif
