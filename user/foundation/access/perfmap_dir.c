/* SPDX-License-Identifier: Apache-2.0 */
/* access/perfmap_dir: see perfmap_dir.h. */
#include "access/perfmap_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/target_files.h"

#define PLACES_MAX 1024
#define TURNS_MAX (INT_MAX / PLACES_MAX)

struct place {
	unsigned users; /* 0 = free */
	unsigned turn;  /* distinguishes successive users of the entry */
	unsigned nth;   /* number among its owner's places, from 1 */
	int tmp;        /* descriptor of its /tmp */
	uint32_t pid;   /* pid in the process' own namespace */
	uid_t owner;
};

static struct place places[PLACES_MAX];

/* In a container, a process has one pid per namespace; the last in the list is that of the innermost one. */
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

static int number_of(const struct place *p)
{
	return (int)(p->turn * PLACES_MAX + (unsigned)(p - places)) + 1;
}

static struct place *place_of(int n)
{
	struct place *p = n > 0 ? &places[(n - 1) % PLACES_MAX] : NULL;
	return p && p->users && number_of(p) == n ? p : NULL;
}

/* The owner's place with the highest number, NULL: none. */
static struct place *last_of(uid_t owner)
{
	struct place *last = NULL;
	for (struct place *p = places; p < places + PLACES_MAX; p++) {
		if (p->users && p->owner == owner && (!last || p->nth > last->nth))
			last = p;
	}
	return last;
}

static void release_place(struct place *p)
{
	last_of(p->owner)->nth = p->nth;
	p->users = 0;
	p->turn = (p->turn + 1) % TURNS_MAX;
	close(p->tmp);
}

/*
 * A free place; otherwise one of the owner with most places, if that owner has more than the new one would: nobody can
 * occupy all.
 */
static struct place *find_room(unsigned nth)
{
	struct place *most = places;
	for (struct place *p = places; p < places + PLACES_MAX; p++) {
		if (!p->users)
			return p;
		if (p->nth > most->nth)
			most = p;
	}
	if (most->nth <= nth)
		return NULL;
	release_place(most);
	return most;
}

int perfmap_dir_open(uint32_t tgid)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%u", tgid);
	if (stat(path, &st))
		return -errno;
	int tmp = target_file_locate(tgid, "tmp", O_DIRECTORY);
	if (tmp < 0)
		return tmp;
	const struct place *last = last_of(st.st_uid);
	unsigned nth = last ? last->nth + 1 : 1;
	struct place *p = find_room(nth);
	if (!p) {
		close(tmp);
		return -EMFILE;
	}
	*p = (struct place){ .users = 1, .turn = p->turn, .nth = nth, .tmp = tmp, .pid = own_number(tgid), .owner = st.st_uid };
	return number_of(p);
}

int perfmap_dir_share(int n)
{
	struct place *p = place_of(n);
	if (!p)
		return -EBADF;
	p->users++;
	return n;
}

void perfmap_dir_close(int n)
{
	struct place *p = place_of(n);
	if (p && p->users > 1)
		p->users--;
	else if (p)
		release_place(p);
}

/* Anyone may create files and links in its /tmp. */
int perfmap_dir_map(int n)
{
	struct place *p = place_of(n);
	char name[32];
	struct stat st;
	if (!p)
		return -EBADF;
	snprintf(name, sizeof(name), "perf-%u.map", p->pid);
	int at = openat(p->tmp, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	int fd = target_file_reopen(at < 0 ? -errno : at);
	if (fd < 0 || (!fstat(fd, &st) && st.st_uid == p->owner && st.st_nlink <= 1))
		return fd;
	close(fd);
	return -EACCES;
}
