/* SPDX-License-Identifier: Apache-2.0 */
/* naming/name_sources: sources of names that a recording lacks. */
#ifndef ALYS_NAMING_NAME_SOURCES_H
#define ALYS_NAMING_NAME_SOURCES_H

#include <stdbool.h>

struct name_options {
	const char *symbolize; /* binary to take names from, NULL = none */
	const char *sysroot;   /* directory that contains the traced files under their paths */
	bool any_build;        /* accept files of another build */
	bool debuginfod;       /* may use the network */
	bool raw_names;        /* mangled */
};

#endif
