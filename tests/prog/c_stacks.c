/* Allocates and frees from 512 stacks once for each byte on stdin, and from one more all the time, until stdin ends. */
#include <poll.h>

#include "truth.h"

SITE char *site_often(size_t n) { char *p = malloc(n); NO_TAIL_CALL(); return p; }
SITE char *site_seldom(size_t n) { char *p = malloc(n); NO_TAIL_CALL(); return p; }

static void odd(unsigned int way, int left);

SITE void even(unsigned int way, int left)
{
	if (left)
		(way & 1 ? odd : even)(way >> 1, left - 1);
	else
		free(site_seldom(1000));
	NO_TAIL_CALL();
}

SITE void odd(unsigned int way, int left)
{
	if (left)
		(way & 1 ? odd : even)(way >> 1, left - 1);
	else
		free(site_seldom(1000));
	NO_TAIL_CALL();
}

int main(void)
{
	struct pollfd in = { 0, POLLIN, 0 };
	char byte;

	truth_ready();
	for (;;) {
		if (poll(&in, 1, 10) > 0) {
			if (read(0, &byte, 1) <= 0)
				return 0;
			for (unsigned int way = 0; way < 512; way++)
				even(way, 9);
		}
		free(site_often(100));
	}
}
/* SPDX-License-Identifier: Apache-2.0 */
