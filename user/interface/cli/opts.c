/* SPDX-License-Identifier: Apache-2.0 */
/* cli/opts: table-driven option parsing. See opts.h. */
#include "cli/opts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define MAX_OPTS 64
#define HELP_COLUMN 31
#define HELP_WIDTH 80
#define CODE_BASE 256 /* getopt values of rows: above all letters */

int opt_flag(const struct opt *o, const char *text, void *dest, struct err *err)
{
	(void)o, (void)text, (void)err;
	*(bool *)dest = true;
	return 0;
}

int opt_text(const struct opt *o, const char *text, void *dest, struct err *err)
{
	if (!*text)
		return err_set(err, EINVAL, "--%s wants %s, got an empty text", o->name, o->arg);
	*(const char **)dest = text;
	return 0;
}

int opt_choice(const struct opt *o, const char *text, void *dest, struct err *err)
{
	const char *at = o->choices;
	for (uint32_t i = 0; *at; i++) {
		size_t n = strcspn(at, "|");
		if (strlen(text) == n && !strncmp(at, text, n)) {
			*(uint32_t *)dest = i;
			return 0;
		}
		at += n + (at[n] == '|');
	}
	return err_set(err, EINVAL, "--%s wants one of %s, got \"%s\"", o->name, o->choices, text);
}

int opt_size(const struct opt *o, const char *text, void *dest, struct err *err)
{
	char *end;
	errno = 0;
	uint64_t n = strtoull(text, &end, 10);
	unsigned int shift = 0;
	if (*end == 'k' || *end == 'K')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	else if (*end == 'G' || *end == 'g')
		shift = 30;
	if (errno || end == text || *text == '-' || end[shift ? 1 : 0] || n > (UINT64_MAX >> 1) >> shift)
		return err_set(err, EINVAL, "--%s wants a number of bytes such as 4096, 512k or 1M, got \"%s\"", o->name, text);
	*(uint64_t *)dest = n << shift;
	return 0;
}

int opt_ring(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint64_t n = 0;
	if (opt_size(o, text, &n, NULL) || n < 4096 || n > 1u << 30 || (n & (n - 1)))
		return err_set(err, EINVAL, "--%s wants a power of two from 4k to 1G, got \"%s\"", o->name, text);
	*(uint64_t *)dest = n;
	return 0;
}

int opt_interval(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint64_t n = 0;
	if (strncmp(text, "bytes:", 6) || opt_size(o, text + 6, &n, NULL) || !n || n > 1ull << 40)
		return err_set(err, EINVAL, "--%s wants bytes:N with N from 1 to 1024G, such as bytes:512k, got \"%s\"", o->name,
			       text);
	*(uint64_t *)dest = n;
	return 0;
}

static int parse_whole(const struct opt *o, const char *text, uint64_t most, uint64_t *out, struct err *err)
{
	char *end;
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || *out > most)
		return err_set(err, EINVAL, "--%s wants a whole number, got \"%s\"", o->name, text);
	return 0;
}

int opt_count(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint64_t n;
	int rc = parse_whole(o, text, UINT32_MAX, &n, err);
	if (!rc)
		*(uint32_t *)dest = (uint32_t)n;
	return rc;
}

int opt_rows(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint64_t n;
	int rc = parse_whole(o, text, UINT32_MAX, &n, err);
	if (!rc)
		*(uint64_t *)dest = n;
	return rc;
}

int opt_percent(const struct opt *o, const char *text, void *dest, struct err *err)
{
	char *end;
	double n = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%")) || !(n >= 0) || n > 100)
		return err_set(err, EINVAL, "--%s wants a percentage from 0 to 100, such as 1 or 0.5, got \"%s\"", o->name, text);
	*(double *)dest = n;
	return 0;
}

int opt_seconds(const struct opt *o, const char *text, void *dest, struct err *err)
{
	char *end;
	double n = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "s")) || !(n > 0) || n > 1e9)
		return err_set(err, EINVAL, "--%s wants seconds above 0, such as 5 or 0.5, got \"%s\"", o->name, text);
	*(double *)dest = n;
	return 0;
}

static int once(const double *span, struct err *err)
{
	return span[1] ? err_set(err, EINVAL, "--at and --between exclude each other: give one of them, once") : 0;
}

/* "1.5,3" or "1.5s,3s" */
int opt_between(const struct opt *o, const char *text, void *dest, struct err *err)
{
	double *span = dest, from, until;
	char *end;
	from = strtod(text, &end);
	bool ok = end != text && from >= 0 && from <= 1e9;
	end += *end == 's';
	ok = ok && *end == ',';
	const char *second = end + 1;
	until = ok ? strtod(second, &end) : 0;
	end += ok && *end == 's';
	if (!ok || end == second || *end || !(until > from) || until > 1e9)
		return err_set(err, EINVAL, "--%s wants two times in seconds, the earlier first, such as 2,3.5, got \"%s\"",
			       o->name, text);
	int rc = once(span, err);
	span[0] = rc ? span[0] : from;
	span[1] = rc ? span[1] : until;
	return rc;
}

int opt_at(const struct opt *o, const char *text, void *dest, struct err *err)
{
	double *span = dest;
	int rc = once(span, err);
	return rc ? rc : opt_seconds(o, text, &span[1], err);
}

int opt_level(const struct opt *o, const char *text, void *dest, struct err *err)
{
	(void)text, (void)dest, (void)err;
	log_set_level(o->letter == 'q' ? LOG_QUIET : (enum log_level)(log_get_level() + 1));
	return 0;
}

static int store(const struct verb *v, size_t i, const char *text, void *options, struct err *err)
{
	const struct opt *o = &v->opts[i];
	return o->parse(o, text, (char *)options + o->offset, err);
}

static int take_environment(const struct verb *v, void *options, struct err *err)
{
	for (size_t i = 0; v->opts[i].name; i++) {
		const char *value = v->opts[i].env ? getenv(v->opts[i].env) : NULL;
		if (value && *value && store(v, i, value, options, err))
			return err_wrap(err, "environment variable %s", v->opts[i].env);
	}
	return 0;
}

/*
 * "+": stop at the first non-option, for verbs that run a command; ":": distinguish a missing argument from an unknown
 * option.
 */
static void build_getopt(const struct verb *v, struct option *longs, char *shorts)
{
	size_t n = 0;
	*shorts++ = ':';
	for (int i = 0; v->opts[i].name && n < MAX_OPTS - 1; i++) {
		const struct opt *o = &v->opts[i];
		if (opt_is_section(o))
			continue;
		longs[n++] = (struct option){ o->name, o->arg ? 1 : 0, NULL, CODE_BASE + i };
		if (!o->letter)
			continue;
		*shorts++ = o->letter;
		if (o->arg)
			*shorts++ = ':';
	}
	*shorts = 0;
	longs[n] = (struct option){ 0 };
}

static size_t row_of(const struct verb *v, int code)
{
	if (code >= CODE_BASE)
		return (size_t)code - CODE_BASE;
	size_t i = 0;
	while (v->opts[i].name && v->opts[i].letter != code)
		i++;
	return i;
}

static int refuse(const struct verb *v, int code, char **argv, struct err *err)
{
	const char *word = argv[optind - 1];
	if (code == ':')
		return err_set(err, EINVAL, "%s wants an argument: see `alys-bpf %s --help`", word, v->name);
	if (optopt && optopt < CODE_BASE)
		return err_set(err, EINVAL, "unknown option -%c: see `alys-bpf %s --help`", optopt, v->name);
	return err_set(err, EINVAL, "unknown option %s: see `alys-bpf %s --help`", word, v->name);
}

/* Positional arguments; those after "--" are the command to run. */
static int take_words(const struct verb *v, int argc, char **argv, char **command, void *options, struct err *err)
{
	size_t n = (size_t)(argc - optind);
	if (n < v->words_min)
		return err_set(err, EINVAL, "missing argument: see `alys-bpf %s --help`", v->name);
	if (n > v->words_max)
		return err_set(err, EINVAL, "too many arguments, from \"%s\" on: see `alys-bpf %s --help`",
			       argv[optind + (int)v->words_max], v->name);
	return v->words ? v->words(options, (int)n, argv + optind, command, err) : 0;
}

int opts_parse(const struct verb *v, int argc, char **argv, void *options, struct err *err)
{
	struct option longs[MAX_OPTS];
	char shorts[2 * MAX_OPTS + 2];
	char **command = NULL;
	int code;
	for (int i = 1; i < argc && !command; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		command = argv + i + 1;
		argc = i;
	}
	build_getopt(v, longs, shorts);
	if (take_environment(v, options, err))
		return -EINVAL;
	opterr = 0;
	optind = 0;
	/* argv[argc] may not be NULL, as argc excludes the command; getopt stops at argc. */
	while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (code == '?' || code == ':')
			return refuse(v, code, argv, err);
		if (store(v, row_of(v, code), optarg, options, err))
			return -EINVAL;
	}
	return take_words(v, argc, argv, command, options, err);
}

/* How much of a text goes on one line: a word, or of one that is too long for any line, its part up to a comma or bar. */
static size_t piece(const char *text, size_t room)
{
	size_t n = strcspn(text, " "), cut = room;
	if (n <= cut)
		return n;
	while (cut && !strchr(",|", text[cut - 1]))
		cut--;
	return cut ? cut : n;
}

static void add_wrapped(const char *text, size_t column, struct buf *out)
{
	size_t at = column;
	while (*text) {
		bool space = *text == ' ';
		size_t n = piece(text += space, HELP_WIDTH - column);
		if (at + space + n > HELP_WIDTH && at > column) {
			buf_addf(out, "\n%*s", (int)column, "");
			at = column;
			space = false;
		}
		buf_adds(out, space ? " " : "");
		buf_add(out, text, n);
		at += space + n;
		text += n;
	}
	buf_adds(out, "\n");
}

static void help_line(const struct opt *o, struct buf *out)
{
	struct buf left = { 0 };
	const char *arg = o->choices ?: o->arg ?: "";
	if (o->letter)
		buf_addf(&left, "  -%c, ", o->letter);
	else
		buf_adds(&left, "      ");
	buf_addf(&left, "--%s%s", o->name, o->arg ? " " : "");
	if (left.len + strlen(arg) >= HELP_COLUMN) {
		buf_add(out, left.data, left.len);
		add_wrapped(arg, left.len, out);
		buf_addf(out, "%*s", HELP_COLUMN, "");
	} else {
		buf_addf(out, "%s%-*s", buf_str(&left), HELP_COLUMN - (int)left.len, arg);
	}
	add_wrapped(o->help, HELP_COLUMN, out);
	buf_free(&left);
}

void opts_help(const struct verb *v, bool all, struct buf *out)
{
	const struct opt *o = v->opts;
	buf_addf(out, "Usage: alys-bpf %s\n", v->usage);
	add_wrapped(v->summary, 0, out);
	buf_adds(out, "\n");
	for (; o->name && (all || !opt_is_section(o)); o++) {
		if (opt_is_section(o))
			buf_addf(out, "\n%s:\n", o->help);
		else
			help_line(o, out);
	}
	if (o->name)
		buf_addf(out, "\nMore options: alys-bpf %s --help all, or man alys-bpf-%s\n", v->name, v->name);
	if (v->notes)
		buf_addf(out, "\n%s\n", v->notes);
}
