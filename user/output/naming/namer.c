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

/* For modules without a file: the debug information, or -1. */
static int fetch(void *ctx, const uint8_t *id, size_t id_sz)
{
	struct progress p = progress_begin("fetching debug information");
	(void)ctx;
	int fd = fetch_debug(id, id_sz, progress_step, &p);
	progress_end(&p);
	return fd;
}

int namer_config(struct symbolizer_config *out, enum symbol_depth depth, bool raw_names, bool debuginfod, struct err *err)
{
	*out = (struct symbolizer_config){
		.depth = depth,
		.raw_names = raw_names,
		.fetch = debuginfod ? fetch : NULL,
		.problem = say_problem,
	};
	return debuginfod ? fetch_check(err) : 0;
}

struct symbolizer *namer_of_recording(const struct handles *h, const struct catalog *c, uint64_t memory, struct err *err)
{
	enum symbol_depth depth = h->o->backtrace == BACKTRACE_NAME ? SYMBOL_DEPTH_NAME : SYMBOL_DEPTH_FULL;
	struct symbolizer_config config;
	if (namer_config(&config, depth, h->o->raw_names, h->o->debuginfod, err))
		return NULL;
	config.memory = memory;
	struct symbolizer *s = symbolizer_new(&config);
	if (s)
		files_give(h->targets, c, s);
	else
		err_set(err, ENOMEM, "out of memory: stacks have addresses, but no names");
	return s;
}
