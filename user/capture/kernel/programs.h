/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/programs: loads the probe programs when they are needed: verifying them takes longer than everything else
 * before a recording.
 *
 * libbpf prepares them, but would load all of them. So it is given stubs to load. A thread loads the programs that
 * nearly every recording needs, whoever asks for another one loads it, and they are put in place of the stubs.
 * Between open and close all calls must come from one thread.
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
 * Loads the skeleton, and in the background the programs in `first`. NULL with *rc = -errno. The skeleton must outlive
 * the programs.
 */
struct programs *programs_load(struct alys_bpf *skel, struct bpf_program *const *first, size_t n, int *rc);
/* 0 once the program is loaded, or if it is not ours to load; -errno if the kernel refused it. */
int programs_await(struct programs *ps, const struct bpf_program *prog);
/* Those that are loaded in the background; then there is no thread any more. */
int programs_await_first(struct programs *ps);
int programs_await_all(struct programs *ps);
/* NULL is fine. Programs that are not loaded yet are not loaded any more. */
void programs_close(struct programs *ps);

#endif
