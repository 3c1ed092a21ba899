/* target/jit: see jit.h. */
#include "target/jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rights.h"

bool jit_is(const struct map_line *line)
{
	return line->exec && !line->ino && (!*line->path || !strncmp(line->path, "[anon", 5));
}

bool jit_grow(struct jit *j, const struct map_line *line)
{
	bool first = j->start == j->end;
	if (!first && line->start >= j->start && line->end <= j->end)
		return false;
	if (first || line->start < j->start)
		j->start = line->start;
	if (first || line->end > j->end)
		j->end = line->end;
	return true;
}

/* In a container a process has one number in each namespace: the innermost one is the last. */
static uint32_t own_number(uint32_t tgid)
{
	char line[256];
	uint32_t number = tgid;
	snprintf(line, sizeof(line), "/proc/%u/status", tgid);
	FILE *f = fopen(line, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');
		if (!strncmp(line, "NSpid:", 6) && last)
			number = (uint32_t)strtoul(last + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return number;
}

void jit_find_tmp(struct jit *j, uint32_t tgid)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%u", tgid);
	j->own.owner = stat(path, &st) ? 0 : st.st_uid;
	snprintf(path, sizeof(path), "/proc/%u/root/tmp", tgid);
	j->own.tmp = rights_open(path, O_PATH | O_DIRECTORY);
	j->own.pid = own_number(tgid);
	j->inherited.tmp = -1;
}

/* Anybody may write to /tmp, so it counts only when the process's own user put it there, or root. */
static int names_open(const struct jit_names *n)
{
	char name[32];
	struct stat st;
	snprintf(name, sizeof(name), "perf-%u.map", n->pid);
	int fd = n->tmp < 0 ? -1 : openat(n->tmp, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != n->owner))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void jit_inherit(struct jit *child, const struct jit *parent)
{
	int fd = names_open(&parent->own);
	const struct jit_names *from = fd >= 0 ? &parent->own : &parent->inherited;
	child->inherited = *from;
	child->inherited.tmp = from->tmp < 0 ? -1 : fcntl(from->tmp, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		close(fd);
}

int jit_open(const struct jit *j)
{
	int fd = names_open(&j->own);
	return fd >= 0 ? fd : names_open(&j->inherited);
}

void jit_close(struct jit *j)
{
	if (j->map.n && j->own.tmp >= 0)
		close(j->own.tmp);
	if (j->map.n && j->inherited.tmp >= 0)
		close(j->inherited.tmp);
	*j = (struct jit){ 0 };
}
