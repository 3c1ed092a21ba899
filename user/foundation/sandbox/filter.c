/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/filter: see filter.h. */
#include "sandbox/filter.h"

#include <stdint.h>
#include <sys/prctl.h>

int filter_enter(const struct sock_filter *table, size_t n)
{
	struct sock_fprog program = { .len = (unsigned short)n, .filter = (struct sock_filter *)(uintptr_t)table };
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? -errno : 0;
}
