/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds a recorded stack with libdw, from the same registers and memory. The walk test compares with
 * its result, as far as the copy of the stack reaches.
 */
#ifndef ALYS_TESTS_BPF_ORACLE_H
#define ALYS_TESTS_BPF_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "snap.h"

struct oracle;

struct oracle_stack {
	uint32_t n;
	bool cut; /* libdw needed memory that was not copied */
	struct {
		uint64_t pc;
		bool interrupted; /* pc is not a return address */
	} at[ALYS_MAX_FRAMES];
};

/* For a process with these contents of /proc/PID/maps. NULL if libdw rejects them. */
struct oracle *oracle_new(uint32_t tgid, const char *maps);
void oracle_free(struct oracle *o);
void oracle_unwind(struct oracle *o, const struct snap *s, struct oracle_stack *out);

enum calibration_outcome { CALIBRATION_EQUAL, CALIBRATION_CUT, CALIBRATION_DIFFERS };
enum calibration_outcome oracle_compare(const struct oracle_stack *truth, const struct snap *s);

#endif
