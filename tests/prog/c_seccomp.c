/* Allocates under a filter that kills the process for any system call it does not need. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "truth.h"

#define ROUNDS 2000
#define ALLOW(name)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

SITE void *site_confined(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_confined_calloc(size_t n) { return ALLOC(calloc(1, n), n); }
SITE void *site_confined_realloc(void *p, size_t n) { return REALLOC(realloc(p, n), p, n); }
SITE void site_confined_free(void *p) { FREE(free, p); }

static int confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read), ALLOW(write), ALLOW(brk), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap),
		ALLOW(getpid), ALLOW(getrandom), ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

int main(void)
{
	if (confine())
		return 7;
	truth_ready();
	for (int i = 0; i < ROUNDS; i++) {
		void *p = site_confined(64);

		p = site_confined_realloc(p, 500 + i);
		site_confined_free(p);
		if (i % 10 == 0)
			site_confined_calloc(200000);
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
