/* SPDX-License-Identifier: Apache-2.0 */
/* push/transfer: one POST after the other to a server, through libcurl. Private to this module. */
#ifndef ALYS_PUSH_TRANSFER_H
#define ALYS_PUSH_TRANSFER_H

#include "push/response.h"
#include "push/destination.h"

struct transfer;

/* is_over: asked now and then; true aborts the POST. */
struct transfer *transfer_new(const struct push_options *o, bool (*is_over)(void *ctx), void *ctx, struct err *err);
const struct push_backend *transfer_backend(const struct transfer *t);
/* Blocks. */
enum outcome transfer_post(struct transfer *t, const struct buf *body, struct response *out);
/* Any thread: aborts a POST sooner than is_over, which libcurl asks once a second. */
void transfer_cut(struct transfer *t);
void transfer_free(struct transfer *t);

#endif
