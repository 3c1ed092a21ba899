/* SPDX-License-Identifier: Apache-2.0 */
/* naming/namer: the symbolizer as sessions use it: its words go to the log, its downloads show progress. */
#ifndef ALYS_NAMING_NAMER_H
#define ALYS_NAMING_NAMER_H

#include "symbol/symbol.h"

/* Refuses --debuginfod where it cannot work. */
int namer_config(struct symbolizer_config *out, enum symbol_depth depth, bool raw_names, bool debuginfod, struct err *err);

#endif
