/* helper/child: see child.h. */
#include "helper/child.h"

#include <string.h>

#include "helper/calls.h"
#include "helper/guest.h"
#include "helper/heapfill.h"

int helper_child(const char *word)
{
	static const struct {
		const char *word;
		int (*main)(void);
	} children[] = { { GUEST_CALLS, calls_main }, { GUEST_HEAP, heapfill_main } };
	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
		if (!strcmp(word, children[i].word))
			return children[i].main();
	}
	return -1;
}
