/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack as it was on a live program: registers, stack memory, the rows of the pages its code lies in,
 * and what libdw and the walk in the kernel both made of it; of aarch64, libdw alone. All numbers little endian:
 *
 *   "ALYSREC1" | u64 ip sp bp cfa | aarch64, "ALYSREC2": u64 x30, pac_mask | u32 n end | n x u64 ips | u64 at, u32 size, the stack from there on |
 *   u32 pages, each: u64 address, u32 rows, u32 specs | rows x u32 | specs x struct alys_spec
 */
#ifndef ALYS_TESTS_BPFHOST_RECORD_H
#define ALYS_TESTS_BPFHOST_RECORD_H

#define RECORD_MAGIC "ALYSREC1"
#define RECORD_MAGIC_ARM64 "ALYSREC2"
#define RECORD_PAGES 128
#define RECORD_STACK (64 << 10)

#endif
