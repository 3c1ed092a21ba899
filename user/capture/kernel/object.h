/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/object: selects which of the two builds of the BPF programs is opened. For a kfunc that the kernel lacks,
 * libbpf searches the BTF of its modules, and only CAP_SYS_ADMIN may list those (BPF_BTF_GET_NEXT_ID): with CAP_BPF
 * alone the load would fail. The lean build uses no kfuncs.
 */
#ifndef ALYS_KERNEL_OBJECT_H
#define ALYS_KERNEL_OBJECT_H

#include "kernel/tier.h"

struct alys_bpf;

/* Opened, not loaded; NULL and errno. */
struct alys_bpf *object_open(const struct kernel_facts *facts);

#endif
