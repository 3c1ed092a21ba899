/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector/variables: where a collector keeps its own variables, and its code. They are no roots of the program: its lists of free
 * objects would all seem alive. In: a collector as found in a process. Out: ranges of that process' memory.
 */
#ifndef ALYS_COLLECTOR_VARIABLES_H
#define ALYS_COLLECTOR_VARIABLES_H

#include "collector/collector.h"
#include "marking/unknown.h"

void variables_of(const struct collector *c, struct own_places *out);

#endif
