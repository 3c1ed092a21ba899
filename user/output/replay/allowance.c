/* SPDX-License-Identifier: Apache-2.0 */
/* replay/allowance: see allowance.h. */
#include "replay/allowance.h"

#include <string.h>
#include <sys/resource.h>

#define TEXT_BASE (64ull << 20)
#define TEXT_PER_BYTE 4096

static uint64_t files;

uint64_t allowance(void)
{
	return ALLOWANCE_BASE + ALLOWANCE_PER_BYTE * files;
}

/* Sets the soft limit only: workers set their own. */
void allowance_add(uint64_t file_bytes)
{
	struct rlimit l;
	files += file_bytes;
	if (SANITIZED || getrlimit(RLIMIT_DATA, &l) || allowance() >= l.rlim_max)
		return;
	l.rlim_cur = allowance();
	setrlimit(RLIMIT_DATA, &l);
}

static uint64_t text_of(const struct symbols *s)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += 16 + (s->at[i].name ? strlen(s->at[i].name) : 0) + (s->at[i].file ? strlen(s->at[i].file) : 0);
	return n;
}

bool allowance_covers(const struct catalog *c, uint64_t file_bytes)
{
	uint64_t left = TEXT_BASE + TEXT_PER_BYTE * file_bytes;
	const struct stack *s;
	for (size_t i = 0; (s = catalog_next_stack(c, &i));) {
		for (uint32_t k = 0; k < s->n; k++) {
			const struct mapping *m = catalog_mapping(c, s->frames[k].map);
			const struct symbols *names = m ? catalog_symbols(c, m->module, frame_pc(&s->frames[k], k)) : NULL;
			uint64_t text = names ? text_of(names) : 16;
			if (text > left)
				return false;
			left -= text;
		}
	}
	return true;
}
