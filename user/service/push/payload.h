/* SPDX-License-Identifier: Apache-2.0 */
/* push/payload: one profile in a server's format. Private to this module. */
#ifndef ALYS_PUSH_PAYLOAD_H
#define ALYS_PUSH_PAYLOAD_H

#include <stdint.h>

#include "base/buf.h"
#include "catalog/attributes.h"
#include "push/backend.h"

/* Whose profile; texts are truncated, not cleaned. */
struct payload_who {
	uint32_t pid;
	char comm[17], exe[257], build_id[65];
	char attributes[ATTRIBUTES_MAX]; /* catalog/attributes.h */
};

struct payload {
	struct payload *next;
	struct buf body;
};

/*
 * One series with the labels of `who`: JSON for Pyroscope, a gRPC message for Parca. For OTLP `profile` has the identity
 * already, and is compressed. NULL when out of memory.
 */
struct payload *payload_new(enum push_kind kind, const struct payload_who *who, const struct buf *profile);
void payload_free(struct payload *p);

#endif
