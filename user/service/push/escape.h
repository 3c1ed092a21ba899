/* SPDX-License-Identifier: Apache-2.0 */
/* push/escape: characters that a server's answer spells otherwise, as JSON and gRPC do. In: text. Out: bytes. */
#ifndef ALYS_PUSH_ESCAPE_H
#define ALYS_PUSH_ESCAPE_H

#include <stddef.h>

/* The longest character: UTF-8 of \uXXXX, and a 0. */
#define ESCAPED_MAX 4

/* The character at `at` as text. Returns its length there: 1 where nothing is escaped. `at` is not at its end. */
typedef size_t escape_fn(const char *at, char out[ESCAPED_MAX]);
escape_fn escape_none;
/* Surrogates are left as they are. */
escape_fn escape_json;
/* %XX, also of the status message of gRPC. */
escape_fn escape_percent;

#endif
