/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/programs: the probe programs on their way into the kernel, behind the back of whoever does
 * something else meanwhile: to verify them takes longer than everything else before a recording.
 *
 * libbpf prepares them, but would also load them, one after the other. So it is given stubs to load,
 * and a thread loads what it had prepared and puts it where the stub is. Between open and close all
 * calls come from one thread.
 */
#ifndef ALYS_KERNEL_PROGRAMS_H
#define ALYS_KERNEL_PROGRAMS_H

#include <stddef.h>

struct alys_bpf;
struct bpf_program;
struct programs;

/* Before the skeleton is opened: from then on the room knows its programs. */
void programs_register(void);
/*
 * Loads the skeleton; those listed in `first` come before the others. NULL with *rc = -errno. The
 * skeleton has to stay until programs_close.
 */
struct programs *programs_load(struct alys_bpf *skel, struct bpf_program *const *first, size_t n, int *rc);
/* 0 when the program is in the kernel, or was never ours to load; -errno when the kernel refused it. */
int programs_await(struct programs *ps, const struct bpf_program *prog);
int programs_await_all(struct programs *ps);
/* NULL is fine. Programs that are not in the kernel yet stay out. */
void programs_close(struct programs *ps);

#endif
