/* SPDX-License-Identifier: Apache-2.0 */
/* resident/proc_maps: see proc_maps.h. */
#include "resident/proc_maps.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "access/rights.h"
#include "machine/address.h"

int proc_maps_each(uint32_t tgid, void *ctx, int (*each)(void *ctx, uint64_t start, uint64_t end))
{
	char part[256];
	uint64_t start, end;
	bool begins = true; /* of a line: paths may be longer than `part` */
	int rc = 0;
	int fd = rights_maps(tgid);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !f)
		close(fd);
	while (f && !rc && fgets(part, sizeof(part), f)) {
		if (begins && sscanf(part, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && end < ADDRESS_END)
			rc = each(ctx, start, end);
		begins = strchr(part, '\n');
	}
	if (f)
		fclose(f);
	return rc;
}
