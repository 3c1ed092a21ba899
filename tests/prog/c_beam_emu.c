/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -rdynamic */
/* Has a function by which an Erlang VM is recognized, but not those of its JIT. */
#include <stdio.h>
#include <unistd.h>

int erts_garbage_collect_nobump(const long *process);

__attribute__((noipa)) int erts_garbage_collect_nobump(const long *process)
{
	return process[1] > getpid();
}

int main(void)
{
	static const long process[3];
	char c;
	puts("ready");
	fflush(stdout);
	return read(0, &c, 1) == 1 && erts_garbage_collect_nobump(process);
}
