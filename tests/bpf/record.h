/* SPDX-License-Identifier: Apache-2.0 */
/* Saves stacks for tests/bpfhost (see its record.h). */
#ifndef ALYS_TESTS_BPF_RECORD_H
#define ALYS_TESTS_BPF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "snap.h"

/* False if the stack is too long to be saved, or its code is no longer mapped. */
bool record_stack(const struct snap *s, uint64_t cfa, const char *path);

#endif
