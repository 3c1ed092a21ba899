/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/fence: see fence.h. */
#include "sandbox/fence.h"

#include "sandbox/landlock.h"

int fence_raise(int dir_fd)
{
	const struct landlock_place places[] = {
		{ .dir_fd = dir_fd, .left = LANDLOCK_CHANGE | LANDLOCK_LIST },
		/* Workers are started with it as input and output. */
		{ .path = "/dev/null", .left = LANDLOCK_WRITE },
		/* Listed to count processes and CPUs. */
		{ .path = "/proc", .left = LANDLOCK_LIST },
		{ .path = "/sys", .left = LANDLOCK_LIST },
	};
	return landlock_take(LANDLOCK_CHANGE | LANDLOCK_LIST, places, sizeof(places) / sizeof(places[0]));
}
