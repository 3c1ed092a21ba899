/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/listing: serialization of site lists, sent by the process that analyses hostile files to the one that
 * attaches probes.
 */
#ifndef ALYS_SITES_LISTING_H
#define ALYS_SITES_LISTING_H

#include "base/buf.h"
#include "base/cursor.h"
#include "sites/collections.h"
#include "sites/sites.h"

void sites_write(const struct site_list *l, struct buf *out);
/* 0, then sites_free; -ENOMEM; -EPROTO: malformed. All indexes in it are within bounds. */
int sites_read(struct cursor *c, struct site_list *out);
/* Is it a place that a program in the kernel can read? */
bool note_arg_ok(const struct alys_note_arg *a);
void collections_write(const struct collection_sites *s, struct buf *out);
int collections_read(struct cursor *c, struct collection_sites *out);

#endif
