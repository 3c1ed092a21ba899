/*
 * The reader of collected heaps against the truth: heapread PID reads lines "address base size kind marked" (c_heap.c)
 * and says where the reading differs. "heapread PID again N" reads N times, compares each reading that is not torn, and
 * tells of how many cycles they were. "heapread PID time N" prints the milliseconds of N readings, best and worst.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/collector.h"
#include "collector/prove.h"
#include "helper/children.h"

struct seen {
	size_t objects, found, marked, wrong;
};

static void check(const struct boehm_heap *h, const char *line, struct seen *seen)
{
	uint64_t addr, base, size;
	unsigned int kind, marked;
	struct heap_object o = { 0 };
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNu64 " %u %u", &addr, &base, &size, &kind, &marked) != 5)
		return;
	bool found = boehm_heap_find(h, addr, &o);
	seen->objects++;
	seen->found += base != 0;
	seen->marked += marked;
	if (found == (base != 0) && o.base == base && o.size == size && o.marked == (marked != 0))
		return;
	if (seen->wrong++ < 10)
		printf("wrong: 0x%" PRIx64 " read base 0x%" PRIx64 " size %" PRIu64 " marked %d, is 0x%" PRIx64 " %" PRIu64 " %u\n",
		       addr, o.base, o.size, o.marked, base, size, marked);
}

static int compare(struct collector *c, struct err *err)
{
	struct boehm_heap h;
	struct seen seen = { 0 };
	char line[256], about[160];
	int rc = collector_read(c, &h, err);
	if (rc)
		return rc;
	while (fgets(line, sizeof(line), stdin))
		check(&h, line, &seen);
	struct buf proof = { 0 };
	layout_describe(&c->layout, about, sizeof(about));
	prove_text(&c->proof, &proof);
	printf("objects %zu found %zu marked %zu wrong %zu\n", seen.objects, seen.found, seen.marked, seen.wrong);
	printf("gc_no %" PRIu64 " bytes %" PRIu64 " unmapped %" PRIu64 " free %" PRIu64 " torn %d retries %u bad %u\n", h.gc_no,
	       h.heap_bytes, h.unmapped_bytes, h.free_bytes, h.torn, h.retries, h.bad_headers);
	printf("layout %s; mark stack %s, state %s; %s\n", about, c->layout.mark_stack ? "found" : "unknown",
	       c->layout.mark_state ? "found" : "unknown", buf_str(&proof));
	buf_free(&proof);
	boehm_heap_free(&h);
	return 0;
}

#define LINES 4096

static int compare_again(struct collector *c, int n, struct err *err)
{
	static char lines[LINES][80];
	struct seen seen = { 0 };
	size_t cnt = 0;
	uint64_t cycles = 0, last = 0, torn = 0, retries = 0;
	while (cnt < LINES && fgets(lines[cnt], sizeof(lines[cnt]), stdin))
		cnt++;
	for (int i = 0; i < n; i++) {
		struct boehm_heap h;
		int rc = collector_read(c, &h, err);
		if (rc)
			return rc;
		for (size_t k = 0; k < cnt && !h.torn; k++)
			check(&h, lines[k], &seen);
		cycles += h.gc_no != last;
		last = h.gc_no;
		torn += h.torn;
		retries += h.retries;
		boehm_heap_free(&h);
		/* Readings quicker than cycles would all be of one. */
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	printf("readings %d cycles %" PRIu64 " torn %" PRIu64 " retries %" PRIu64 " objects %zu wrong %zu\n", n, cycles, torn,
	       retries, seen.objects, seen.wrong);
	return 0;
}

static int take_time(struct collector *c, int n, struct err *err)
{
	double best = 1e9, worst = 0;
	uint64_t objects = 0;
	for (int i = 0; i < n; i++) {
		struct boehm_heap h;
		int rc = collector_read(c, &h, err);
		if (rc)
			return rc;
		double ms = (double)h.took_ns / 1e6;
		best = ms < best ? ms : best;
		worst = ms > worst ? ms : worst;
		objects = h.marks_cnt;
		boehm_heap_free(&h);
	}
	printf("%" PRIu64 " objects, best %.2f ms, worst %.2f ms\n", objects, best, worst);
	return 0;
}

int main(int argc, char **argv)
{
	struct collector c;
	struct err err = { 0 };
	if (argc == 2 && helper_child(argv[1]) >= 0)
		return 0;
	if (argc < 2)
		return 2;
	int rc = collector_open(&c, (uint32_t)atoi(argv[1]), &err);
	if (!rc)
		rc = argc < 4 ? compare(&c, &err) : !strcmp(argv[2], "again") ? compare_again(&c, atoi(argv[3]), &err) :
									 take_time(&c, atoi(argv[3]), &err);
	if (rc)
		fprintf(stderr, "%s\n", err.text);
	else
		collector_close(&c);
	return rc != 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
