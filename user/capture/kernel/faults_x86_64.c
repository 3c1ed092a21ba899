/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/faults of x86-64: see faults.h. */
#include "kernel/faults.h"

#include "access/rights.h"

static const char *const sources[] = { "page_fault_user", "page_fault_kernel" };

size_t faults_sources(void)
{
	return sizeof(sources) / sizeof(sources[0]);
}

int faults_open(size_t source, int prog_fd)
{
	return rights_tracepoint(sources[source], prog_fd);
}
