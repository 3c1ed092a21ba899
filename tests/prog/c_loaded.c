/* Prints how many BPF programs and links the kernel holds. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int count(int next)
{
	uint32_t id[3] = { 0 }; /* the one before; the next; flags */
	int n = 0;

	while (!syscall(SYS_bpf, next, id, sizeof(id))) {
		id[0] = id[1];
		n++;
	}
	return n;
}

int main(void)
{
	return printf("%d\n", count(BPF_PROG_GET_NEXT_ID) + count(BPF_LINK_GET_NEXT_ID)) < 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
