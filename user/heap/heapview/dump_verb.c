/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/dump_verb: writes the heap of a live process to a file. */
#include "base/exit_status.h"
#include "heapview/heapview.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "access/infile.h"
#include "access/outfile.h"
#include "heapview/dumpfile.h"
#include "heapview/heap_process.h"
#include "sink/output.h"

/* The trace writer closes its descriptor, so it gets a duplicate. */
static int write_file(struct objects *o, const struct dump_options *ask, int to, struct err *err)
{
	struct blocks sites;
	int rc = ask->sites ? blocks_read(&sites, ask->sites, o->tgid, err) : 0;
	if (rc)
		return rc;
	int fd = fcntl(to, F_DUPFD_CLOEXEC, 0);
	rc = fd < 0 ? err_set(err, errno, "cannot write %s: %s", ask->output, strerror(errno))
		    : dumpfile_write(o, ask->sites ? &sites : NULL, ask->words, fd, err);
	if (rc && rc != -ENOMEM)
		outfile_failed(ask->output, -rc, err);
	if (ask->sites)
		blocks_free(&sites);
	return rc;
}

static int status_of(int rc)
{
	return rc == -ENOENT || rc == -ESRCH || rc == -ENODATA ? EXIT_NOTHING : EXIT_ERROR;
}

static int read_and_write(struct reader *r, const struct dump_options *ask, objects_read_fn read, struct err *err)
{
	struct objects o;
	struct stat st;
	struct buf said = { 0 };
	int rc = read(&o, &ask->heap, err);
	if (rc)
		return status_of(rc);
	rc = write_file(&o, ask, r->out->fd, err);
	uint64_t size = rc || fstat(r->out->fd, &st) ? 0 : (uint64_t)st.st_size;
	rc = rc ?: reader_finish(r, err);
	objects_describe(&o, &said);
	if (!rc)
		output_say(ask->output, size, buf_str(&said));
	buf_free(&said);
	objects_free(&o);
	return rc ? EXIT_ERROR : EXIT_OK;
}

int dump_run(const struct dump_options *ask, objects_read_fn read, struct err *err)
{
	struct outfile file;
	struct reader reader = { .out = &file };
	int status = EXIT_ERROR;
	signal(SIGPIPE, SIG_IGN);
	if (outfile_refuse_terminal(ask->output, "a dump", err))
		return EXIT_ERROR;
	int rc = objects_keep_files(&ask->heap, err);
	if (rc)
		return status_of(rc);
	if (infile_keep(ask->sites, false, err) || outfile_begin(&file, ask->output, ask->force, err))
		return EXIT_ERROR;
	rc = reader_split(&reader, ask->heap.pid, ask->heap.freeze, &status, err);
	if (rc < 0)
		outfile_abort(&file);
	return rc ? status : read_and_write(&reader, ask, read, err);
}
