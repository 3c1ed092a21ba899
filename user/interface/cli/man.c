/* SPDX-License-Identifier: Apache-2.0 */
/* cli/man: manual pages, generated from the verbs' tables: one for the program, one for each verb. */
#include "cli/opts.h"

#include <ctype.h>
#include <string.h>

/* In roff, a dot or quote at the start of a line is a command, and a backslash an escape. */
static void roff(struct buf *out, const char *text)
{
	bool begins = true;
	for (; *text; text++) {
		if (begins && (*text == '.' || *text == '\''))
			buf_adds(out, "\\&");
		if (*text == '\\' || *text == '-')
			buf_u8(out, '\\');
		buf_u8(out, (uint8_t)*text);
		begins = *text == '\n';
	}
}

static void upper(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_u8(out, (uint8_t)toupper((unsigned char)*text));
}

/* A summary in the style of NAME sections: no initial capital, no full stop. */
static void add_purpose(struct buf *out, const char *summary)
{
	struct buf text = { 0 };
	buf_u8(&text, (uint8_t)tolower((unsigned char)summary[0]));
	buf_add(&text, summary + 1, strcspn(summary + 1, "."));
	roff(out, buf_str(&text));
	buf_free(&text);
}

static void add_section(const struct opt *o, struct buf *out)
{
	buf_adds(out, ".SS ");
	roff(out, o->help);
	buf_adds(out, "\n");
}

static void add_option(const struct opt *o, struct buf *out)
{
	buf_adds(out, ".TP\n\\fB");
	if (o->letter)
		buf_addf(out, "\\-%c\\fR, \\fB", o->letter);
	buf_adds(out, "\\-\\-");
	roff(out, o->name);
	buf_adds(out, "\\fR");
	if (o->arg) {
		buf_adds(out, " \\fI");
		roff(out, o->choices ? o->choices : o->arg);
		buf_adds(out, "\\fR");
	}
	buf_adds(out, "\n");
	roff(out, o->help);
	if (o->env)
		buf_addf(out, ". Default from the environment variable %s", o->env);
	buf_adds(out, ".\n");
}

static void add_exit_status(struct buf *out)
{
	buf_adds(out, ".SH EXIT STATUS\n0 done; 1 failed; 2 wrong usage; 3 nothing to trace or to read. A program "
		      "started with \\-\\- gives its own.\n");
}

void man_program(const struct verb *const *verbs, struct buf *out)
{
	buf_adds(out, ".TH ALYS-BPF 1 \"\" \"alys-bpf " ALYS_VERSION "\" \"User Commands\"\n"
		      ".SH NAME\nalys-bpf \\- record and explain the memory allocations of running programs\n"
		      ".SH SYNOPSIS\n.nf\n");
	for (size_t v = 0; verbs[v]; v++) {
		buf_adds(out, "alys\\-bpf ");
		roff(out, verbs[v]->usage);
		buf_adds(out, "\n");
	}
	buf_adds(out,
		 ".fi\n.SH DESCRIPTION\nalys\\-bpf attaches to programs that are already running, records every allocation or a "
		 "random sample of them with its call stack, and detaches again.\nEach verb has a page of its own.\n");
	for (size_t v = 0; verbs[v]; v++) {
		buf_adds(out, ".TP\n\\fBalys\\-bpf\\-");
		roff(out, verbs[v]->name);
		buf_adds(out, "\\fR(1)\n");
		roff(out, verbs[v]->summary);
		buf_adds(out, "\n");
	}
	add_exit_status(out);
}

void man_verb(const struct verb *v, struct buf *out)
{
	buf_adds(out, ".TH ALYS-BPF-");
	upper(out, v->name);
	buf_adds(out, " 1 \"\" \"alys-bpf " ALYS_VERSION "\" \"User Commands\"\n.SH NAME\n");
	buf_addf(out, "alys-bpf-%s \\- ", v->name);
	add_purpose(out, v->summary);
	buf_adds(out, "\n.SH SYNOPSIS\n.nf\nalys\\-bpf ");
	roff(out, v->usage);
	buf_adds(out, "\n.fi\n.SH DESCRIPTION\n");
	roff(out, v->summary);
	buf_adds(out, "\n.SH OPTIONS\n");
	for (const struct opt *o = v->opts; o->name; o++) {
		if (opt_is_section(o))
			add_section(o, out);
		else
			add_option(o, out);
	}
	if (v->notes) {
		buf_adds(out, ".SH NOTES\n.nf\n");
		roff(out, v->notes);
		buf_adds(out, "\n.fi\n");
	}
	add_exit_status(out);
	buf_adds(out, ".SH SEE ALSO\n.BR alys\\-bpf (1)\n");
}
