/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -rdynamic */
/*
 * Has the functions by which an Erlang VM with JIT is recognized, but their code does not reveal the layout of its
 * processes.
 */
#include <stdio.h>
#include <unistd.h>

int beamasm_init(void);
long erts_process_gc_info(const long *process);
int erts_garbage_collect_nobump(const long *process);

__attribute__((noipa)) int beamasm_init(void)
{
	return 0;
}

__attribute__((noipa)) long erts_process_gc_info(const long *process)
{
	return process[1] - process[2];
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
	return read(0, &c, 1) == 1 && beamasm_init() + erts_process_gc_info(process) + erts_garbage_collect_nobump(process);
}
