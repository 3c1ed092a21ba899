/* base/places: see places.h. */
#include "base/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/theirs.h"

#define PLACES_MAX 1024

struct place {
	unsigned users; /* 0: free */
	int tmp;        /* a directory */
	uint32_t pid;   /* the process' number as it sees it */
	uid_t owner;
};

static struct place places[PLACES_MAX];

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

static struct place *place_of(int n)
{
	return n > 0 && n <= PLACES_MAX && places[n - 1].users ? &places[n - 1] : NULL;
}

int place_open(uint32_t tgid)
{
	char path[64];
	struct stat st;
	int n = 1;
	while (n <= PLACES_MAX && place_of(n))
		n++;
	if (n > PLACES_MAX)
		return -EMFILE;
	struct place *p = &places[n - 1];
	snprintf(path, sizeof(path), "/proc/%u", tgid);
	if (stat(path, &st))
		return -errno;
	p->tmp = theirs_place(tgid, "tmp", O_DIRECTORY);
	if (p->tmp < 0)
		return p->tmp;
	p->owner = st.st_uid;
	p->pid = own_number(tgid);
	p->users = 1;
	return n;
}

int place_share(int n)
{
	struct place *p = place_of(n);
	if (!p)
		return -EBADF;
	p->users++;
	return n;
}

void place_close(int n)
{
	struct place *p = place_of(n);
	if (p && !--p->users)
		close(p->tmp);
}

/* Anybody may write to /tmp, and link what is another's. */
int place_map(int n)
{
	struct place *p = place_of(n);
	char name[32];
	struct stat st;
	if (!p)
		return -EBADF;
	snprintf(name, sizeof(name), "perf-%u.map", p->pid);
	int at = openat(p->tmp, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	int fd = theirs_reopen(at < 0 ? -errno : at);
	if (fd < 0 || (!fstat(fd, &st) && st.st_uid == p->owner && st.st_nlink <= 1))
		return fd;
	close(fd);
	return -EACCES;
}
