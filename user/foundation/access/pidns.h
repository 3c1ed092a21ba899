/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/pidns: the PID namespace of this process, by which the kernel's records number processes: pid_namespaces(7),
 * bpf_get_ns_current_pid_tgid in bpf-helpers(7). Without it, they have the numbers of the machine's first namespace.
 */
#ifndef ALYS_ACCESS_PIDNS_H
#define ALYS_ACCESS_PIDNS_H

#include <stdint.h>

#include "base/err.h"

/* What the helper wants to know; ino is 0 in the first namespace. */
struct pidns {
	uint64_t dev, ino;
};

struct pidns pidns_own(void);
/* Is /proc that of our namespace? Otherwise its numbers are not those of the records: -ENOTSUP. */
int pidns_check(struct err *err);

#endif
