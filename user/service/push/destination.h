/* SPDX-License-Identifier: Apache-2.0 */
/* push/destination: the destination of profiles, and the interval. */
#ifndef ALYS_PUSH_DESTINATION_H
#define ALYS_PUSH_DESTINATION_H

#include <stddef.h>

struct push_options {
	const char *url;
	double every;       /* seconds between profiles; 0 = 15 */
	size_t queue_max;   /* limit on queued bytes; 0 = 32 MiB */
	const char *tenant; /* X-Scope-OrgID; NULL = none */
};

#endif
