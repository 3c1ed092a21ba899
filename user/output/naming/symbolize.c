/* SPDX-License-Identifier: Apache-2.0 */
/* naming/symbolize: see symbolize.h. */
#include "naming/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "elf/elf.h"
#include "examine/examination.h"
#include "naming/namer.h"
#include "naming/rebase.h"

struct naming {
	struct catalog *catalog;
	const struct name_options *o;
	struct examinations *examinations; /* reads the files */
	struct rebase rebase;
	struct symbolizer *symbolizer;
	const struct module *given; /* the module that --symbolize replaces */
	int root;                   /* directory of --sysroot, or -1 */
	unsigned int other_builds;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* O_NONBLOCK: the path may be a FIFO. */
static int open_at(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Symbolic links, even absolute ones, are resolved inside the sysroot. */
static int open_in_root(const struct naming *n, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_IN_ROOT };
	return (int)syscall(SYS_openat2, n->root, path, &how, sizeof(how));
}

static bool same_build(const struct module *m, const struct elf *e)
{
	uint8_t id[BUILD_ID_MAX];
	size_t n = e ? elf_build_id(e, id, sizeof(id)) : 0;
	return e && n == m->build_id_sz && !memcmp(id, m->build_id, n);
}

/* The module that corresponds to the given binary: by build id, else by name. */
static const struct module *counterpart(const struct catalog *c, const struct elf *e, const char *path)
{
	const struct module *m, *named = NULL;
	for (size_t i = 0; (m = catalog_next_module(c, &i));) {
		if (m->build_id_sz && same_build(m, e))
			return m;
		if (!strcmp(base_name(m->path), base_name(path)))
			named = m;
	}
	return named;
}

/* Corrects addresses by the traced file itself. Out of memory: they stay as they are. */
static void put_right(struct naming *n, const struct module *m, const struct elf *e)
{
	if (m->build_id_sz && same_build(m, e))
		rebase_module(&n->rebase, m->id, e);
}

static int choose_given(struct naming *n, const char *path, const struct elf *e, struct err *err)
{
	const struct module *m = n->given = counterpart(n->catalog, e, path);
	if (!m)
		return err_set(err, EINVAL, "%s is not a program or library of this trace: `alys-bpf info` lists them", path);
	if (!n->o->any_build && !same_build(m, e))
		return err_set(err, EINVAL,
			       "%s is another build than the traced %s: its names would be wrong; give the binary with the build "
			       "id that `alys-bpf info` shows, or use --any-build",
			       path, m->path);
	put_right(n, m, e);
	return 0;
}

static int lend_given(struct naming *n, const char *path, struct err *err)
{
	int fd = open_at(path);
	if (fd < 0)
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	struct elf *e = examinations_outline(n->examinations, fd, path);
	int rc = choose_given(n, path, e, err);
	elf_close(e);
	if (!rc)
		return symbolizer_add_file(n->symbolizer, n->given->id, fd, path, err);
	close(fd);
	return rc;
}

/* A descriptor of the module's file, -1: there is none of the same build. */
static int find_file(struct naming *n, const struct module *m, struct elf **e)
{
	bool rooted = n->root >= 0;
	if (m->path[0] != '/')
		return -1;
	int fd = rooted ? open_in_root(n, m->path) : open_at(m->path);
	*e = fd < 0 ? NULL : examinations_outline(n->examinations, fd, m->path);
	if (fd < 0 || (rooted && n->o->any_build) || (m->build_id_sz && same_build(m, *e)))
		return fd;
	n->other_builds++;
	close(fd);
	return -1;
}

static void lend(struct naming *n, const struct module *m)
{
	struct elf *e = NULL;
	int fd = find_file(n, m, &e);
	if (fd < 0 && m->build_id_sz && n->o->debuginfod) {
		fd = namer_fetch(m->build_id, m->build_id_sz);
		elf_close(e);
		e = fd < 0 ? NULL : examinations_outline(n->examinations, fd, m->path);
	}
	if (fd >= 0) {
		put_right(n, m, e);
		symbolizer_add_file(n->symbolizer, m->id, fd, m->path, NULL);
	}
	elf_close(e);
}

static void lend_others(struct naming *n)
{
	const struct module *m;
	for (size_t i = 0; (m = catalog_next_module(n->catalog, &i));) {
		if (m != n->given)
			lend(n, m);
	}
	if (n->root >= 0 && n->other_builds)
		log_warn("--sysroot: %u files there are of other builds than the traced ones and were left out", n->other_builds);
}

static int open_all(struct naming *n, struct err *err)
{
	const struct name_options *o = n->o;
	const struct namer_options names = {
		.depth = SYMBOL_DEPTH_FULL,
		.raw_names = o->raw_names,
		.debuginfod = o->debuginfod,
		.improve = true,
		.replace = o->raw_names || o->any_build,
	};
	n->symbolizer = namer_new(&names, err);
	if (!n->symbolizer)
		return -err->code;
	n->examinations = examinations_new(NULL, err);
	if (!n->examinations)
		return -err->code;
	n->root = o->sysroot ? open(o->sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (o->sysroot && n->root < 0)
		return err_set(err, errno, "--sysroot %s: %s", o->sysroot, strerror(errno));
	int rc = o->symbolize ? lend_given(n, o->symbolize, err) : 0;
	if (!rc)
		lend_others(n);
	rebase_stacks(&n->rebase);
	return rc;
}

static void close_all(struct naming *n)
{
	symbolizer_free(n->symbolizer);
	examinations_free(n->examinations);
	if (n->root >= 0)
		close(n->root);
}

int symbolize_trace(struct catalog *c, const struct name_options *o, struct err *err)
{
	struct naming n = { .catalog = c, .o = o, .rebase = { .catalog = c }, .root = -1 };
	if (!o->symbolize && !o->sysroot && !o->debuginfod)
		return !o->raw_names && !o->any_build ? 0
						      : err_set(err, EINVAL,
								"--raw-names and --any-build only affect names that are looked "
								"up again: give --symbolize BINARY or --sysroot DIR as well");
	int rc = open_all(&n, err);
	if (!rc)
		rc = namer_run(n.symbolizer, c, err);
	close_all(&n);
	return rc;
}
