/* SPDX-License-Identifier: Apache-2.0 */
/* push/backend: see backend.h. */
#include "push/backend.h"

#include <errno.h>
#include <string.h>

/* Pyroscope's limit for one profile. */
#define SAMPLES_MAX 16000
/* A message of OTLP should be below 4 MiB: this many stacks of 256 frames. */
#define SAMPLES_MAX_OTLP 4000

static const struct push_backend backends[] = {
	[PUSH_PYROSCOPE] = {
		.kind = PUSH_PYROSCOPE,
		.name = "Pyroscope",
		.path = "/push.v1.PusherService/Push",
		.headers = { "Content-Type: application/json", "Connect-Protocol-Version: 1" },
		.profile = HTTP_PROFILE_ALLOCS,
		.samples_max = SAMPLES_MAX,
	},
	[PUSH_PARCA] = {
		.kind = PUSH_PARCA,
		.name = "Parca (gRPC)",
		.path = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
		.headers = { "Content-Type: application/grpc", "TE: trailers" },
		.grpc = true,
		.whole = true,
		.profile = HTTP_PROFILE_ALLOCS,
		.samples_max = SAMPLES_MAX,
	},
	[PUSH_OTLP] = {
		.kind = PUSH_OTLP,
		.name = "OTLP",
		.path = "/v1development/profiles",
		.headers = { "Content-Type: application/x-protobuf", "Content-Encoding: gzip" },
		.otlp = true,
		.profile = HTTP_PROFILE_OTLP,
		.samples_max = SAMPLES_MAX_OTLP,
	},
	[PUSH_OTLP_GRPC] = {
		.kind = PUSH_OTLP_GRPC,
		.name = "OTLP (gRPC)",
		.path = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
		.headers = { "Content-Type: application/grpc", "TE: trailers", "grpc-encoding: gzip" },
		.otlp = true,
		.grpc = true,
		.profile = HTTP_PROFILE_OTLP,
		.samples_max = SAMPLES_MAX_OTLP,
	},
};

static const struct scheme {
	const char *given, *plain;
	enum push_kind kind;
} schemes[] = {
	{ "http://", "http://", PUSH_PYROSCOPE },      { "https://", "https://", PUSH_PYROSCOPE },
	{ "parca+http://", "http://", PUSH_PARCA },    { "parca+https://", "https://", PUSH_PARCA },
	{ "otlp+http://", "http://", PUSH_OTLP },      { "otlp+https://", "https://", PUSH_OTLP },
	{ "otlp+grpc://", "http://", PUSH_OTLP_GRPC }, { "otlp+grpcs://", "https://", PUSH_OTLP_GRPC },
};

static const struct scheme *scheme_of(const char *url)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (!strncmp(url, schemes[i].given, strlen(schemes[i].given)))
			return &schemes[i];
	}
	return NULL;
}

/* The messages omit the URL, which may contain a password. */
const struct push_backend *backend_find(const char *url, struct buf *plain, struct err *err)
{
	const struct scheme *s = scheme_of(url);
	const char *host = s ? url + strlen(s->given) : "";
	size_t len = strlen(host);
	if (!*host || strpbrk(host, "?#")) {
		err_set(err, EINVAL,
			"--push wants http://HOST:PORT of Pyroscope, parca+http://HOST:PORT, otlp+http://HOST:4318 or "
			"otlp+grpc://HOST:4317");
		return NULL;
	}
	if (memchr(host, '@', strcspn(host, "/"))) {
		err_set(err, EINVAL,
			"--push wants a URL without user and password, which `ps` would show: put USER:PASSWORD into a file "
			"for --push-user-file");
		return NULL;
	}
	while (len && host[len - 1] == '/')
		len--;
	buf_adds(plain, s->plain);
	buf_add(plain, host, len);
	buf_adds(plain, backends[s->kind].path);
	if (!plain->failed)
		return &backends[s->kind];
	err_set(err, ENOMEM, "out of memory");
	return NULL;
}
