/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon: an endless recording with a control socket, profiles on disk, HTTP and push. In: options. Out: an exit
 * status. It only connects the modules below.
 */
#ifndef ALYS_DAEMON_H
#define ALYS_DAEMON_H

#include "monitor/continuous.h"
#include "push/destination.h"

struct daemon_options {
	struct continuous_options watch;
	bool off;                /* starts switched off */
	const char *socket;      /* NULL: daemon_socket() */
	const char *profile_dir; /* NULL: none are written */
	uint32_t profile_format; /* 0 = pprof, 1 = .alys */
	double every;            /* seconds between profiles on disk */
	uint32_t keep;           /* as in struct profile_store_options */
	double keep_age;
	uint64_t keep_size;
	const char *listen; /* as in struct http_options; NULL: no HTTP */
	bool listen_insecure;
	struct push_options push; /* without credentials */
	/* Parses the options again into `out`, for SIGHUP; NULL: they cannot change. */
	int (*reload)(void *ctx, struct daemon_options *out, struct err *err);
	void *reload_ctx;
};

#define DAEMON_DEFAULTS                                                                              \
	{                                                                                            \
		.watch = {                                                                         \
			.record = {                                                                \
				.backtrace = 3 /* full */, .backtrace_limit = 256, .walk = 2,      \
				.ring_sz = 8u << 20, .interval = 512u << 10, .max_overhead = OVERHEAD_UNSET, \
			},                                                                         \
			.max_memory = 256u << 20, .idle_stacks = 600,                                                  \
		},                                                                                 \
		.every = 60, .keep = 1000, .keep_age = 7 * 86400.0, .keep_size = 1ull << 30,       \
		.push.every = 15, \
	}

/* Default path of the control socket. */
const char *daemon_socket(void);
/* Runs until a signal or `ctl stop`. Exit status. */
int daemon_run(const struct daemon_options *o, struct err *err);

#endif
