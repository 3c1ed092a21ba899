/* SPDX-License-Identifier: Apache-2.0 */
/* base/descriptors: see descriptors.h. */
#include "base/descriptors.h"

#include <stdbool.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define ENOUGH 65536

static struct rlimit before;
static bool raised;

/* open() returns the lowest free descriptor; the mode makes using it fail as it would if it were closed. */
void descriptors_fill(void)
{
	int fd;
	do
		fd = open("/dev/null", fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void descriptors_raise(void)
{
	if (raised || getrlimit(RLIMIT_NOFILE, &before))
		return;
	struct rlimit l = { .rlim_cur = before.rlim_max < ENOUGH ? before.rlim_max : ENOUGH, .rlim_max = before.rlim_max };
	raised = l.rlim_cur > before.rlim_cur && !setrlimit(RLIMIT_NOFILE, &l);
}

void descriptors_give_back(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &before);
}
