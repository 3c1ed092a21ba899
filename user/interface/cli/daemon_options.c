/* SPDX-License-Identifier: Apache-2.0 */
/* cli/daemon_options: `alys-bpf daemon`: its options, from the command line and from a file. */
#include "base/exit_status.h"
#include "cli/verb_list.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/infile.h"
#include "allocators/allocators.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/vec.h"
#include "cli/table_options.h"
#include "daemon/daemon.h"
#include "verbs/verbs.h"

#define CONFIG_MAX (64 * 1024)

struct daemon_request {
	struct daemon_options daemon;
	const char *config;
	char *words;
};

static int parse_word(const struct opt *o, const char *text, void *dest, struct err *err)
{
	struct select_words *w = dest;
	const char **place = *text ? VEC_PUSH(w, at) : NULL;
	if (!*text)
		return err_set(err, EINVAL, "--%s wants %s, got an empty text", o->name, o->arg);
	if (!place)
		return err_set(err, ENOMEM, "out of memory");
	*place = text;
	return 0;
}

/* Checked where the files with headers are, too. */
static int parse_header(const struct opt *o, const char *text, void *dest, struct err *err)
{
	struct push_headers *h = dest;
	const char **place = VEC_PUSH(h, at);
	(void)o;
	if (!place)
		return err_set(err, ENOMEM, "out of memory");
	*place = text;
	return 0;
}

/* /proc/PID/exe has the real path, so symbolic links such as /bin/sh are resolved. */
static int parse_exe(const struct opt *o, const char *text, void *dest, struct err *err)
{
	int rc = parse_word(o, text, dest, err);
	char *own = !rc && strchr(text, '/') && !strpbrk(text, "*?[\\") ? realpath(text, NULL) : NULL;
	if (!own || !strcmp(own, text)) {
		free(own);
		return rc;
	}
	return parse_word(o, own, dest, err); /* keeps the pointer */
}

#define MEMORY_MIN (32ull << 20)

static int parse_memory(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint64_t n = 0;
	if (opt_size(o, text, &n, NULL) || n < MEMORY_MIN)
		return err_set(err, EINVAL, "--max-memory wants at least 32M, such as 256M, got \"%s\"", text);
	*(uint64_t *)dest = n;
	return 0;
}

/* 90, 90s, 15m, 24h, 7d */
static int parse_time(const struct opt *o, const char *text, void *dest, struct err *err)
{
	static const struct {
		char letter;
		double seconds;
	} units[] = { { 0, 1 }, { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end;
	double n = strtod(text, &end);
	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++) {
		/* At least 1 ms, the resolution of poll. */
		if (*end != units[i].letter || (*end && end[1]) || !(n * units[i].seconds >= 1e-3) || n * units[i].seconds > 1e9)
			continue;
		*(double *)dest = n * units[i].seconds;
		return 0;
	}
	return err_set(err, EINVAL, "--%s wants a time such as 60s, 15m, 24h or 7d, got \"%s\"", o->name, text);
}

#define AT(field) offsetof(struct daemon_request, daemon.field)
#define WATCH_AT(field) offsetof(struct daemon_request, daemon.watch.field)
#define RECORD_AT(field) WATCH_AT(record.field)

static const struct opt options[] = {
	{ "all", 'a', NULL, opt_flag, AT(watch.select.all), NULL, NULL, "every process, including later ones" },
	{ "pid", 'p', "PID[,PID]", record_pids, AT(watch.record.pids), NULL, NULL, "these processes" },
	{ "name", 'n', "NAME", parse_word, AT(watch.select.names), NULL, NULL,
	  "processes of this short name (as `ps` shows it)" },
	{ "exe", 0, "GLOB", parse_exe, AT(watch.select.exes), NULL, NULL,
	  "processes whose executable matches, such as '/srv/*'" },
	{ "cgroup", 0, "PATH", parse_word, AT(watch.select.cgroups), NULL, NULL,
	  "processes of this control group and those below it" },
	{ "user", 'u', "USER", parse_word, AT(watch.select.users), NULL, NULL, "processes of this user" },
	{ "sample", 's', "bytes:N", opt_interval, AT(watch.record.interval), NULL, NULL,
	  "one allocation every N bytes on average (default 512k)" },
	{ "max-overhead", 0, "PERCENT", opt_percent, AT(watch.record.max_overhead), NULL, NULL,
	  "probes may take at most this much of the programs' CPU time, probes and daemon of the machine's; 0 is no limit "
	  "(default 1)" },
	{ "max-memory", 0, "BYTES", parse_memory, AT(watch.max_memory), NULL, NULL,
	  "memory limit of the daemon itself (default 256M)" },
	{ "profile-dir", 'o', "DIR", opt_text, AT(profile_dir), NULL, NULL, "write profiles there" },
	{ "every", 0, "TIME", parse_time, AT(every), NULL, NULL, "how often (default 60s)" },
	{ "listen", 'l', "ADDRESS", opt_text, AT(listen), NULL, NULL,
	  "serve HTTP on the unix socket /PATH, for the group alys; or on loopback at PORT or [::1]:PORT, for all users "
	  "(default: off)" },
	{ "push", 0, "URL", opt_text, AT(push.url), NULL, NULL,
	  "send profiles to Pyroscope (http://...), Parca (parca+http://...) or OpenTelemetry (otlp+http://..., "
	  "otlp+grpc://...); each also with https, grpcs" },
	{ "off", 0, NULL, opt_flag, AT(off), NULL, NULL, "start switched off, until `alys-bpf ctl on`" },
	{ "config", 'c', "FILE", opt_text, offsetof(struct daemon_request, config), NULL, NULL,
	  "more options, one per line without dashes; read again at SIGHUP" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	{ "verbose", 'v', NULL, opt_level, 0, NULL, NULL, "more messages; twice: debug" },
	SECTION("What is recorded"),
	{ "follow", 'F', NULL, opt_flag, AT(watch.record.follow), NULL, NULL,
	  "trace their children from the first call on, at a cost for all programs with these libraries" },
	SUBJECT_OPTIONS(RECORD_AT),
	PROFILE_OPTION(AT(watch.record.no_frees), ""),
	{ "allocator", 0, "NAMES", opt_allocators, AT(watch.record.allocators), NULL, NULL, "only these: " ALLOC_FAMILY_WORDS },
	OWN_OPTIONS(RECORD_AT, ""),
	SKIP_OPTIONS(WATCH_AT, NULL),
	{ "backtrace", 'b', "TYPE", opt_choice, AT(watch.record.backtrace), "none|addr|name|full", NULL,
	  "what stacks contain (default full)" },
	LABEL_OPTION(AT(watch.record.labels)),
	SECTION("Profiles on disk"),
	{ "profile-format", 0, "FORMAT", opt_choice, AT(profile_format), "pprof|alys", NULL,
	  "pprof: a file per process; alys: the recording itself, for `alys-bpf report`" },
	{ "keep", 0, "N", opt_count, AT(keep), NULL, NULL, "maximum number of files there (default 1000, 0 = all)" },
	{ "keep-age", 0, "TIME", parse_time, AT(keep_age), NULL, NULL, "how long they are kept (default 7d)" },
	{ "keep-size", 0, "BYTES", opt_size, AT(keep_size), NULL, NULL, "maximum disk space for them (default 1G, 0 = any)" },
	SECTION("HTTP and pushes"),
	{ "listen-insecure", 0, NULL, opt_flag, AT(listen_insecure), NULL, NULL,
	  "allow any address: whoever can reach it can read stacks" },
	{ "push-every", 0, "TIME", parse_time, AT(push.every), NULL, NULL, "how often (default 15s)" },
	{ "push-tenant", 0, "NAME", opt_text, AT(push.tenant), NULL, NULL, "X-Scope-OrgID of the pushes" },
	{ "push-header", 0, "'NAME: VALUE'", parse_header, AT(push.headers), NULL, NULL,
	  "a header of the pushes that is no secret; repeatable" },
	{ "push-header-file", 0, "FILE", opt_text, AT(push.header_file), NULL, NULL,
	  "more headers, one per line, such as `Authorization: Bearer TOKEN`; read at the start and at SIGHUP" },
	{ "push-user-file", 0, "FILE", opt_text, AT(push.user_file), NULL, NULL, "USER:PASSWORD of the pushes (basic auth)" },
	{ "push-ca", 0, "FILE", opt_text, AT(push.ca_file), NULL, NULL,
	  "trust servers by these certificates (PEM), not by the system's" },
	SECTION("The daemon itself"),
	{ "ring", 0, "BYTES", opt_ring, AT(watch.record.ring_sz), NULL, NULL, "room for unread records (default 8M)" },
	{ "idle-stacks", 0, "TIME", parse_time, AT(watch.idle_stacks), NULL, NULL,
	  "forget stacks without live blocks that were not seen for this long (default 10m)" },
	{ "socket", 0, "PATH", opt_text, AT(socket), NULL, NULL, "control socket (default /run/alys-bpf/ctl)" },
	{ 0 },
};

struct arguments {
	char **list;
	size_t list_cnt, list_cap;
	unsigned *lines; /* of the configuration file, where each comes from, from 1; 0: from elsewhere */
	size_t lines_cnt, lines_cap;
	unsigned line; /* of those that are added next */
};

static int add_argument(struct arguments *a, const char *fmt, const char *text)
{
	unsigned *line = VEC_PUSH(a, lines);
	char **place = line ? VEC_PUSH(a, list) : NULL;
	if (!place)
		return -ENOMEM;
	*line = a->line;
	return asprintf(place, fmt, text) < 0 ? -ENOMEM : 0;
}

static bool wants_value(const char *name)
{
	const struct opt *o = verb_daemon.opts;
	while (o->name && strcmp(o->name, name))
		o++;
	return o->arg;
}

/* "name value" or "name = value"; # starts a comment. */
static int add_line(struct arguments *a, char *line)
{
	while (isspace((unsigned char)*line))
		line++;
	size_t end = strlen(line);
	while (end && isspace((unsigned char)line[end - 1]))
		line[--end] = 0;
	if (!*line || *line == '#')
		return 0;
	size_t n = strcspn(line, " \t=");
	char *value = line + n + strspn(line + n, " \t");
	if (*value == '=')
		value += 1 + strspn(value + 1, " \t");
	line[n] = 0;
	/* Without "=", the next line would be the value. */
	int rc = add_argument(a, !*value && wants_value(line) ? "--%s=" : "--%s", line);
	return rc || !*value ? rc : add_argument(a, "%s", value);
}

static int add_lines(struct arguments *a, struct buf *text)
{
	char *line = (char *)text->data, *end;
	int rc = 0;
	for (; !rc && line && (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		a->line++;
		rc = add_line(a, line);
	}
	a->line++;
	rc = rc || !line ? rc : add_line(a, line);
	a->line = 0;
	return rc;
}

static int add_file(struct arguments *a, const char *path, struct err *err)
{
	struct buf text = { 0 };
	int rc = infile_read(path, CONFIG_MAX, &text, err);
	if (rc)
		err_wrap(err, "--config");
	else if (text.len && memchr(text.data, 0, text.len))
		rc = err_set(err, EINVAL, "--config %s is not a text file: it contains a NUL byte", path);
	buf_u8(&text, 0);
	if (!rc && (text.failed || add_lines(a, &text)))
		rc = err_set(err, ENOMEM, "out of memory");
	buf_free(&text);
	return rc;
}

/* The arguments of this process after the verb, from /proc/self/cmdline. */
static int add_own(struct arguments *a, struct err *err)
{
	char bytes[CONFIG_MAX];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	size_t n = f ? fread(bytes, 1, sizeof(bytes) - 1, f) : 0;
	if (f)
		fclose(f);
	bytes[n] = 0;
	size_t word = 0;
	for (size_t at = 0; at < n; at += strlen(bytes + at) + 1, word++) {
		if (word >= 2 && add_argument(a, "%s", bytes + at))
			return err_set(err, ENOMEM, "out of memory");
	}
	return 0;
}

/* getopt's last word is the one that was refused. */
static int parse(const struct arguments *a, const char *config, struct daemon_request *out, struct err *err)
{
	int rc = opts_parse(&verb_daemon, (int)a->list_cnt, a->list, out, err);
	size_t last = optind > 0 ? (size_t)optind - 1 : 0;
	if (rc && last < a->lines_cnt && a->lines[last])
		err_wrap(err, "%s:%u", config, a->lines[last]);
	return rc;
}

static const struct daemon_request defaults = { .daemon = DAEMON_DEFAULTS };

/* The configuration file first, then the command line, which overrides it. Strings are kept until exit. */
static int parse_again(const char *config, struct daemon_request *out, struct err *err)
{
	struct arguments a = { 0 };
	enum log_level level = log_get_level();
	*out = defaults;
	int rc = add_argument(&a, "%s", "daemon") ? err_set(err, ENOMEM, "out of memory") : add_file(&a, config, err);
	if (!rc)
		rc = add_own(&a, err);
	if (!rc)
		rc = parse(&a, config, out, err);
	log_set_level(level);
	free(a.list);
	free(a.lines);
	return rc;
}

static int check_targets(const struct daemon_options *o, struct err *err)
{
	const struct select *s = &o->watch.select;
	if (s->all || s->names.at_cnt || s->exes.at_cnt || s->cgroups.at_cnt || s->users.at_cnt || o->watch.record.pids_cnt ||
	    o->off)
		return 0;
	return err_set(err, EINVAL,
		       "nothing to trace: give --all, --name, --exe, --cgroup, --user or -p; or --off, and processes "
		       "later with `alys-bpf ctl add PID`");
}

static int check_push(const struct push_options *p, struct err *err)
{
	bool wanted = p->headers.at_cnt || p->header_file || p->user_file || p->ca_file || p->tenant;
	return wanted && !p->url ? err_set(err, EINVAL, "the options of pushes (--push-...) want a server: --push URL") : 0;
}

static int check(const struct daemon_options *o, struct err *err)
{
	int rc = check_targets(o, err);
	rc = rc ? rc : check_push(&o->push, err);
	return rc ? rc : check_subjects(&o->watch.record, err);
}

static int reload(void *ctx, struct daemon_options *out, struct err *err)
{
	struct daemon_request again;
	int rc = parse_again(ctx, &again, err);
	if (!rc)
		rc = check(&again.daemon, err);
	if (!rc)
		*out = again.daemon;
	return rc;
}

static int run(void *opts, struct err *err)
{
	struct daemon_request *r = opts;
	const char *config = r->config;
	char *words = r->words;
	if (config && parse_again(config, r, err))
		return EXIT_USAGE;
	if (check(&r->daemon, err))
		return EXIT_USAGE;
	r->daemon.watch.record.words = words;
	r->daemon.reload = config ? reload : NULL;
	r->daemon.reload_ctx = (void *)(uintptr_t)config;
	return daemon_run(&r->daemon, err);
}

const struct verb verb_daemon = {
	.name = "daemon",
	.usage = "daemon [OPTIONS] --all | --name NAME | --exe GLOB |\n"
		 "                       --cgroup PATH | --user USER | -p PID",
	.summary = "Watch processes all day: sampled, in bounded memory, switched on and off while everything runs.",
	.opts = options,
	.options_sz = sizeof(struct daemon_request),
	.defaults = &defaults,
	.line_offset = offsetof(struct daemon_request, words),
	.run = run,
	.notes = "Control it with `alys-bpf ctl`. Needs root, or the capabilities listed\n"
		 "in alys-bpf.service.",
};
