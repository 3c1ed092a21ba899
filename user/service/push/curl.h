/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push/curl: libcurl, loaded when somebody pushes: with it come TLS, LDAP, Kerberos and more, which
 * would double the time that any start of the program takes, and be mapped into its workers too.
 * Not for other modules.
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

/* libcurl's functions by their names without curl_. */
struct curl_calls {
#define X(name) __typeof__(curl_##name) *name;
	CURL_CALLS(X)
#undef X
};

/* The same table each time, for as long as the program runs; NULL with err when it cannot be loaded. */
const struct curl_calls *curl_load(struct err *err);

#endif
