/* SPDX-License-Identifier: Apache-2.0 */
/* machine/unported: what does not work on this architecture yet. */
#ifndef ALYS_MACHINE_UNPORTED_H
#define ALYS_MACHINE_UNPORTED_H

/* Why programs cannot be recorded here, as a sentence; NULL: they can. */
const char *unported(void);

#endif
