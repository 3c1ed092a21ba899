/*
 * symdump [name|raw] < addresses: one line a frame, "ADDR QUALITY INLINED FILE:LINE:COL NAME", for lines
 * "FILE ADDR" (hex, of the ELF file) on stdin, those of a file together.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/vec.h"
#include "symbol/symbol.h"

struct question {
	struct module_id module;
	uint64_t pc;
};

struct dump {
	struct catalog *catalog;
	struct symbolizer *symbolizer;
	struct question *questions;
	size_t questions_cnt, questions_cap;
	uint32_t modules;
};

static void die(const char *why)
{
	fprintf(stderr, "symdump: %s\n", why);
	exit(1);
}

static void say_problem(void *ctx, const char *path, const char *why)
{
	(void)ctx;
	fprintf(stderr, "%s: %s\n", path, why);
}

static void lend(struct dump *d, const char *path)
{
	struct err err = { 0 };
	struct module_id m = { ++d->modules };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	catalog_put_mapping(d->catalog, &(struct mapping){ .id = { m.n }, .module = m, .end = UINT64_MAX });
	if (symbolizer_add_file(d->symbolizer, m, fd, path, &err))
		die(err.text);
}

/* One stack an address: its frame is looked up as it is. */
static void ask(struct dump *d, uint64_t pc)
{
	struct frame f = { .map = { d->modules }, .rel = pc };
	struct question *q = VEC_PUSH(d, questions);
	if (!q)
		die("out of memory");
	*q = (struct question){ { d->modules }, pc };
	catalog_put_stack(d->catalog, &(struct stack){ .id = { (uint32_t)d->questions_cnt }, .proc = { 1 },
						       .n = 1, .frames = &f });
}

static void read_questions(struct dump *d)
{
	char path[PATH_MAX], last[PATH_MAX] = "";
	uint64_t pc;
	while (scanf("%4095s %" SCNx64, path, &pc) == 2) {
		if (strcmp(path, last))
			lend(d, strcpy(last, path));
		ask(d, pc);
	}
}

static void print(const struct dump *d, const struct question *q)
{
	const struct symbols *s = catalog_symbols(d->catalog, q->module, q->pc);
	for (size_t i = 0; s && i < s->n; i++) {
		const struct symbol *y = &s->at[i];
		printf("%" PRIx64 " %u %u %s:%u:%u %s\n", q->pc, y->quality, y->inlined,
		       y->file ? y->file : "?", y->line, y->column, y->name ? y->name : "?");
	}
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	struct timespec from, to;
	struct rusage worker;
	struct dump d = { .catalog = catalog_new() };
	d.symbolizer = symbolizer_new(&(struct symbolizer_config){
		.depth = argc > 1 && !strcmp(argv[1], "name") ? SYMBOL_DEPTH_NAME : SYMBOL_DEPTH_FULL,
		.raw_names = argc > 1 && !strcmp(argv[1], "raw"), .problem = say_problem });
	if (!d.catalog || !d.symbolizer)
		die("cannot start");
	read_questions(&d);
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (symbolizer_run(d.symbolizer, d.catalog, NULL, NULL, &err))
		die(err.text);
	clock_gettime(CLOCK_MONOTONIC, &to);
	for (size_t i = 0; i < d.questions_cnt; i++)
		print(&d, &d.questions[i]);
	getrusage(RUSAGE_CHILDREN, &worker);
	fprintf(stderr, "%zu addresses in %.3f s, worker %ld kB\n", d.questions_cnt,
		(double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9,
		worker.ru_maxrss);
	symbolizer_free(d.symbolizer);
	catalog_free(d.catalog);
	free(d.questions);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
