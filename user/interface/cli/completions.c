/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completions: for bash, zsh and fish, generated from the verbs' tables. */
#include "cli/opts.h"

#include <string.h>

static void add_choices(struct buf *out, const char *choices, const char *between)
{
	for (; *choices; choices++) {
		if (*choices == '|')
			buf_adds(out, between);
		else
			buf_u8(out, (uint8_t)*choices);
	}
}

void opts_bash(const struct verb *const *verbs, struct buf *out)
{
	buf_adds(out, "# bash completion of alys-bpf; made from its option table\n_alys_bpf() {\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=record w\n"
		      "\tfor w in \"${COMP_WORDS[@]:1}\"; do case $w in ");
	for (size_t v = 0; verbs[v]; v++)
		buf_addf(out, "%s%s", v ? "|" : "", verbs[v]->name);
	buf_adds(out, ") verb=$w; break;; esac; done\n\tcase $verb$prev in\n");
	for (size_t v = 0; verbs[v]; v++) {
		for (size_t i = 0; verbs[v]->opts[i].name; i++) {
			const struct opt *o = &verbs[v]->opts[i];
			if (!o->choices)
				continue;
			buf_addf(out, "\t%s--%s) COMPREPLY=($(compgen -W '", verbs[v]->name, o->name);
			add_choices(out, o->choices, " ");
			buf_adds(out, "' -- \"$cur\")); return;;\n");
		}
	}
	buf_adds(out, "\tesac\n\tcase $verb in\n");
	for (size_t v = 0; verbs[v]; v++) {
		buf_addf(out, "\t%s) w='--help", verbs[v]->name);
		for (const struct opt *o = verbs[v]->opts; o->name; o++) {
			if (!opt_is_section(o))
				buf_addf(out, " --%s", o->name);
		}
		buf_adds(out, "';;\n");
	}
	buf_adds(out, "\tesac\n\t[[ $COMP_CWORD -eq 1 ]] && w+='");
	for (size_t v = 0; verbs[v]; v++)
		buf_addf(out, " %s", verbs[v]->name);
	buf_adds(out, "'\n\tCOMPREPLY=($(compgen -W \"$w\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n}\n"
		      "complete -o filenames -F _alys_bpf alys-bpf\n");
}

static void quote_single(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_adds(out, "'\\''");
		else if (strchr("[]:", *text))
			buf_addf(out, "\\%c", *text);
		else
			buf_u8(out, (uint8_t)*text);
	}
}

void opts_zsh(const struct verb *const *verbs, struct buf *out)
{
	buf_adds(out, "#compdef alys-bpf\n# made from its option table\nlocal verb=${words[2]}\ncase $verb in\n");
	for (size_t v = 0; verbs[v]; v++) {
		bool first = v == 0; /* the first verb is the one without a name */
		struct buf row = { 0 };
		for (size_t i = 0; verbs[v]->opts[i].name; i++) {
			const struct opt *o = &verbs[v]->opts[i];
			if (opt_is_section(o))
				continue;
			buf_addf(&row, " '--%s[", o->name);
			quote_single(&row, o->help);
			buf_adds(&row, "]");
			if (o->choices) {
				buf_addf(&row, ":%s:(", o->arg);
				add_choices(&row, o->choices, " ");
				buf_adds(&row, ")");
			} else if (o->arg) {
				buf_adds(&row, ":");
				quote_single(&row, o->arg);
				buf_adds(&row, ":_files");
			}
			buf_adds(&row, "'");
		}
		if (first)
			buf_addf(out, "(%s|-*|'') _arguments%s '*:file:_files';;\n", verbs[v]->name, buf_str(&row));
		else
			buf_addf(out, "(%s) _arguments%s '*:file:_files';;\n", verbs[v]->name, buf_str(&row));
		buf_free(&row);
	}
	buf_adds(out, "(*) _values verb");
	for (size_t v = 0; verbs[v]; v++)
		buf_addf(out, " %s", verbs[v]->name);
	buf_adds(out, ";;\nesac\n");
}

void opts_fish(const struct verb *const *verbs, struct buf *out)
{
	buf_adds(out, "# fish completion of alys-bpf; made from its option table\n");
	for (size_t v = 0; verbs[v]; v++) {
		buf_addf(out, "complete -c alys-bpf -n __fish_use_subcommand -a %s -d '", verbs[v]->name);
		quote_single(out, verbs[v]->summary);
		buf_adds(out, "'\n");
		for (size_t i = 0; verbs[v]->opts[i].name; i++) {
			const struct opt *o = &verbs[v]->opts[i];
			if (opt_is_section(o))
				continue;
			buf_adds(out, "complete -c alys-bpf");
			if (v)
				buf_addf(out, " -n '__fish_seen_subcommand_from %s'", verbs[v]->name);
			buf_addf(out, " -l %s", o->name);
			if (o->letter)
				buf_addf(out, " -s %c", o->letter);
			if (o->choices) {
				buf_adds(out, " -x -a '");
				add_choices(out, o->choices, " ");
				buf_adds(out, "'");
			} else if (o->arg) {
				buf_adds(out, " -r");
			}
			buf_adds(out, " -d '");
			quote_single(out, o->help);
			buf_adds(out, "'\n");
		}
	}
}
