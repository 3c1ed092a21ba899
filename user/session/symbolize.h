/* session/symbolize: names for a trace from files at hand: `convert --symbolize BINARY`. */
#ifndef ALYS_SESSION_SYMBOLIZE_H
#define ALYS_SESSION_SYMBOLIZE_H

#include "base/err.h"
#include "catalog/catalog.h"

/*
 * Resolves the frames of the module that `path` is a copy of: same build id, or same file name when
 * the trace has none; a build id that differs is refused. Other modules are looked for at their own
 * paths and used when the build id agrees. Frames that have names already keep them.
 */
int symbolize_binary(struct catalog *c, const char *path, struct err *err);

#endif
