/* SPDX-License-Identifier: Apache-2.0 */
/* probe/load: loads the programs. */
#ifndef ALYS_PROBE_LOAD_H
#define ALYS_PROBE_LOAD_H

#include "probe/state.h"

struct bpf_program;

/* Waits until the program is in the kernel. */
int program_ready(const struct probe *p, const struct bpf_program *prog, struct err *err);

/* Attaches the programs for pages, or detaches them. */
int listen_pages(struct probe *p, bool on);

#endif
