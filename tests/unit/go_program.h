/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs with functions of Go's runtime in assembler, and the rows at calls in them. */
#ifndef ALYS_TESTS_UNIT_GO_PROGRAM_H
#define ALYS_TESTS_UNIT_GO_PROGRAM_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/unwind.h"

/* By which a program of Go is known. */
#define BUILDINFO ".pushsection .go.buildinfo, \"aw\"\n.byte 0\n.popsection\n"

struct program {
	char folder[32];
	struct elf *elf;
	struct unwind_table *table;
	int fd;
};

/* Around the code are functions with unwind information, as those in C of a real program. */
static struct program program_of(const char *code)
{
	struct program p = { .folder = "/tmp/alys-go-XXXXXX" };
	struct err err = { 0 };
	char source[64], path[64], command[256];
	assert_non_null(mkdtemp(p.folder));
	snprintf(source, sizeof(source), "%s/a.s", p.folder);
	snprintf(path, sizeof(path), "%s/a", p.folder);
	FILE *f = fopen(source, "w");
	assert_non_null(f);
	fprintf(f,
		".text\n.globl _start\n_start: .cfi_startproc\n ret\n .cfi_endproc\n%s\nlast: .cfi_startproc\n ret\n "
		".cfi_endproc\n",
		code);
	fclose(f);
	snprintf(command, sizeof(command), TEST_CC " -nostdlib -static -no-pie -o %s %s", path, source);
	assert_int_equal(system(command), 0);
	p.fd = open(path, O_RDONLY | O_CLOEXEC);
	p.elf = elf_open(p.fd, path, &err);
	assert_non_null(p.elf);
	p.table = unwind_compile(p.elf, &err);
	assert_non_null(p.table);
	return p;
}

static void end_program(struct program *p)
{
	char command[64];
	unwind_free(p->table);
	elf_close(p->elf);
	close(p->fd);
	snprintf(command, sizeof(command), "rm -r %s", p->folder);
	assert_int_equal(system(command), 0);
}

struct wanted {
	const char *name;
	uint64_t vaddr;
};

static int is_wanted(void *ctx, const struct elf_symbol *s)
{
	struct wanted *w = ctx;
	if (s->defined && !strcmp(s->name, w->name))
		w->vaddr = s->vaddr;
	return 0;
}

/* At the call that returns to this symbol. */
static struct unwind_row row_of(const struct program *p, const char *name)
{
	struct wanted w = { .name = name };
	struct unwind_row row;
	elf_each_symbol(p->elf, is_wanted, &w);
	assert_true(w.vaddr && unwind_row_at(p->table, w.vaddr - 1, &row));
	return row;
}

static void expect_rule(const struct program *p, const char *name, const struct alys_spec *want)
{
	struct unwind_row row = row_of(p, name);
	assert_int_equal(row.kind, ALYS_ROW_SPEC);
	assert_memory_equal(&row.rule, want, sizeof(*want));
}

static void expect_none(const char *code, const char *name)
{
	struct program p = program_of(code);
	assert_int_equal(row_of(&p, name).kind, ALYS_ROW_NONE);
	end_program(&p);
}

#endif
