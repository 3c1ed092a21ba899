/* SPDX-License-Identifier: Apache-2.0 */
/* helper/children: see children.h. */
#include "helper/children.h"

#include <string.h>

#include "helper/calls.h"
#include "helper/child.h"
#include "helper/heapfill.h"
#include "helper/mallocfill.h"

int helper_child(const char *word)
{
	static const struct {
		const char *word;
		int (*main)(void);
	} children[] = { { CHILD_CALLS, calls_main }, { CHILD_HEAP, heapfill_main }, { CHILD_MALLOC, mallocfill_main } };
	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
		if (!strcmp(word, children[i].word))
			return children[i].main();
	}
	return -1;
}
