/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push/curl: loads libcurl on first use: it brings in TLS, LDAP, Kerberos and more, which would double the start time
 * of every run and be mapped into the workers, too. Private to this module.
 */
#ifndef ALYS_PUSH_CURL_H
#define ALYS_PUSH_CURL_H

#include <curl/curl.h>

#include "base/err.h"

#define CURL_CALLS(X)     \
	X(global_init)    \
	X(easy_init)      \
	X(easy_setopt)    \
	X(easy_perform)   \
	X(easy_getinfo)   \
	X(easy_strerror)  \
	X(easy_cleanup)   \
	X(slist_append)   \
	X(slist_free_all) \
	X(url)            \
	X(url_set)        \
	X(url_cleanup)

/* libcurl's functions, named without curl_. */
struct curl_calls {
#define X(name) __typeof__(curl_##name) *name;
	CURL_CALLS(X)
#undef X
};

/* Returns the same table each time; NULL with err if it cannot be loaded. */
const struct curl_calls *curl_load(struct err *err);

#endif
