/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/listing: lists of sites as bytes, on their way from a process that analyses hostile files to one that
 * attaches probes.
 */
#ifndef ALYS_SITES_LISTING_H
#define ALYS_SITES_LISTING_H

#include "base/buf.h"
#include "base/cursor.h"
#include "sites/collections.h"
#include "sites/sites.h"

void sites_write(const struct site_list *l, struct buf *out);
/* 0, then sites_free; -ENOMEM; -EPROTO: no list's bytes. All numbers in it that count something of it are in bounds. */
int sites_read(struct cursor *c, struct site_list *out);
void collections_write(const struct collection_sites *s, struct buf *out);
int collections_read(struct cursor *c, struct collection_sites *out);

#endif
