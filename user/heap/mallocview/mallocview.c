/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview: see mallocview.h. */
#include "mallocview/mallocview.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/infile.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "glibc/process.h"
#include "heapview/census_verb.h"
#include "heapview/heap_process.h"
#include "mallocview/malloc_objects.h"
#include "mallocview/malloc_verb.h"
#include "mallocview/page_view.h"
#include "sink/output.h"

static int status_of(int rc)
{
	bool nothing = rc == -ESRCH || rc == -ENOENT || rc == -ENODATA || rc == -ENOTSUP;
	return !rc ? EXIT_OK : nothing ? EXIT_NOTHING : EXIT_ERROR;
}

static int write_collected(const struct census_options *o, const struct recorded_heap *r, struct sink_out *out, struct err *err)
{
	return r ? pins_write(r, &o->report, out, err) : census_write(o, NULL, out, err);
}

/* A collector's heap where there is one, else that of malloc. */
static int write_either(const struct census_options *o, const struct recorded_heap *r, struct sink_out *out, struct err *err)
{
	bool of_collector = o->type_ids || o->learn || o->gc_wait > 0;
	struct err none = { 0 };
	int rc = o->malloc ? -ENOENT : write_collected(o, r, out, of_collector ? err : &none);
	if (rc != -ENOENT || of_collector) {
		*err = of_collector ? *err : none;
		return rc;
	}
	rc = malloc_write(o, r, out, err);
	bool is_other = rc == -ENOENT || rc == -ENODATA || rc == -ENOTSUP;
	struct err neither = *err;
	if (is_other && o->heap && !o->malloc) {
		*err = (struct err){ 0 };
		return page_view_write(o, r, neither.text, out, err);
	}
	if ((rc != -ENOENT && rc != -ENODATA) || o->malloc)
		return rc;
	return err_set(err, ENOENT, "%.250s; and %.250s", none.text, neither.text);
}

/* The exit status. */
static int read_and_write(const struct census_options *o, const struct recorded_heap *r, struct err *err)
{
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	struct reader reader = { 0 };
	int status = EXIT_ERROR;
	if (reader_split(&reader, (uint32_t)o->report.pid, o->freeze, &status, err))
		return status;
	return status_of(output_finish(&dst, write_either(o, r, &out, err), err));
}

int run_census(const struct census_options *o, struct err *err)
{
	signal(SIGPIPE, SIG_IGN);
	int rc = infile_keep(o->type_ids, true, err) ? -EIO : infile_keep(o->learn, false, err);
	return rc ? status_of(rc) : read_and_write(o, NULL, err);
}

int run_graph(const struct graph_options *o, struct err *err)
{
	return graph_run(o, malloc_objects_read, err);
}

int run_dump(const struct dump_options *o, struct err *err)
{
	return dump_run(o, malloc_objects_read, err);
}

/* --- for a recording ------------------------------------------------------------------------------ */

/* Is the allocator of a kind that is read? Only what cannot change is a reason against it. */
static int find_malloc(const struct census_options *o, const struct recorded_heap *none, struct err *err)
{
	struct reader reader = { 0 };
	struct glibc_process p;
	int status = EXIT_ERROR;
	(void)none;
	if (reader_split(&reader, (uint32_t)o->report.pid, false, &status, err))
		return status;
	int rc = glibc_find(&p, (uint32_t)o->report.pid, err);
	if (!rc)
		glibc_close(&p);
	return rc == -ENOENT || rc == -ENOTSUP ? EXIT_NOTHING : EXIT_OK;
}

static int in_child(int (*fn)(const struct census_options *, const struct recorded_heap *, struct err *),
		    const struct census_options *o, const struct recorded_heap *r)
{
	struct err err = { 0 };
	int wait_status = 0;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		int status = fn(o, r, &err);
		if (status != EXIT_OK && *err.text)
			log_err("%s", err.text);
		_exit(status);
	}
	while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {}
	int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : EXIT_ERROR;
	return status == EXIT_OK ? 0 : status == EXIT_NOTHING ? -ENOENT : -EIO;
}

int mallocview_after_recording(const struct census_options *o, const struct recorded_heap *recorded)
{
	return in_child(read_and_write, o, recorded);
}

int mallocview_find(uint32_t tgid)
{
	const struct census_options o = { .report.pid = tgid };
	return in_child(find_malloc, &o, NULL);
}
