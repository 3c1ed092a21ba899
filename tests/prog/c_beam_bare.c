/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -rdynamic */
/* An Erlang VM with JIT by its functions, but the one whose code shows the layout of processes is not among them. */
#include <stdio.h>
#include <unistd.h>

int beamasm_init(void);
int erts_garbage_collect_nobump(const long *process);

__attribute__((noipa)) int beamasm_init(void)
{
	return 0;
}

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
	return read(0, &c, 1) == 1 && beamasm_init() + erts_garbage_collect_nobump(process);
}
