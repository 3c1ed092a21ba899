/* SPDX-License-Identifier: Apache-2.0 */
/* naming/options: where names that a recording lacks come from. */
#ifndef ALYS_NAMING_OPTIONS_H
#define ALYS_NAMING_OPTIONS_H

#include <stdbool.h>

/* Where names that a trace lacks come from. */
struct name_options {
	const char *symbolize; /* binary to take names from, NULL = none */
	const char *sysroot;   /* directory where the traced files are found under their paths */
	bool any_build;        /* files of another build will do */
	bool debuginfod;       /* may ask the network */
	bool raw_names;        /* as the compiler wrote them */
};

#endif
