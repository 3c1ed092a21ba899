/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/select: which processes are wanted: by number, name, executable, control group, user, or all.
 * A process is wanted when one of the conditions holds for it. Reads /proc.
 */
#ifndef ALYS_TARGET_SELECT_H
#define ALYS_TARGET_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "target/proc.h"

struct select_words {
	const char **at;
	size_t at_cnt, at_cap;
};

/* As given; borrowed. */
struct select {
	bool all;
	const uint32_t *pids;
	size_t pids_cnt;
	struct select_words names;   /* the kernel's short name, at most 15 bytes of it count */
	struct select_words exes;    /* fnmatch patterns of /proc/PID/exe; without '/': of its last part */
	struct select_words cgroups; /* a path under /sys/fs/cgroup, or a group's own; those below it too */
	struct select_words users;   /* names or numbers */
};

/* Refuses what can never match: an unknown user, a relative group. */
int select_check(const struct select *s, struct err *err);
/* Conditions that processes of the future may fulfil as well: not only numbers. */
bool select_is_open(const struct select *s);
bool select_wants(const struct select *s, uint32_t tgid, const struct proc_facts *f);

#endif
