/* SPDX-License-Identifier: Apache-2.0 */
/* probe/priced: functions for probe/price.h. */
#ifndef ALYS_PROBE_PRICED_H
#define ALYS_PROBE_PRICED_H

/* Its first instruction is one that the kernel emulates. Called with a probe and without. */
void priced(void);
/* Its second instruction, which the processor has to run apart; not to be called. */
void priced_stepped(void);
/* PRICED_CNT instructions that the kernel emulates, of the same length; not to be called. */
void priced_many(void);
#define PRICED_CNT 32
#ifdef __aarch64__
#define PRICED_SZ 4
#else
#define PRICED_SZ 1
#endif

#endif
