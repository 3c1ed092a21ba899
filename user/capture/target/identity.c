/* SPDX-License-Identifier: Apache-2.0 */
/* target/identity: see identity.h. */
#include "target/identity.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "access/environment.h"
#include "access/rights.h"
#include "base/log.h"
#include "catalog/attributes.h"

#define TOLD_MAX 20
#define CGROUP_MAX 8192
#define CONTAINER_ID_LEN 64 /* hexadecimal digits, of docker, containerd, cri-o and podman */
#define UID_LEN 36          /* 8-4-4-4-12 */

static const char *value_of(const char *strings, size_t n, const char *name)
{
	size_t len = strlen(name);
	for (size_t at = 0; at < n; at += strlen(strings + at) + 1) {
		if (!strncmp(strings + at, name, len) && strings[at + len] == '=')
			return strings + at + len + 1;
	}
	return "";
}

void identity_of_environment(const char *strings, size_t n, struct buf *attributes)
{
	attributes_add(attributes, "service.name", value_of(strings, n, "OTEL_SERVICE_NAME"));
	attributes_add_all(attributes, value_of(strings, n, "OTEL_RESOURCE_ATTRIBUTES"));
}

static bool is_hex(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isxdigit((unsigned char)s[i]))
			return false;
	}
	return !isxdigit((unsigned char)s[n]);
}

/* "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope", "libpod-ID.scope", or ID alone below /docker or a pod. */
static bool container_of(const char *part, char out[CONTAINER_ID_LEN + 1])
{
	const char *dash = strrchr(part, '-'), *colon = strrchr(part, ':');
	const char *id = colon > dash ? colon + 1 : dash ? dash + 1 : part;
	/* The monitor of a container is not in it. */
	if (strstr(part, "conmon-") || strlen(id) < CONTAINER_ID_LEN || !is_hex(id, CONTAINER_ID_LEN))
		return false;
	snprintf(out, CONTAINER_ID_LEN + 1, "%s", id);
	return true;
}

/* "pod<uid>", or "kubepods-burstable-pod<uid with _ for ->.slice"; static pods have 32 digits without any. */
static bool pod_of(const char *part, char out[UID_LEN + 1])
{
	const char *at = strstr(part, "pod");
	size_t n = 0;
	if (at && !strncmp(at, "pods", 4))
		at = strstr(at + 3, "pod");
	for (at = at ? at + 3 : ""; n < UID_LEN && (isxdigit((unsigned char)at[n]) || at[n] == '-' || at[n] == '_'); n++)
		out[n] = at[n] == '_' ? '-' : at[n];
	out[n] = '\0';
	return (n == 32 || n == UID_LEN) && !isalnum((unsigned char)at[n]);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n > m && !strcmp(s + n - m, end);
}

/*
 * The deepest of each kind counts: containers can hold containers, and a user's manager holds units. To a reader in a pod, which
 * has a cgroup namespace of its own, paths begin with /.. in place of what it shares with them, kubepods among it.
 */
static void identity_of_path(char *path, struct buf *attributes)
{
	char container[CONTAINER_ID_LEN + 1] = "", pod[UID_LEN + 1] = "", found[UID_LEN + 1], *rest = NULL;
	const char *unit = "";
	bool kubernetes = strstr(path, "kubepods") || !strncmp(path, "/../", 4);
	for (char *part = strtok_r(path, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		container_of(part, container);
		if (kubernetes && pod_of(part, found))
			memcpy(pod, found, sizeof(pod));
		unit = ends_with(part, ".service") ? part : unit;
	}
	attributes_add(attributes, "container.id", container);
	attributes_add(attributes, "k8s.pod.uid", pod);
	attributes_add(attributes, "systemd.unit", unit);
}

/*
 * Lines "0::/path" of cgroup v2, "1:name=systemd:/path" and "4:memory:/path" of v1. The kernel gives them in this order from
 * the last to the first, which is also how much they say about units.
 */
void identity_of_cgroup(char *text, struct buf *attributes)
{
	for (char *line; *text; *line = '\0') {
		size_t n = strlen(text);
		if (text[n - 1] == '\n')
			text[n - 1] = '\0';
		line = strrchr(text, '\n');
		line = line ? line + 1 : text;
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (path)
			identity_of_path(path + 1, attributes);
	}
}

static void read_environment(uint32_t tgid, struct buf *attributes)
{
	static unsigned told;
	char strings[ENVIRONMENT_SZ];
	int n = rights_environment(tgid, strings);
	if (n > 0)
		identity_of_environment(strings, (size_t)n, attributes);
	else if ((n == -ETIMEDOUT || n == -EBUSY) && told++ < TOLD_MAX)
		log_warn("the environment of process %u could not be read in time, so OTEL_SERVICE_NAME is not known%s", tgid,
			 told == TOLD_MAX ? " (further ones are not logged)" : "");
}

static void read_cgroup(uint32_t tgid, struct buf *attributes)
{
	char text[CGROUP_MAX];
	int fd = rights_fact(tgid, FACT_CGROUP);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n > 0) {
		text[n] = '\0';
		identity_of_cgroup(text, attributes);
	}
}

void identity_read(uint32_t tgid, const char *labels, struct buf *attributes)
{
	attributes_add_all(attributes, labels);
	read_environment(tgid, attributes);
	read_cgroup(tgid, attributes);
}
