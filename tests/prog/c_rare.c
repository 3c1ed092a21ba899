/*
 * Two sites, called by command: each byte on stdin is answered when its calls are done. `r`: one call
 * of site_rare, `b`: sixty thousand of site_often.
 */
#include "truth.h"

SITE char *site_rare(void) { return (char *)malloc(1000); }
SITE char *site_often(void) { return (char *)malloc(24); }

int main(void)
{
	char order;

	if (write(1, "ready\n", 6) != 6)
		return 1;
	while (read(0, &order, 1) == 1) {
		if (order == 'r')
			free(site_rare());
		for (int i = 0; order == 'b' && i < 60000; i++)
			free(site_often());
		if (write(1, "done\n", 5) != 5)
			return 1;
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
