/* SPDX-License-Identifier: Apache-2.0 */
/* What target.c writes and recorder.c reads. Behind it the process' maps, as text. */
#ifndef ALYS_TESTS_BPFHOST_SNAPSHOT_H
#define ALYS_TESTS_BPFHOST_SNAPSHOT_H

#include <stdint.h>

struct snapshot {
	uint64_t ip, sp, fp, link, pac_mask;
	uint8_t stack[8192];
};

#endif
