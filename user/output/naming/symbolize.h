/* SPDX-License-Identifier: Apache-2.0 */
/* naming/symbolize: names for a trace from files at hand: `--symbolize`, `--sysroot`. */
#ifndef ALYS_NAMING_SYMBOLIZE_H
#define ALYS_NAMING_SYMBOLIZE_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "naming/options.h"

/*
 * What the options ask for, maybe nothing. The given binary stands for the module of the same build
 * id, or file name; a build id that differs is refused. Other modules are looked for under the sysroot,
 * else at their own paths, and used when the build id agrees. Frames that know their line keep what
 * they have.
 */
int symbolize_trace(struct catalog *c, const struct name_options *o, struct err *err);

#endif
