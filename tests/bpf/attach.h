/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches a program to functions of a file: by one uprobe_multi link (since Linux 6.6), otherwise one by one. */
#ifndef ALYS_TESTS_BPF_ATTACH_H
#define ALYS_TESTS_BPF_ATTACH_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, newer than libbpf 1.1 */

/* Must be called before loading a program that will be attached with attach_probe. */
void attach_prepare(struct bpf_program *prog, bool multi);
/* Returns the link's file descriptor, or exits with a message. tgid 0 = all. */
int attach_probe(struct bpf_program *prog, bool multi, bool at_return, uint32_t tgid, const char *path,
		 const uint64_t *offsets, uint32_t n);
bool attach_has_multi(void);

#endif
