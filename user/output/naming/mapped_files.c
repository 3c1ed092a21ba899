/* SPDX-License-Identifier: Apache-2.0 */
/* naming/mapped_files: see mapped_files.h. */
#include "naming/mapped_files.h"

#include <fcntl.h>

#include "base/log.h"

static int give(const struct target_table *t, const struct module *m, struct symbolizer *s, struct err *err)
{
	int fd = target_module_fd(t, m->id);
	if (fd >= 0)
		return symbolizer_add_file(s, m->id, fcntl(fd, F_DUPFD_CLOEXEC, 3), m->path, err);
	fd = target_open_perf_map(t, m->id);
	return fd < 0 ? 0 : symbolizer_add_perf_map(s, m->id, fd, m->path, err);
}

void files_give(const struct target_table *t, const struct catalog *modules, struct symbolizer *s)
{
	const struct module *m;
	struct err err;
	for (size_t i = 0; (m = catalog_next_module(modules, &i));) {
		if (give(t, m, s, &err))
			log_info("%s: no names: %s", m->path, err.text);
	}
}
