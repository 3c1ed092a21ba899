/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/faults: where this machine's kernel reports page faults, to a program that is made for it (bpf/MACHINE/fault.bpf.h). */
#ifndef ALYS_KERNEL_FAULTS_H
#define ALYS_KERNEL_FAULTS_H

#include <stddef.h>

/* How many sources make up all faults. */
size_t faults_sources(void);
/* Attaches the program; returns a descriptor to be closed, or -errno. -ENODEV: there is nothing to be heard from this source. */
int faults_open(size_t source, int prog_fd);

#endif
