/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview: see mallocview.h. */
#include "mallocview/mallocview.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "access/infile.h"
#include "base/exit_status.h"
#include "heapview/census_verb.h"
#include "heapview/heap_process.h"
#include "mallocview/malloc_verb.h"
#include "sink/output.h"

static int status_of(int rc)
{
	bool nothing = rc == -ESRCH || rc == -ENOENT || rc == -ENODATA || rc == -ENOTSUP;
	return !rc ? EXIT_OK : nothing ? EXIT_NOTHING : EXIT_ERROR;
}

/* A collector's heap where there is one, else that of malloc. */
static int write_either(const struct census_options *o, struct sink_out *out, struct err *err)
{
	bool of_collector = o->type_ids || o->learn || o->gc_wait > 0;
	struct err none = { 0 };
	int rc = o->malloc ? -ENOENT : census_write(o, NULL, out, of_collector ? err : &none);
	if (rc != -ENOENT || of_collector) {
		*err = of_collector ? *err : none;
		return rc;
	}
	rc = malloc_write(o, out, err);
	if ((rc != -ENOENT && rc != -ENODATA) || o->malloc)
		return rc;
	struct err neither = *err;
	return err_set(err, ENOENT, "%.250s; and %.250s", none.text, neither.text);
}

int run_census(const struct census_options *o, struct err *err)
{
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	struct reader reader = { 0 };
	int status = EXIT_ERROR;
	signal(SIGPIPE, SIG_IGN);
	int rc = infile_keep(o->type_ids, true, err) ? -EIO : infile_keep(o->learn, false, err);
	if (rc)
		return status_of(rc);
	if (reader_split(&reader, (uint32_t)o->report.pid, o->freeze, &status, err))
		return status;
	return status_of(output_finish(&dst, write_either(o, &out, err), err));
}
