/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/identity: what a process is known by outside this machine. Sources: its environment (OTEL_SERVICE_NAME,
 * OTEL_RESOURCE_ATTRIBUTES; opentelemetry.io/docs/specs/otel/configuration), and its cgroup, whose path container runtimes
 * and systemd choose. All of it can be forged by the process' user.
 */
#ifndef ALYS_TARGET_IDENTITY_H
#define ALYS_TARGET_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends catalog/attributes text. `labels`, of the same form, come first, then the environment, so that these win. */
void identity_read(uint32_t tgid, const char *labels, struct buf *attributes);
/* Of NUL-terminated "NAME=value" strings, n bytes with all NULs. */
void identity_of_environment(const char *strings, size_t n, struct buf *attributes);
/* Of the text of /proc/PID/cgroup: container.id, k8s.pod.uid, systemd.unit. */
void identity_of_cgroup(char *text, struct buf *attributes);

#endif
