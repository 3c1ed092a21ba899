/* SPDX-License-Identifier: Apache-2.0 */
/* profiles/packing: see packing.h. */
#include "profiles/packing.h"

#include <stdlib.h>

#include "base/vec.h"

enum { WIRE_BYTES = 2 };

void pack_message(struct buf *to, const ProtobufCMessage *m)
{
	uint8_t *at = buf_room(to, protobuf_c_message_get_packed_size(m));
	if (at)
		to->len += protobuf_c_message_pack(m, at);
}

void pack_nested(struct buf *to, unsigned int field, const struct buf *message)
{
	buf_varint(to, field << 3 | WIRE_BYTES);
	buf_varint(to, message->len);
	buf_add(to, message->data, message->len);
	to->failed |= message->failed;
}

struct process_samples *processes_get(struct processes *p, struct proc_id proc)
{
	uint64_t *index = map_put(&p->index, proc.n);
	if (index && !*index) {
		struct process_samples *new = VEC_PUSH(p, list);
		if (new)
			new->proc = proc;
		*index = new ? p->list_cnt : 0;
	}
	return index && *index ? &p->list[*index - 1] : NULL;
}

void processes_free(struct processes *p)
{
	for (size_t i = 0; i < p->list_cnt; i++) {
		for (enum value v = 0; v < VALUE_CNT; v++)
			buf_free(&p->list[i].samples[v]);
	}
	free(p->list);
	map_free(&p->index);
}
