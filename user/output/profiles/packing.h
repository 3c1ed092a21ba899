/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles/packing: protobuf messages appended to buffers. Concatenated messages of one type are one message, so large
 * ones are packed in pieces. Private to profiles/.
 */
#ifndef ALYS_PROFILES_PACKING_H
#define ALYS_PROFILES_PACKING_H

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"
#include "base/map.h"
#include "format/format.h"

/* Out of memory: to->failed. */
void pack_message(struct buf *to, const ProtobufCMessage *m);
/* `message` as the field `field` of the message that `to` holds. */
void pack_nested(struct buf *to, unsigned int field, const struct buf *message);

/* The samples of one process, packed. */
struct process_samples {
	struct proc_id proc;
	struct buf samples[VALUE_CNT]; /* as many of them as the format has profiles per process */
};

/* Processes in the order of their first sample. */
struct processes {
	struct map index; /* proc_id -> number + 1 */
	struct process_samples *list;
	size_t list_cnt, list_cap;
};

/* Added if new; NULL: out of memory. Valid until the next call. */
struct process_samples *processes_get(struct processes *p, struct proc_id proc);
void processes_free(struct processes *p);

#endif
