/* heapview/dump: the heap of a live process into a file. */
#include "base/exit_status.h"
#include "heapview/heapview.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "access/outfile.h"
#include "base/log.h"
#include "heapview/dumpfile.h"
#include "sink/output.h"

static int write_file(struct objects *o, const struct dump_options *ask, uint64_t *size, struct err *err)
{
	struct blocks sites;
	int rc = ask->sites ? blocks_read(&sites, ask->sites, o->tgid, err) : 0;
	if (rc)
		return rc;
	struct outfile file;
	rc = outfile_begin(&file, ask->output, ask->force, err);
	if (!rc) {
		int fd = fcntl(file.fd, F_DUPFD_CLOEXEC, 0); /* the writer closes its own */
		rc = fd < 0 ? err_set(err, errno, "cannot write %s: %s", ask->output, strerror(errno)) :
			      dumpfile_write(o, ask->sites ? &sites : NULL, ask->words, fd, err);
		if (rc && rc != -ENOMEM)
			outfile_failed(ask->output, -rc, err);
		if (rc)
			outfile_abort(&file);
		else
			rc = outfile_commit(&file, err);
		*size = file.size;
	}
	if (ask->sites)
		blocks_free(&sites);
	return rc;
}

int run_dump(const struct dump_options *ask, struct err *err)
{
	struct objects o;
	struct buf said = { 0 };
	signal(SIGPIPE, SIG_IGN);
	int rc = outfile_refuse_terminal(ask->output, "a dump", err);
	if (rc)
		return EXIT_ERROR;
	rc = objects_read(&o, &ask->heap, err);
	if (rc)
		return rc == -ENOENT || rc == -ESRCH || rc == -ENODATA ? EXIT_NOTHING : EXIT_ERROR;
	uint64_t size = 0;
	rc = write_file(&o, ask, &size, err);
	objects_describe(&o, &said);
	if (!rc)
		output_say(ask->output, size, buf_str(&said));
	buf_free(&said);
	objects_free(&o);
	return rc ? EXIT_ERROR : EXIT_OK;
}
