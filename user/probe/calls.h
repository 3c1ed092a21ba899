/*
 * probe/calls: the running account of entries against exits, by function: its name and that of its file. What entered, and
 * neither left nor is still inside, is lost. Not for other rooms, which have probe_calls.
 */
#ifndef ALYS_PROBE_CALLS_H
#define ALYS_PROBE_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct probe;
struct map;

struct counted {
	char *name;      /* malloc@libc.so.6 */
	uint64_t settled; /* calls that were found lost when nobody could wait for them any more */
	uint64_t thrown;  /* or failed, for they have thrown */
};

struct counted_list {
	struct counted *functions; /* by number; the first one stands for all others */
	size_t functions_cnt, functions_cap;
};

/* The function's number, 0 when there are too many. */
uint16_t calls_number(struct probe *p, const char *function, int file_fd);
void calls_free(struct counted_list *l);

#endif
