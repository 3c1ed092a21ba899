/* session/symbolize: see symbolize.h. */
#include "session/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "session/progress.h"
#include "symbol/symbol.h"

struct files {
	int *fds;
	size_t fds_cnt, fds_cap;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int keep_open(struct files *files, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int *place = fd >= 0 ? VEC_PUSH(files, fds) : NULL;
	if (place)
		*place = fd;
	return place ? fd : -1;
}

static bool same_build(const struct module *m, int fd, const char *path)
{
	uint8_t id[BUILD_ID_MAX];
	struct elf *e = elf_open(fd, path, NULL);
	size_t n = e ? elf_build_id(e, id, sizeof(id)) : 0;
	elf_close(e);
	return e && n == m->build_id_sz && !memcmp(id, m->build_id, n);
}

/* The module that the given binary stands for: by build id, else by name. */
static const struct module *counterpart(const struct catalog *c, int fd, const char *path)
{
	const struct module *m, *named = NULL;
	for (size_t i = 0; (m = catalog_next_module(c, &i));) {
		if (m->build_id_sz && same_build(m, fd, path))
			return m;
		if (!strcmp(base_name(m->path), base_name(path)))
			named = m;
	}
	return named;
}

static int lend_given(struct symbolizer *s, const struct catalog *c, struct files *files, const char *path,
		      const struct module **given, struct err *err)
{
	int fd = keep_open(files, path);
	if (fd < 0)
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	const struct module *m = *given = counterpart(c, fd, path);
	if (!m)
		return err_set(err, EINVAL, "%s is no program or library of this trace: `alys-bpf info` lists them", path);
	if (!same_build(m, fd, path))
		return err_set(err, EINVAL, "%s is another build than the traced %s: its names would be wrong; give the binary "
					    "with the build id that `alys-bpf info` shows", path, m->path);
	return symbolizer_add_file(s, m->id, fd, path, err);
}

static void lend_neighbours(struct symbolizer *s, const struct catalog *c, struct files *files,
			    const struct module *given)
{
	const struct module *m;
	for (size_t i = 0; (m = catalog_next_module(c, &i));) {
		int fd = m == given || m->path[0] != '/' ? -1 : keep_open(files, m->path);
		if (fd >= 0 && m->build_id_sz && same_build(m, fd, m->path))
			symbolizer_add_file(s, m->id, fd, m->path, NULL);
	}
}

int symbolize_binary(struct catalog *c, const char *path, struct err *err)
{
	struct files files = { 0 };
	const struct module *given = NULL;
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_config){ .depth = SYMBOL_DEPTH_FULL });
	if (!s)
		return err_set(err, ENOMEM, "out of memory");
	int rc = lend_given(s, c, &files, path, &given, err);
	if (!rc) {
		struct progress p = progress_begin("resolving names");
		lend_neighbours(s, c, &files, given);
		rc = symbolizer_run(s, c, progress_step, &p, err);
		progress_end(&p);
	}
	symbolizer_free(s);
	for (size_t i = 0; i < files.fds_cnt; i++)
		close(files.fds[i]);
	free(files.fds);
	return rc;
}
