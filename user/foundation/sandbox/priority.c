/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/priority: see priority.h. */
#include "sandbox/priority.h"

/* Not <sched.h>: in glibc before 2.41 both define struct sched_param. */
#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define SLICE_NS 100000 /* the least the kernel takes (commit 857b158dc5e8) */
#define SLICE_USUAL 0

static void set(int nice, uint64_t slice_ns)
{
	struct sched_attr attr = {
		.size = sizeof(attr), .sched_flags = SCHED_FLAG_KEEP_POLICY, .sched_nice = nice, .sched_runtime = slice_ns
	};
	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		log_dbg("the priority stays: %s", strerror(errno));
}

void priority_raise(int nice)
{
	int now = getpriority(PRIO_PROCESS, 0);
	set(now < nice ? now : nice, SLICE_NS);
}

void priority_lower(int nice)
{
	int now = getpriority(PRIO_PROCESS, 0);
	set(now > nice ? now : nice, SLICE_USUAL);
}
