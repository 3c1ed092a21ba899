/* SPDX-License-Identifier: Apache-2.0 */
/* target/select: see select.h. */
#include "target/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"

#define NAME_MAX_SEEN 15 /* TASK_COMM_LEN - 1 */
#define GROUP_ROOT "/sys/fs/cgroup"

/* -1: no such user. */
static long user_number(const char *word)
{
	char *end;
	unsigned long n = strtoul(word, &end, 10);
	if (*word && !*end && *word != '-' && n < UINT32_MAX)
		return (long)n;
	const struct passwd *p = getpwnam(word);
	return p ? (long)p->pw_uid : -1;
}

/* A path in the file system, or one below its root or below the directory of a hierarchy there. */
static bool group_exists(const char *path)
{
	static const char *const parents[] = { "", GROUP_ROOT, GROUP_ROOT "/*" };
	bool exists = false;
	for (size_t i = 0; !exists && i < sizeof(parents) / sizeof(parents[0]); i++) {
		char pattern[4096];
		glob_t found = { 0 };
		snprintf(pattern, sizeof(pattern), "%s%s", parents[i], path);
		exists = !glob(pattern, GLOB_NOSORT, NULL, &found);
		globfree(&found);
	}
	return exists;
}

int select_check(const struct select *s, struct err *err)
{
	for (size_t i = 0; i < s->users.at_cnt; i++) {
		if (user_number(s->users.at[i]) < 0)
			return err_set(err, EINVAL, "--user %s: no such user on this machine", s->users.at[i]);
	}
	for (size_t i = 0; i < s->cgroups.at_cnt; i++) {
		if (s->cgroups.at[i][0] != '/')
			return err_set(err, EINVAL, "--cgroup %s: give the group's path from / on, such as %s/system.slice",
				       s->cgroups.at[i], GROUP_ROOT);
		if (!group_exists(s->cgroups.at[i]))
			log_warn("--cgroup %s: there is no such group now; it is traced when it comes", s->cgroups.at[i]);
	}
	return 0;
}

bool select_is_open(const struct select *s)
{
	return s->all || s->names.at_cnt || s->exes.at_cnt || s->cgroups.at_cnt || s->users.at_cnt;
}

static bool match_name(const struct select_words *w, const char *comm)
{
	for (size_t i = 0; i < w->at_cnt; i++) {
		if (!strncmp(w->at[i], comm, NAME_MAX_SEEN))
			return true;
	}
	return false;
}

static bool match_exe(const struct select_words *w, const char *exe)
{
	char path[4096];
	snprintf(path, sizeof(path), "%.*s", (int)proc_exe_len(exe), exe);
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	for (size_t i = 0; *path && i < w->at_cnt; i++) {
		if (!fnmatch(w->at[i], strchr(w->at[i], '/') ? path : last, 0))
			return true;
	}
	return false;
}

/* Is the group the wanted one, or below it? */
static bool is_within(const char *group, const char *wanted)
{
	size_t n = strlen(wanted);
	while (n > 1 && wanted[n - 1] == '/')
		n--;
	return n == 1 || (!strncmp(group, wanted, n) && (!group[n] || group[n] == '/'));
}

/* Length of the path's first component if it is where the hierarchy of these controllers is mounted. */
static size_t folder_of(const char *path, const char *controllers)
{
	size_t n = strcspn(path, "/");
	const char *name = !*controllers ? "unified" : !strncmp(controllers, "name=", 5) ? controllers + 5 : controllers;
	return path[n] && strlen(name) == n && !strncmp(path, name, n) ? n : 0;
}

/*
 * Compares one line of /proc/PID/cgroup, "ID:CONTROLLERS:PATH", with the requested groups: each the group's own path,
 * or one in the file system, where a hierarchy may have a directory before it ("/sys/fs/cgroup/memory/PATH").
 */
static bool match_group_line(const struct select_words *w, const char *controllers, const char *group)
{
	const size_t root = sizeof(GROUP_ROOT) - 1;
	for (size_t i = 0; i < w->at_cnt; i++) {
		const char *wanted = w->at[i];
		if (!strcmp(wanted, GROUP_ROOT))
			return true;
		if (strncmp(wanted, GROUP_ROOT "/", root + 1)) {
			if (is_within(group, wanted))
				return true;
			continue;
		}
		size_t n = folder_of(wanted + root + 1, controllers);
		if (is_within(group, wanted + root) || (n && is_within(group, wanted + root + 1 + n)))
			return true;
	}
	return false;
}

static bool match_cgroup(const struct select_words *w, uint32_t tgid)
{
	char path[64], line[4352];
	bool found = false;
	snprintf(path, sizeof(path), "/proc/%u/cgroup", tgid);
	FILE *f = w->at_cnt ? fopen(path, "re") : NULL;
	while (f && !found && fgets(line, sizeof(line), f)) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
		line[strcspn(line, "\n")] = 0;
		if (!group)
			continue;
		*group = 0;
		found = match_group_line(w, controllers + 1, group + 1);
	}
	if (f)
		fclose(f);
	return found;
}

/* The user that the process runs as; -1 when it is gone. */
static long user_of(uint32_t tgid)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%u", tgid);
	/* The directory of a non-dumpable process is root's; `status` has the right user. */
	long uid = proc_status_value(tgid, "Uid");
	return uid >= 0 ? uid : stat(path, &st) ? -1 : (long)st.st_uid;
}

static bool match_user(const struct select_words *w, uint32_t tgid)
{
	long uid = w->at_cnt ? user_of(tgid) : -1;
	for (size_t i = 0; uid >= 0 && i < w->at_cnt; i++) {
		if (user_number(w->at[i]) == uid)
			return true;
	}
	return false;
}

static bool has_pid(const struct select *s, uint32_t tgid)
{
	for (size_t i = 0; i < s->pids_cnt; i++) {
		if (s->pids[i] == tgid)
			return true;
	}
	return false;
}

bool select_may_want(const struct select *s, uint32_t tgid)
{
	return select_is_open(s) || has_pid(s, tgid);
}

bool select_wants(const struct select *s, uint32_t tgid, const struct proc_facts *f)
{
	if (f->kernel_thread || f->ended)
		return false;
	return s->all || has_pid(s, tgid) || match_name(&s->names, f->comm) || match_exe(&s->exes, f->exe) ||
	       match_cgroup(&s->cgroups, tgid) || match_user(&s->users, tgid);
}
