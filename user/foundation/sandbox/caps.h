/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/caps: capabilities(7) of this process, and dropping them. All return 0 or -errno. */
#ifndef ALYS_SANDBOX_CAPS_H
#define ALYS_SANDBOX_CAPS_H

#include <stdbool.h>
#include <stddef.h>

/* Is this capability (CAP_...) in effect? */
bool caps_has(int cap);
/* Those that this process lacks of what other users' and containers' processes need in /proc; "" = none. */
#define CAPS_MISSING_TEXT 80
const char *caps_missing(char out[CAPS_MISSING_TEXT]);
/* The end of a sentence that says which privileges are missing. For root it does not say that root is needed. */
const char *caps_advice(void);
/* Fixes the advice to the current user, before this process changes its user. */
void caps_keep_advice(void);
/* Drops one, for this process and its children. */
int caps_drop(int cap);
/* Drops all but these; those of them that it has are kept. */
int caps_keep(const int *caps, size_t cnt);
int caps_drop_all(void);

#endif
