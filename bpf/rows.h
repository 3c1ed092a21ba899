/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Unwind rows: what the compiler of .eh_frame (user/capture/unwind) writes and the walker (unwind.bpf.h)
 * reads. Included by both sides; includes nothing of ours. sp and fp are rsp and rbp, or sp and x29.
 *
 * A row says how to find the caller's frame from one address on, up to the next row:
 *
 *    31        20 19  18  17         6 5      0
 *   | pc & 4095  | S | B | CFA off / 8 | fp k  |     S = 0: CFA = (B ? fp : sp) + off
 *   | pc & 4095  | S |     aux         | kind  |     S = 1: ALYS_ROW_* kinds, aux below
 *                      18             3 2     0
 *
 * fp was saved at CFA - 8 * (k + 1), or not at all when k = 0.
 * x86-64: the return address is at CFA - 8.
 * Example: `push rbp; mov rbp, rsp` gives CFA = rsp + 8, then rsp + 16 with k = 1, then rbp + 16.
 * aarch64: the return address was saved beside fp, at CFA - 8 * k; when k = 0, it is in x30 still.
 * Example: `stp x29, x30, [sp, -32]!` gives CFA = sp + 0, then sp + 32 with k = 3.
 *
 * Rows of one 4 KB page of text lie together, the first one at offset 0 of the page (a copy of what
 * holds there), and a page index names it. So a search never leaves a page and compares 12 bits.
 */
#ifndef ALYS_ROWS_H
#define ALYS_ROWS_H

#include <linux/types.h>

#define ALYS_PAGE_SHIFT 12
#define ALYS_ROW_PC_SHIFT 20
#define ALYS_ROW_INFO ((1u << ALYS_ROW_PC_SHIFT) - 1) /* a row without its pc */
#define ALYS_ROW_SPECIAL (1u << 19)
#define ALYS_ROW_BP (1u << 18)
#define ALYS_ROW_CFA_SHIFT 6
#define ALYS_ROW_CFA_MAX 0xfffu /* words */
#define ALYS_ROW_SLOT_MAX 63u
#define ALYS_ROW_KIND 7u
#define ALYS_ROW_AUX_SHIFT 3
#define ALYS_ROW_AUX_MAX 0xffffu

/* Kinds of special rows. */
#define ALYS_ROW_NONE 0        /* no unwind information here */
#define ALYS_ROW_END 1         /* bottom of the stack */
#define ALYS_ROW_PLT 2         /* x86-64: CFA = rsp + 8, or + 16 from instruction byte aux of 16 on */
#define ALYS_ROW_SIGNAL 3      /* the kernel's signal frame: registers are in the ucontext there */
#define ALYS_ROW_UNSUPPORTED 4 /* aux = ALYS_ROW_WHY_* */
#define ALYS_ROW_SPEC 5        /* aux = number of a struct alys_spec */

/* Why a rule has no row. */
#define ALYS_ROW_WHY_RA 0   /* return address in another register, or computed */
#define ALYS_ROW_WHY_CFA 1  /* CFA from another register or an unknown expression */
#define ALYS_ROW_WHY_BP 2   /* fp kept in a register or computed */
#define ALYS_ROW_WHY_SP 3   /* sp is not the CFA */
#define ALYS_ROW_WHY_FULL 4 /* more different specs than fit */
#define ALYS_ROW_WHY_CNT 5

#define ALYS_ROW_SPECIAL_OF(kind, aux) (ALYS_ROW_SPECIAL | (__u32)(aux) << ALYS_ROW_AUX_SHIFT | (kind))

/* A rule that does not fit into a row: realigned stacks, hand-written code, huge frames, other stacks. */
struct alys_spec {
	__s32 off; /* CFA = base + off, or *(base + off) + add, or see far */
	__s32 add;
	__s32 bp_off; /* where fp was saved, see bp */
	__s32 ra_off; /* the return address is at CFA + ra_off; 0: in its register still */
	__u8 base_bp; /* base is fp, not sp */
	__u8 deref;
	__u8 bp;  /* ALYS_SPEC_BP_* */
	__u8 far; /* the caller is on another stack: ALYS_SPEC_FAR, or from ALYS_SPEC_GO on, see below */
};

#define ALYS_SPEC_FAR 1
/* + the offset from sp of the word where Go keeps the goroutine g. CFA = g->stack.hi - *(base + off) + add. */
#define ALYS_SPEC_GO 8
#define ALYS_SPEC_GO_STACK_HI 8 /* the offset of stack.hi in a g */

#define ALYS_SPEC_BP_SAME 0   /* not saved */
#define ALYS_SPEC_BP_AT_CFA 1 /* at CFA + bp_off */
#define ALYS_SPEC_BP_AT_BP 2  /* at fp + bp_off */
#define ALYS_SPEC_BP_AT_SP 3  /* at sp + bp_off */

#define ALYS_MAX_SPECS 4096
#define ALYS_MAX_CHUNKS 64
#define ALYS_CHUNK_WORDS (1u << 20) /* 4 MB: the largest array value that old kernels allow */
#define ALYS_MAX_MAPPINGS 65536     /* of all processes together */

struct alys_chunk {
	__u32 w[ALYS_CHUNK_WORDS];
};

/* One executable mapping of one process. */
struct alys_mapping {
	__u64 start, end;
	__u64 bias;     /* address in the process - address in the file */
	__u32 chunk;    /* where its rows are */
	__u32 page_off; /* word in the chunk: the page index, whose numbers count from here too */
	__u32 page0;    /* address in the file >> 12 of the first indexed page */
	__u32 pages;    /* 0 = known, but without rows: generated code, vdso */
};

/* A process' mappings in `mappings`, sorted by start. */
struct alys_map_list {
	__u32 first, n;
	__u64 salt; /* new with every list: entries of the pc cache made under an older one do not match */
};

_Static_assert(sizeof(struct alys_spec) == 20, "wire");
_Static_assert(sizeof(struct alys_mapping) == 40, "wire");
_Static_assert(sizeof(struct alys_map_list) == 16, "wire");

#endif
