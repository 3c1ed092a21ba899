/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/caps: what this process may do without being root (capabilities(7)), and giving it up. All give 0 or -errno. */
#ifndef ALYS_SANDBOX_CAPS_H
#define ALYS_SANDBOX_CAPS_H

#include <stdbool.h>
#include <stddef.h>

/* Is this one (CAP_...) in effect? */
bool caps_has(int cap);
/* What somebody may do who was not let: the end of a sentence. To root it does not say that root is needed. */
const char *caps_advice(void);
/* From here on it is for who this process is now, whoever it becomes. */
void caps_keep_advice(void);
/* One less, for this process and what it starts. */
int caps_drop(int cap);
/* All but these, of which it keeps what it has. */
int caps_keep(const int *caps, size_t cnt);
int caps_drop_all(void);

#endif
