/* SPDX-License-Identifier: Apache-2.0 */
/* naming/symbolize: symbolizes a trace from local files: `--symbolize`, `--sysroot`. */
#ifndef ALYS_NAMING_SYMBOLIZE_H
#define ALYS_NAMING_SYMBOLIZE_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "naming/name_sources.h"

/*
 * As the options say, possibly nothing. The given binary is used for the module with the same build id, or file name; a
 * different build id is refused. Other modules are looked for below the sysroot, else at their own paths, and used if
 * the build id matches. Frames that already have a line keep it.
 */
int symbolize_trace(struct catalog *c, const struct name_options *o, struct err *err);

#endif
