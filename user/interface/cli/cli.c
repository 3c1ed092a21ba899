/* SPDX-License-Identifier: Apache-2.0 */
/* cli: finds the verb, parses its options, runs it, prints errors. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/outfile.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "cli/verb_list.h"
#include "helper/children.h"
#include "verbs/verbs.h"

/* The first one is the default. */
static const struct verb *const verbs[] = {
	&verb_record, &verb_convert, &verb_report, &verb_diff,  &verb_info, &verb_doctor, &verb_daemon,
	&verb_ctl,    &verb_top,     &verb_census, &verb_graph, &verb_dump, NULL,
};

static void print_verbs(const struct verb *const *all, struct buf *out)
{
	for (size_t i = 0; all[i]; i++)
		buf_addf(out, "%s\n", all[i]->name);
}

static const struct {
	const char *name;
	void (*write)(const struct verb *const *verbs, struct buf *out);
} documents[] = {
	{ "--print-verbs", print_verbs },
	{ "--print-completion-bash", opts_bash },
	{ "--print-completion-zsh", opts_zsh },
	{ "--print-completion-fish", opts_fish },
};

static int print(struct buf *text)
{
	struct err err;
	int rc = text->failed ? err_set(&err, ENOMEM, "out of memory") : outfile_print(text->data, text->len, &err);
	buf_free(text);
	if (rc)
		log_err("%s", err.text);
	return rc ? EXIT_ERROR : EXIT_OK;
}

/* --version and generated documents; -1 if the word is none of these. */
static int print_about(const char *word)
{
	struct buf text = { 0 };
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		buf_adds(&text, "alys-bpf " ALYS_VERSION "\n");
		return print(&text);
	}
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		if (!strcmp(word, documents[i].name)) {
			documents[i].write(verbs, &text);
			return print(&text);
		}
	}
	return -1;
}

static const struct verb *verb_named(const char *name)
{
	for (size_t i = 0; verbs[i]; i++) {
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	}
	return NULL;
}

/* Only options or a command to run may follow without a verb. */
static int no_such_verb(const char *word)
{
	struct buf names = { 0 };
	for (size_t i = 0; verbs[i]; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", verbs[i]->name);
	log_err("unknown verb \"%s\": choose from %s; each has its own --help", word, buf_str(&names));
	buf_free(&names);
	return EXIT_USAGE;
}

/* name: a verb, NULL = the program's page. */
static int print_man(const char *name)
{
	const struct verb *v = name ? verb_named(name) : NULL;
	if (name && !v)
		return no_such_verb(name);
	struct buf text = { 0 };
	if (v)
		man_verb(v, &text);
	else
		man_program(verbs, &text);
	return print(&text);
}

/* Where --help stands among the options; 0: nowhere. */
static int find_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return i;
	}
	return 0;
}

/* The command line for `info`. Arguments of the traced command may contain secrets: only its name is kept. */
static char *words_of(int argc, char **argv)
{
	struct buf out = { 0 };
	for (int i = 1; i < argc; i++) {
		buf_addf(&out, "%s%s", i > 1 ? " " : "", argv[i]);
		if (!strcmp(argv[i], "--")) {
			if (i + 1 < argc)
				buf_addf(&out, " %s%s", argv[i + 1], i + 2 < argc ? " ..." : "");
			break;
		}
	}
	char *text = strdup(buf_str(&out));
	buf_free(&out);
	return text;
}

static int run_verb(const struct verb *v, int argc, char **argv)
{
	struct err err = { 0 };
	int help = find_help(argc, argv);
	if (help) {
		struct buf text = { 0 };
		opts_help(v, help + 1 < argc && !strcmp(argv[help + 1], "all"), &text);
		return print(&text);
	}
	char *options = calloc(1, v->options_sz), *line = words_of(argc, argv);
	if (!options || !line) {
		log_err("out of memory");
		return EXIT_ERROR;
	}
	if (v->defaults)
		memcpy(options, v->defaults, v->options_sz);
	if (v->line_offset)
		memcpy(options + v->line_offset, &line, sizeof(line));
	int status = EXIT_USAGE;
	if (!opts_parse(v, argc, argv, options, &err))
		status = v->run(options, &err);
	if (err.code)
		log_err("%s", err.text);
	free(line);
	free(options);
	return status;
}

int cli_main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	if (!strcmp(slash ? slash + 1 : argv[0], "alys_converter"))
		return run_verb(&verb_convert, argc, argv);
	int child = argc == 2 ? helper_child(argv[1]) : -1;
	if (child >= 0)
		return child;
	if (argc > 1 && !strcmp(argv[1], "--print-man"))
		return print_man(argv[2]);
	int about = argc > 1 ? print_about(argv[1]) : -1;
	if (about >= 0)
		return about;
	static char *ask_help[] = { (char *)"alys-bpf", (char *)"--help", NULL };
	if (argc < 2)
		return run_verb(verbs[0], 2, ask_help);
	const struct verb *v = verb_named(argv[1]);
	if (!v && argv[1][0] != '-')
		return no_such_verb(argv[1]);
	return v ? run_verb(v, argc - 1, argv + 1) : run_verb(verbs[0], argc, argv);
}
