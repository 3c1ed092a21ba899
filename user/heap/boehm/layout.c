/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/layout: see layout.h. */
#include "boehm/layout.h"

#include <stdio.h>

void layout_describe(const struct layout *l, char *out, size_t cap)
{
	static const char *const marks[] = {
		[LAYOUT_MARK_BYTES] = "a mark byte a granule",
		[LAYOUT_MARK_BITS] = "a mark bit a granule",
		[LAYOUT_MARK_OBJECTS] = "a mark byte an object",
		[LAYOUT_MARK_OBJECT_BITS] = "a mark bit an object",
	};
	snprintf(out, cap, "%s, found %s, %u headers agreed%s", marks[l->marks],
		 l->found == LAYOUT_BY_SYMBOL ? "by symbol" : "by its shape", l->checked, l->incremental ? ", incremental" : "");
}
