/* session/doctor: what works here and what does not, in words; where probes would go, and why. */
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "elf/elf.h"
#include "probe/probe.h"
#include "session/places.h"
#include "unwind/unwind.h"

static int print_rows(const char *path, struct err *err)
{
	int fd = infile_open(path, err);
	if (fd < 0)
		return fd;
	struct elf *e = elf_open(fd, path, err);
	struct unwind_table *rows = e ? unwind_compile(e, err) : NULL;
	int rc = rows ? 0 : e ? err_wrap(err, "%s", path) : -err->code;
	if (rows && (unwind_dump(rows, stdout) || fflush(stdout)))
		rc = err_set(err, errno, "cannot write: %s", strerror(errno));
	unwind_free(rows);
	elf_close(e);
	close(fd);
	return rc;
}

int session_doctor(const struct doctor_options *o, struct err *err)
{
	struct buf out = { 0 };
	bool works = true;
	int rc = 0;
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
