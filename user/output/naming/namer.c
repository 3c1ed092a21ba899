/* SPDX-License-Identifier: Apache-2.0 */
/* naming/namer: see namer.h. */
#include "naming/namer.h"

#include <errno.h>

#include "base/log.h"
#include "naming/mapped_files.h"
#include "naming/progress.h"
#include "symbol/fetch.h"

static void say_problem(void *ctx, const char *path, const char *why)
{
	(void)ctx;
	log_info("%s: names: %s", path, why);
}

int namer_fetch(const uint8_t *id, size_t id_sz)
{
	struct progress p = progress_begin("fetching debug information");
	int fd = fetch_debug(id, id_sz, progress_step, &p);
	progress_end(&p);
	return fd;
}

static int fetch(void *ctx, const uint8_t *id, size_t id_sz)
{
	(void)ctx;
	return namer_fetch(id, id_sz);
}

struct symbolizer *namer_new(const struct namer_options *o, struct err *err)
{
	const struct symbolizer_config config = {
		.depth = o->depth,
		.raw_names = o->raw_names,
		.improve = o->improve,
		.replace = o->replace,
		.memory = o->memory,
		.fetch = o->debuginfod ? fetch : NULL,
		.problem = say_problem,
	};
	if (o->debuginfod && fetch_check(err))
		return NULL;
	struct symbolizer *s = symbolizer_new(&config);
	if (!s)
		err_set(err, ENOMEM, "out of memory: stacks have addresses, but no names");
	return s;
}

struct symbolizer *namer_of_recording(const struct handles *h, const struct catalog *c, uint64_t memory, struct err *err)
{
	const struct namer_options o = {
		.depth = h->o->backtrace == BACKTRACE_NAME ? SYMBOL_DEPTH_NAME : SYMBOL_DEPTH_FULL,
		.raw_names = h->o->raw_names,
		.debuginfod = h->o->debuginfod,
		.memory = memory,
	};
	struct symbolizer *s = namer_new(&o, err);
	if (s)
		files_give(h->targets, c, s);
	return s;
}

int namer_run(struct symbolizer *s, struct catalog *c, struct err *err)
{
	struct progress p = progress_begin("resolving names");
	int rc = symbolizer_run(s, c, progress_step, &p, err);
	progress_end(&p);
	return rc;
}
