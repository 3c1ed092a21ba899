/* Parent and child allocate known numbers of blocks; the child frees inherited ones and forks once more. */
#include <sys/wait.h>

#include "truth.h"

#define ROUNDS 300

SITE void *site_parent(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_child(size_t n) { return ALLOC(malloc(n), n); }
SITE void *site_grandchild(size_t n) { return ALLOC(malloc(n), n); }
SITE void site_parent_free(void *p) { FREE(free, p); }
SITE void site_child_free(void *p) { FREE(free, p); }
SITE void site_inherited_free(void *p) { FREE(free, p); }

static void grandchild(void)
{
	truth_forget();
	for (int i = 0; i < ROUNDS; i++)
		site_grandchild(72);
	truth_print();
	_exit(0);
}

static void child(void **inherited)
{
	pid_t pid;

	truth_forget();
	for (int i = 0; i < ROUNDS; i++) {
		void *p = site_child(80);

		if (i % 2)
			site_child_free(p);
		site_inherited_free(inherited[i]);
	}
	pid = fork();
	if (pid == 0)
		grandchild();
	waitpid(pid, NULL, 0);
	truth_print();
	_exit(0);
}

int main(void)
{
	void *blocks[ROUNDS];
	pid_t pid;

	truth_ready();
	for (int i = 0; i < ROUNDS; i++)
		blocks[i] = site_parent(64);
	pid = fork();
	if (pid == 0)
		child(blocks);
	for (int i = 0; i < ROUNDS; i += 2)
		site_parent_free(blocks[i]);
	if (waitpid(pid, NULL, 0) != pid)
		return 7;
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
