/* SPDX-License-Identifier: Apache-2.0 */
/* format/type: the type of an allocation, derived from its frames. */
#ifndef ALYS_FORMAT_TYPE_H
#define ALYS_FORMAT_TYPE_H

#include <stdbool.h>

#include "base/buf.h"
#include "format/sink.h"

#define NO_TYPE "[no type]"

/*
 * "Foo", "Array(Foo) (buffer)", or NO_TYPE: cleaned text. whole is the stack with the allocator's frames, regardless of
 * display options.
 */
void type_of(const struct sink_stack *whole, struct buf *out);
/* Does this text name a class, rather than a buffer or a file? */
bool type_is_class(const char *type);
/* The type of a Foo: "Foo"; with buffer, of memory that a Foo alone holds: "Foo (buffer)". */
void type_name(const char *type, bool buffer, struct buf *out);
/*
 * The function to show as the one that allocated it: "Foo.new", or "Foo#buffer"; and whether a frame is that of a Foo
 * already. Readers of traces before 1.4 conclude the type from it.
 */
void type_function(const char *type, bool buffer, struct buf *out);
bool type_is_function(const char *function, const char *type);

#endif
