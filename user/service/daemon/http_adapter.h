/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/http_adapter: the recording as http and push want to see it: a struct http_source over it. */
#ifndef ALYS_DAEMON_HTTP_ADAPTER_H
#define ALYS_DAEMON_HTTP_ADAPTER_H

#include "daemon/profile_store.h"
#include "http/source.h"

struct http_adapter {
	struct continuous **recording; /* where it stands now: it is replaced on a reload */
	const struct profile_store *const *store;
	struct http_count *counts;
	size_t counts_cnt, counts_cap;
};

struct http_source http_adapter_source(struct http_adapter *f);
void http_adapter_free(struct http_adapter *f);

#endif
