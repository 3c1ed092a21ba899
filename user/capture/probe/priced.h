/* SPDX-License-Identifier: Apache-2.0 */
/* probe/priced: the function that probe/price.h calls, with a probe and without. */
#ifndef ALYS_PROBE_PRICED_H
#define ALYS_PROBE_PRICED_H

/* Its first instruction is one that the kernel emulates. */
void priced(void);
/* Its second instruction, which the processor has to run apart; not to be called. */
void priced_stepped(void);

#endif
