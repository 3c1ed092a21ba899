/* SPDX-License-Identifier: Apache-2.0 */
/* access/pages: which pages of a process are in memory, by /proc/PID/pagemap. */
#ifndef ALYS_ACCESS_PAGES_H
#define ALYS_ACCESS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access/rights.h"

#define PAGE_BYTES 4096ull
#define PAGES_KEPT 8192

enum page_is { PAGE_ABSENT, PAGE_SWAPPED, PAGE_RESIDENT };

struct pages {
	int fd;         /* -1: there is no such file, and all pages count as resident */
	bool own;       /* only pages that no other process has count: not the one of zeros, which reads of unused memory leave */
	uint64_t first; /* page number of the first one kept */
	size_t cnt;
	uint64_t kept[PAGES_KEPT];
};

void pages_open(struct pages *p, uint32_t tid);
void pages_close(struct pages *p);
enum page_is pages_at(struct pages *p, uint64_t addr);
/*
 * What lies in pages that are in use, swapped out or not, of what is between *at and end: at most so many pieces. *at moves to where
 * the next call begins.
 */
size_t pages_used(struct pages *p, uint64_t *at, uint64_t end, struct rights_range *pieces, size_t most);
/* Bytes from start to end that lie in resident pages. */
uint64_t pages_resident(struct pages *p, uint64_t start, uint64_t end);

#endif
