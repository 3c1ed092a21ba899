/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/reader: see reader.h. */
#include "heapview/reader.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "heapview/objects.h"

static int commit(void *ctx, int what)
{
	struct reader *r = ctx;
	struct err err;
	(void)what;
	return r->out ? outfile_commit(r->out, &err) : -EPROTO;
}

static int status_of(int wait_status, uint32_t tgid, struct err *err)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	err_set(err, ECHILD, "the reader of process %u's heap was killed by signal %d; the process itself is unaffected", tgid,
		WTERMSIG(wait_status));
	return EXIT_ERROR;
}

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1 /* its shadow memory is terabytes */
#else
#define SANITIZED 0
#endif

/* A heap that claims to be larger than it is makes no other process suffer. */
static int limit_memory(struct err *err)
{
	uint64_t most = 2 * objects_memory();
	const struct rlimit data = { most, most };
	return !SANITIZED && setrlimit(RLIMIT_DATA, &data) ? err_set(err, errno, "setrlimit: %s", strerror(errno)) : 0;
}

/* Who reads ends with the broker, however that ends. */
static int be_reader(pid_t broker, struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return err_set(err, errno, "prctl: %s", strerror(errno));
	if (getppid() != broker)
		_exit(EXIT_ERROR);
	return limit_memory(err);
}

/* In a user namespace there may be no other user. */
static bool is_there(const char *map, unsigned int id)
{
	unsigned int first, cnt;
	bool found = false;
	FILE *f = fopen(map, "re");
	while (f && !found && fscanf(f, "%u %*u %u", &first, &cnt) == 2)
		found = id >= first && id - first < cnt;
	if (f)
		fclose(f);
	return found;
}

/* Root of such a namespace that cannot become anybody else gives up its capabilities alone. */
static void choose_user(struct broker *b)
{
	broker_choose_user(b);
	if (is_there("/proc/self/uid_map", b->uid) && is_there("/proc/self/gid_map", b->gid))
		return;
	b->uid = geteuid();
	b->gid = getegid();
}

int reader_split(struct reader *r, uint32_t tgid, bool stops, int *status, struct err *err)
{
	pid_t self = getpid();
	struct broker *b = &r->broker;
	*b = (struct broker){ .writable = -1, .tells = commit, .ctx = r, .target = tgid, .stops = stops, .writes = r->out };
	choose_user(b);
	int rc = broker_split(b, err);
	if (rc)
		return rc;
	if (!b->pid)
		return be_reader(self, err);
	*status = status_of(broker_serve(b, -1), tgid, err);
	if (r->out)
		outfile_abort(r->out);
	return 1;
}

int reader_finish(struct reader *r, struct err *err)
{
	int rc = r->out ? broker_tell(&r->broker, 0) : 0;
	return rc < 0 ? outfile_failed(r->out->path, -rc, err) : 0;
}
