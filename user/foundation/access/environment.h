/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/environment: the variables by which OpenTelemetry knows a process (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES;
 * opentelemetry.io/docs/specs/otel/configuration). /proc/PID/environ is memory that the process' user controls: it holds
 * secrets, and a read of it can take as long as that user likes. So it is opened here, but read by a worker without
 * privileges, which returns these variables only and is given up after a deadline.
 */
#ifndef ALYS_ACCESS_ENVIRONMENT_H
#define ALYS_ACCESS_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#define ENVIRONMENT_SZ 4096 /* of all that is returned; a variable that does not fit is left out */

/*
 * Fills out with NUL-terminated "NAME=value" strings and returns their size in bytes, 0 = no such variable; or -errno:
 * -ETIMEDOUT, or -EBUSY if such reads of this user, or of all, took more than their share of the time lately. out has
 * ENVIRONMENT_SZ bytes. From any thread.
 */
int environment_read(uint32_t tgid, char *out);

#endif
