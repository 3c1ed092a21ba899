/* base/descriptors: see descriptors.h. */
#include "base/descriptors.h"

#include <stdbool.h>
#include <sys/resource.h>

#define ENOUGH 65536

static struct rlimit before;
static bool raised;

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
