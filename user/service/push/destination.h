/* SPDX-License-Identifier: Apache-2.0 */
/* push/destination: the destination of profiles, what it wants to know, and the interval. */
#ifndef ALYS_PUSH_DESTINATION_H
#define ALYS_PUSH_DESTINATION_H

#include <stddef.h>

struct push_credentials;

struct push_headers {
	const char **at;
	size_t at_cnt, at_cap;
};

struct push_options {
	const char *url;
	double every;                /* seconds between profiles; 0 = 15 */
	size_t queue_max;            /* limit on queued bytes; 0 = 32 MiB */
	const char *tenant;          /* X-Scope-OrgID; NULL = none */
	struct push_headers headers; /* further ones, "NAME: VALUE" */
	/* For push_credentials_read; NULL = none. */
	const char *header_file, *user_file, *ca_file;
	const struct push_credentials *credentials; /* what it read; borrowed; NULL = none */
};

#endif
