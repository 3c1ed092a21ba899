/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/heap_process: see heap_process.h. */
#include "heapview/heap_process.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "heapreader/heap_worker.h"

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

int reader_split(struct reader *r, uint32_t tgid, bool stops, int *status, struct err *err)
{
	pid_t self = getpid();
	struct broker *b = &r->broker;
	*b = (struct broker){ .writable = -1, .tells = commit, .ctx = r, .target = tgid, .stops = stops, .writes = r->out };
	broker_choose_user(b);
	int rc = broker_split(b, err);
	if (rc)
		return rc;
	if (!b->pid)
		return worker_confine(self, err);
	*status = status_of(broker_serve(b, -1), tgid, err);
	if (r->out)
		outfile_abort(r->out);
	return 1;
}

int reader_finish(struct reader *r, struct err *err)
{
	int rc = r->out ? broker_notify(&r->broker, 0) : 0;
	return rc < 0 ? outfile_failed(r->out->path, -rc, err) : 0;
}
