/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/programs: loads the probe programs in the background: verifying them takes longer than everything else before
 * a recording.
 *
 * libbpf prepares them, but would load them one after the other. So it is given stubs to load, and a thread loads the
 * prepared programs and puts them in place of the stubs. Between open and close all calls must come from one thread.
 */
#ifndef ALYS_KERNEL_PROGRAMS_H
#define ALYS_KERNEL_PROGRAMS_H

#include <stddef.h>

struct alys_bpf;
struct bpf_program;
struct programs;

/* Call before the skeleton is opened: registers the program handlers with libbpf. */
void programs_register(void);
/*
 * Loads the skeleton; programs in `first` come first. NULL with *rc = -errno. The skeleton must outlive the programs.
 */
struct programs *programs_load(struct alys_bpf *skel, struct bpf_program *const *first, size_t n, int *rc);
/* 0 once the program is loaded, or if it is not ours to load; -errno if the kernel refused it. */
int programs_await(struct programs *ps, const struct bpf_program *prog);
int programs_await_all(struct programs *ps);
/* NULL is fine. Programs that are not loaded yet are not loaded any more. */
void programs_close(struct programs *ps);

#endif
