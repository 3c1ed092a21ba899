/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a program on functions of a file, the way kernels have had since 6.6 and, failing that, one by one. */
#ifndef ALYS_TESTS_BPF_ATTACH_H
#define ALYS_TESTS_BPF_ATTACH_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, newer than libbpf 1.1 */

/* Programs that will go on with attach_probe have to be told before they are loaded. */
void attach_prepare(struct bpf_program *prog, bool multi);
/* The link's descriptor, or exits with words. tgid 0 = all. */
int attach_probe(struct bpf_program *prog, bool multi, bool at_return, uint32_t tgid, const char *path,
		 const uint64_t *offsets, uint32_t n);
bool attach_has_multi(void);

#endif
