/* session/doctor: what works here and what does not, in words; where probes would go, and why. */
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "elf/elf.h"
#include "probe/probe.h"
#include "session/attach.h"

int session_doctor(const struct doctor_options *o, struct err *err)
{
	struct buf out = { 0 };
	bool works = true;
	int rc = 0;
	if (o->probes_pid)
		rc = attach_list(o->probes_pid, &out, err);
	else
		works = probe_doctor(&out);
	fwrite(out.data, 1, out.len, stdout);
	buf_free(&out);
	return rc == -ESRCH ? EXIT_NOTHING : rc || !works ? EXIT_ERROR : EXIT_OK;
}
