/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/glibc_heap: see glibc_heap.h. */
#include "glibc/glibc_heap.h"

#include <errno.h>
#include <string.h>

#include "glibc/arena.h"
#include "glibc/free_lists.h"
#include "glibc/mapped.h"
#include "glibc/walk.h"

int glibc_heap_read(struct memory *m, const struct space *s, const struct glibc_layout *l, bool still, struct glibc_heap *out,
		    struct err *err)
{
	*out = (struct glibc_heap){ 0 };
	int rc = glibc_arenas_read(m, s, l, out, err);
	if (!rc && still && out->odd)
		rc = err_set(err, EAGAIN, "%s", out->first_odd.text);
	rc = rc ?: glibc_walk(m, l, out, err);
	if (!rc && (rc = glibc_mapped_read(m, s, l, out)))
		err_set(err, -rc, "its memory cannot be read: %s", strerror(-rc));
	if (rc)
		glibc_heap_free(out);
	return rc;
}

int glibc_heap_settle(struct glibc_heap *h, const struct glibc_layout *l)
{
	glibc_check_fastbins(h, l);
	glibc_check_caches(h, l);
	glibc_check_bins(h, l);
	return h->odd ? -EAGAIN : 0;
}
