/* SPDX-License-Identifier: Apache-2.0 */
/* naming/namer: the symbolizer with messages going to the log and a progress bar for downloads. */
#ifndef ALYS_NAMING_NAMER_H
#define ALYS_NAMING_NAMER_H

#include "symbol/symbol.h"

/* Rejects --debuginfod if it cannot work. */
int namer_config(struct symbolizer_config *out, enum symbol_depth depth, bool raw_names, bool debuginfod, struct err *err);

#endif
