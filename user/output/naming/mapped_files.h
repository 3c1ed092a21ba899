/* SPDX-License-Identifier: Apache-2.0 */
/* naming/mapped_files: gives the mapped files of a recording's processes to a symbolizer. */
#ifndef ALYS_NAMING_MAPPED_FILES_H
#define ALYS_NAMING_MAPPED_FILES_H

#include "symbol/symbol.h"
#include "target/target.h"

/*
 * The symbolizer gets a duplicate of each descriptor, so it may outlive the targets. Files that cannot be read give no
 * names.
 */
void files_give(const struct target_table *t, const struct catalog *modules, struct symbolizer *s);

#endif
