/* SPDX-License-Identifier: Apache-2.0 */
/* http/later: see later.h. */
#include "http/later.h"

void http_later_done(struct http_later *later, int rc, struct buf *out, const struct err *err)
{
	later->done(later, rc, out, err);
}
