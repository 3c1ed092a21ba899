/* SPDX-License-Identifier: Apache-2.0 */
/* machine/unported: what does not work on this architecture yet. */
#ifndef ALYS_MACHINE_UNPORTED_H
#define ALYS_MACHINE_UNPORTED_H

/* In words, for people; NULL: all works. */
const char *unported(void);

#endif
