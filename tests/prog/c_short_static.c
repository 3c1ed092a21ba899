/* flags: -static */
#include "c_short.c"
/* SPDX-License-Identifier: Apache-2.0 */
