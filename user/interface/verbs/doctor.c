/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/doctor: reports which features work on this system, and where probes would be attached, with reasons. */
#include "base/exit_status.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "access/infile.h"
#include "access/outfile.h"
#include "base/buf.h"
#include "examine/examination.h"
#include "probe/probe.h"
#include "verbs/probe_places.h"

static int examine_rows(struct examinations *x, int fd, const char *path, struct err *err)
{
	const struct examination e = { .fd = fd, .path = path, .ask = { .parts = FINDINGS_ROWS } };
	struct findings f;
	int rc = 0;
	examinations_now(x, &e, &f);
	if (f.failed.code || f.rows.err.code)
		*err = f.failed.code ? f.failed : f.rows.err;
	if (f.rows.table && (unwind_dump(f.rows.table, stdout) || fflush(stdout)))
		rc = err_set(err, errno, "cannot write: %s", strerror(errno));
	else if (!f.rows.table)
		rc = err_wrap(err, "%s", path);
	findings_free(&f);
	return rc;
}

static int print_rows(const char *path, struct err *err)
{
	int fd = infile_open(path, err);
	if (fd < 0)
		return fd;
	struct examinations *x = examinations_new(NULL, err);
	int rc = x ? examine_rows(x, fd, path, err) : -err->code;
	examinations_free(x);
	close(fd);
	return rc;
}

int run_doctor(const struct doctor_options *o, struct err *err)
{
	struct buf out = { 0 };
	bool works = true;
	int rc = 0;
	own_use(&o->own);
	if (o->unwind)
		rc = print_rows(o->unwind, err);
	else if (o->probes_pid)
		rc = places_list(o->probes_pid, &out, err);
	else
		works = probe_doctor(&out);
	struct err unwritten;
	int written = outfile_print(out.data, out.len, &unwritten);
	buf_free(&out);
	if (written && !rc) {
		*err = unwritten;
		rc = written;
	}
	return rc == -ESRCH ? EXIT_NOTHING : rc || !works ? EXIT_ERROR : EXIT_OK;
}
