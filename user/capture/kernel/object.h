/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/object: which of the two builds of the BPF programs is opened. Kernel functions (kfuncs) that a kernel does not
 * have make libbpf look through the types of its modules, and only CAP_SYS_ADMIN may list those (BPF_BTF_GET_NEXT_ID):
 * with CAP_BPF alone the load would fail. The lean build asks for none of them.
 */
#ifndef ALYS_KERNEL_OBJECT_H
#define ALYS_KERNEL_OBJECT_H

#include <stdbool.h>

#include "kernel/tier.h"

struct alys_bpf;

/* May the programs ask for kernel functions, here and with this process's rights? */
bool object_has_kfuncs(const struct kernel_facts *facts);
/* Opened, not loaded; NULL and errno. */
struct alys_bpf *object_open(const struct kernel_facts *facts);

#endif
