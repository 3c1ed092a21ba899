/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the stack of a call begins. */
#ifndef ALYS_WALK_START_BPF_H
#define ALYS_WALK_START_BPF_H

struct walk_start {
	__u64 cfa;    /* of the probed function */
	__u16 into;   /* as in struct alys_site */
	__u16 fp_off; /* likewise */
	__u32 pad;
};

#endif
