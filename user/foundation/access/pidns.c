/* SPDX-License-Identifier: Apache-2.0 */
/* access/pidns: see pidns.h. */
#include "access/pidns.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_PID_NS 0xeffffffcu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

struct pidns pidns_own(void)
{
	struct stat st;
	if (stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NS)
		return (struct pidns){ 0 };
	return (struct pidns){ .dev = st.st_dev, .ino = st.st_ino };
}

int pidns_check(struct err *err)
{
	char number[16] = "";
	if (readlink("/proc/self", number, sizeof(number) - 1) > 0 && strtol(number, NULL, 10) == getpid())
		return 0;
	return err_set(
		err, ENOTSUP,
		"/proc shows the processes of another PID namespace: mount that of this one (unshare --mount-proc), or run "
		"alys-bpf in the host's (docker run --pid=host, hostPID: true)");
}
