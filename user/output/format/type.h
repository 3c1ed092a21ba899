/* format/type: the type of an allocation, as far as its frames tell. For sink/ and report/ only. */
#ifndef ALYS_FORMAT_TYPE_H
#define ALYS_FORMAT_TYPE_H

#include "format/sink.h"

#define TYPE_UNKNOWN "[no type]"

/*
 * "Foo", "Array(Foo) (buffer)", or TYPE_UNKNOWN: cleaned text. whole is the stack with the
 * allocator's frames: what is shown of it does not matter.
 */
void type_of(const struct sink_stack *whole, struct buf *out);

#endif
