/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/priority: see priority.h. */
#include "daemon/priority.h"

/* Not <sched.h>: in glibc before 2.41 both define struct sched_param. */
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000 /* the least the kernel takes (commit 857b158dc5e8) */

void priority_raise(int nice)
{
	int now = getpriority(PRIO_PROCESS, 0);
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_NORMAL,
		.sched_nice = now < nice ? now : nice,
		.sched_runtime = SLICE_NS,
	};
	syscall(SYS_sched_setattr, 0, &attr, 0);
}
