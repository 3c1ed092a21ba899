/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/select: which processes match: by number, name, executable, control group, user, or all. One matching
 * condition is enough. Reads /proc.
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

/* As given on the command line; borrowed. */
struct select {
	bool all;
	const uint32_t *pids;
	size_t pids_cnt;
	struct select_words names;   /* the kernel's short name (comm), compared up to 15 bytes */
	struct select_words exes;    /* fnmatch patterns for /proc/PID/exe; without '/': for its last part */
	struct select_words cgroups; /* a path under /sys/fs/cgroup, or a cgroup path; includes those below it */
	struct select_words users;   /* names or numbers */
};

/* Rejects conditions that can never match: an unknown user, a relative cgroup. Warns of a cgroup that is still to come. */
int select_check(const struct select *s, struct err *err);
/* Can later processes match? False if there are only numbers. */
bool select_is_open(const struct select *s);
/* False if it does not match whatever /proc says of it: then there is no need to look. */
bool select_may_want(const struct select *s, uint32_t tgid);
bool select_wants(const struct select *s, uint32_t tgid, const struct proc_facts *f);

#endif
