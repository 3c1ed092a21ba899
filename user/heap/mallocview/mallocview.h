/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview: the verb `census`, and `report --heap`: of a collector's heap where there is one, else of glibc's malloc. */
#ifndef ALYS_MALLOCVIEW_H
#define ALYS_MALLOCVIEW_H

#include "base/err.h"
#include "heapview/heapview.h"

/* The exit status. */
int run_census(const struct census_options *o, struct err *err);

#endif
