/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector/variables: address ranges of a collector's own variables and code. They are not roots of the program:
 * through its free lists everything would seem live. In: a collector found in a process. Out: ranges of that process'
 * memory.
 */
#ifndef ALYS_COLLECTOR_VARIABLES_H
#define ALYS_COLLECTOR_VARIABLES_H

#include "collector/collector.h"
#include "marking/unknown.h"

void variables_of(const struct collector *c, struct own_places *out);

#endif
