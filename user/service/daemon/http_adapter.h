/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/http_adapter: presents the recording to http and push as a struct http_source. */
#ifndef ALYS_DAEMON_HTTP_ADAPTER_H
#define ALYS_DAEMON_HTTP_ADAPTER_H

#include "daemon/profile_store.h"
#include "http/source.h"

struct http_adapter {
	struct continuous **recording; /* where the current one is: replaced on reload */
	const struct profile_store *const *store;
	struct http_count *counts;
	size_t counts_cnt, counts_cap;
};

struct http_source http_adapter_source(struct http_adapter *f);
void http_adapter_free(struct http_adapter *f);

#endif
