/* SPDX-License-Identifier: Apache-2.0 */
/* http/deferred: see deferred.h. */
#include "http/deferred.h"

void http_deferred_done(struct http_deferred *later, int rc, struct buf *out, const struct err *err)
{
	later->done(later, rc, out, err);
}
