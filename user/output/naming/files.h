/* SPDX-License-Identifier: Apache-2.0 */
/* naming/files: the files of a recording, as processes have them mapped, for a symbolizer. */
#ifndef ALYS_NAMING_FILES_H
#define ALYS_NAMING_FILES_H

#include "symbol/symbol.h"
#include "target/target.h"

/* A copy of each descriptor goes to the symbolizer, so that it may outlive the targets. What cannot be read has no names. */
void files_give(const struct target_table *t, const struct catalog *modules, struct symbolizer *s);

#endif
