/*
 * symdump FILE [name] < addresses: one line a frame, "ADDR QUALITY INLINED FILE:LINE:COL NAME",
 * for the addresses (hex, of the ELF file) on stdin.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "symbol/symbol.h"

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

static uint64_t *read_addresses(size_t *n)
{
	size_t cap = 1 << 20;
	uint64_t *at = calloc(cap, sizeof(*at));
	for (*n = 0; at && *n < cap && scanf("%" SCNx64, &at[*n]) == 1; (*n)++)
		;
	return at;
}

/* One stack an address: frames[0] is looked up as it is. */
static void fill(struct catalog *c, const char *path, const uint64_t *at, size_t n)
{
	catalog_put_module(c, &(struct module){ .id = { 1 }, .path = path });
	catalog_put_mapping(c, &(struct mapping){ .id = { 1 }, .proc = { 1 }, .module = { 1 },
						  .end = UINT64_MAX });
	for (size_t i = 0; i < n; i++) {
		struct frame f = { .map = { 1 }, .rel = at[i] };
		catalog_put_stack(c, &(struct stack){ .id = { (uint32_t)i + 1 }, .proc = { 1 }, .n = 1,
						      .frames = &f });
	}
}

static void print(const struct catalog *c, uint64_t pc)
{
	const struct symbols *s = catalog_symbols(c, (struct module_id){ 1 }, pc);
	for (size_t i = 0; s && i < s->n; i++) {
		const struct symbol *y = &s->at[i];
		printf("%" PRIx64 " %u %u %s:%u:%u %s\n", pc, y->quality, y->inlined,
		       y->file ? y->file : "?", y->line, y->column, y->name ? y->name : "?");
	}
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	struct timespec from, to;
	size_t n;
	if (argc < 2)
		die("usage: symdump FILE [name] < addresses");
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	uint64_t *at = read_addresses(&n);
	struct catalog *c = catalog_new();
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_config){
		.depth = argc > 2 ? SYMBOL_DEPTH_NAME : SYMBOL_DEPTH_FULL, .problem = say_problem });
	if (fd < 0 || !at || !c || !s)
		die("cannot start");
	fill(c, argv[1], at, n);
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (symbolizer_add_file(s, (struct module_id){ 1 }, fd, argv[1], &err) ||
	    symbolizer_run(s, c, NULL, NULL, &err))
		die(err.text);
	clock_gettime(CLOCK_MONOTONIC, &to);
	for (size_t i = 0; i < n; i++)
		print(c, at[i]);
	struct rusage worker;
	getrusage(RUSAGE_CHILDREN, &worker);
	fprintf(stderr, "%zu addresses in %.3f s, worker %ld kB\n", n,
		(double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9,
		worker.ru_maxrss);
	symbolizer_free(s);
	catalog_free(c);
	free(at);
	return 0;
}
