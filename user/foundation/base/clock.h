/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock: clocks, in nanoseconds. */
#ifndef ALYS_BASE_CLOCK_H
#define ALYS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_ns(clockid_t clock);
uint64_t now_ns(void); /* CLOCK_MONOTONIC */

#endif
