/* Grows at two sites at different rates, and allocates and frees at a third, until stdin ends: for live views. */
#include <poll.h>

#include "truth.h"

SITE char *site_grow_fast(size_t n) { char *p = malloc(n); NO_TAIL_CALL(); return p; }
SITE char *site_grow_slow(size_t n) { char *p = malloc(n); NO_TAIL_CALL(); return p; }
SITE char *site_churn(size_t n) { char *p = malloc(n); NO_TAIL_CALL(); return p; }

int main(void)
{
	struct pollfd in = { 0, POLLIN, 0 };

	truth_ready();
	for (unsigned int i = 0; poll(&in, 1, 1) <= 0 || !(in.revents & POLLHUP); i++) {
		if (in.revents)
			(void)!read(0, &(char){ 0 }, 1);
		if (i % 2)
			site_grow_fast(2048)[0] = 1;
		if (i % 16 == 0)
			site_grow_slow(1024)[0] = 1;
		for (int k = 0; k < 8; k++) {
			char *p = site_churn(8192);

			p[0] = 1;
			free(p);
		}
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
