/* cc: musl-gcc */
#include "c_rates.c"
/* SPDX-License-Identifier: Apache-2.0 */
