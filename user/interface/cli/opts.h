/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/opts: a row defines everything about an option: parsing, help, man page and completions are derived from it. The
 * rows of a verb end with one without a name.
 */
#ifndef ALYS_CLI_OPTS_H
#define ALYS_CLI_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct opt;

/* Checks text and stores the value at dest; text is NULL for options without an argument. */
typedef int (*opt_parse)(const struct opt *o, const char *text, void *dest, struct err *err);

struct opt {
	const char *name; /* without dashes */
	char letter;      /* 0 = none */
	const char *arg;  /* "FILE" as shown; NULL = no argument */
	opt_parse parse;
	size_t offset;       /* of the destination in the verb's options */
	const char *choices; /* "a|b|c": checked, completed and shown; NULL = any text */
	const char *env;     /* environment variable with the default; NULL = none */
	const char *help;    /* without line breaks; wrapped where it is shown */
};

/* A row that opens a section. --help shows the rows before the first one, --help all and the man page all of them. */
#define SECTION(title)                                  \
	{                                               \
		"", 0, NULL, NULL, 0, NULL, NULL, title \
	}

static inline bool opt_is_section(const struct opt *o)
{
	return !o->parse;
}

struct verb {
	const char *name;
	const char *usage;   /* after the program's name; several lines allowed */
	const char *summary; /* without line breaks; wrapped where it is shown */
	const struct opt *opts;
	size_t options_sz;
	const void *defaults;        /* initial options, options_sz bytes; NULL = all zero */
	size_t line_offset;          /* offset of a char * that receives the options as given; 0 = none */
	size_t words_min, words_max; /* positional arguments */
	/* Stores positional arguments and `-- CMD` in the options; may be NULL. */
	int (*words)(void *options, int n, char **words, char **command, struct err *err);
	int (*run)(void *options, struct err *err);
	const char *notes; /* printed after the options; NULL = none */
};

int opt_flag(const struct opt *o, const char *text, void *dest, struct err *err);     /* bool */
int opt_text(const struct opt *o, const char *text, void *dest, struct err *err);     /* const char * */
int opt_choice(const struct opt *o, const char *text, void *dest, struct err *err);   /* uint32_t index */
int opt_size(const struct opt *o, const char *text, void *dest, struct err *err);     /* uint64_t, k M G suffixes */
int opt_interval(const struct opt *o, const char *text, void *dest, struct err *err); /* uint64_t of bytes:N, up to 1 TiB */
int opt_ring(const struct opt *o, const char *text, void *dest, struct err *err);     /* uint64_t: a size that a ring can have */
int opt_count(const struct opt *o, const char *text, void *dest, struct err *err);    /* uint32_t */
int opt_rows(const struct opt *o, const char *text, void *dest, struct err *err);     /* uint64_t, up to what opt_count takes */
int opt_percent(const struct opt *o, const char *text, void *dest, struct err *err);  /* double, from 0 to 100 */
int opt_seconds(const struct opt *o, const char *text, void *dest, struct err *err);  /* double */
/* double[2]: from and until, from 0 to until for opt_at; both options of a verb share it. */
int opt_between(const struct opt *o, const char *text, void *dest, struct err *err);
int opt_at(const struct opt *o, const char *text, void *dest, struct err *err);
int opt_level(const struct opt *o, const char *text, void *dest, struct err *err); /* -q and -v: no destination */

/* Fills options from defaults, environment and argv (without the verb). words are the rest. */
int opts_parse(const struct verb *v, int argc, char **argv, void *options, struct err *err);
void opts_help(const struct verb *v, bool all, struct buf *out);

/* Texts generated from the table: man pages (roff) and completions. */
void man_program(const struct verb *const *verbs, struct buf *out);
void man_verb(const struct verb *v, struct buf *out);
void opts_bash(const struct verb *const *verbs, struct buf *out);
void opts_zsh(const struct verb *const *verbs, struct buf *out);
void opts_fish(const struct verb *const *verbs, struct buf *out);

#endif
