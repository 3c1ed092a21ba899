/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/opts: a row says all there is to know of an option: parsing, help, man page and completions
 * come from it. Rows of a verb end with one that has no name.
 */
#ifndef ALYS_CLI_OPTS_H
#define ALYS_CLI_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct opt;

/* Checks text and stores it at dest; text is NULL for options without an argument. */
typedef int (*opt_parse)(const struct opt *o, const char *text, void *dest, struct err *err);

struct opt {
	const char *name; /* without dashes */
	char letter;      /* 0 = none */
	const char *arg;  /* "FILE" as shown; NULL = takes none */
	opt_parse parse;
	size_t offset;       /* of the destination in the verb's options */
	const char *choices; /* "a|b|c": checked, completed and shown; NULL = free */
	const char *env;     /* environment variable that gives the default; NULL = none */
	const char *help;    /* one line */
};

struct verb {
	const char *name;
	const char *usage;   /* after the program's name; several lines allowed */
	const char *summary; /* one line */
	const struct opt *opts;
	size_t options_sz;
	const void *defaults;        /* options_sz bytes to begin with; NULL = all zero */
	size_t line_offset;          /* of a char * that gets the options as given; 0 = none wants them */
	size_t words_min, words_max; /* free arguments */
	/* Gives free arguments and `-- CMD` to the options; may be NULL. */
	int (*words)(void *options, int n, char **words, char **command, struct err *err);
	int (*run)(void *options, struct err *err);
	const char *notes; /* printed under the options; NULL = none */
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
/* double[2]: from and until, from 0 to until for opt_at; both options of a verb share the place. */
int opt_between(const struct opt *o, const char *text, void *dest, struct err *err);
int opt_at(const struct opt *o, const char *text, void *dest, struct err *err);
int opt_level(const struct opt *o, const char *text, void *dest, struct err *err); /* -q and -v: no place */

/* Fills options from defaults of the environment and argv (without the verb). words are the rest. */
int opts_parse(const struct verb *v, int argc, char **argv, void *options, struct err *err);
void opts_help(const struct verb *v, struct buf *out);

/* Texts made of the whole table: manual pages (roff) and completions. */
void man_program(const struct verb *const *verbs, struct buf *out);
void man_verb(const struct verb *v, struct buf *out);
void opts_bash(const struct verb *const *verbs, struct buf *out);
void opts_zsh(const struct verb *const *verbs, struct buf *out);
void opts_fish(const struct verb *const *verbs, struct buf *out);

#endif
