/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock: the monotonic clock. */
#ifndef ALYS_BASE_CLOCK_H
#define ALYS_BASE_CLOCK_H

#include <stdint.h>

uint64_t now_ns(void); /* CLOCK_MONOTONIC */

#endif
