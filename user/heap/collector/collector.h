/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector: Boehm's collector in a live process: which mapped file holds it, its layout, and
 * whether that layout is to be believed. In: a process number. Out: what room boehm needs to read the
 * heap. Attaches no probes, stops nothing.
 */
#ifndef ALYS_COLLECTOR_H
#define ALYS_COLLECTOR_H

#include "boehm/heap.h"
#include "boehm/memory.h"
#include "boehm/space.h"
#include "calibrate/calibrate.h"
#include "elf/elf.h"
#include "heapgraph/types.h"

enum collector_trust {
	COLLECTOR_PROVEN,     /* in a helper that maps the same library, the reading agreed with the library's answers */
	COLLECTOR_STRUCTURAL, /* its own headers agree with each other; it cannot be mapped alone (an executable) */
	COLLECTOR_WRONG,      /* never of an open collector */
};

struct collector {
	struct memory memory;
	struct space space; /* as of collector_open or collector_refresh */
	struct layout layout;
	struct elf *elf; /* the file that holds the collector */
	int fd;
	uint64_t bias;     /* address in the process less address in the file */
	uint64_t dev, ino; /* of the file */
	enum collector_trust trust;
	struct calibration proof; /* of the layout: what the trust is founded on; see prove_text */
	char comm[64], exe[4096]; /* the path as maps have it; the name is clean */
	uint64_t start_ns;        /* of the process, CLOCK_MONOTONIC */
};

/*
 * 0, then collector_close; or -ESRCH (no such process), -EACCES (not allowed), -ENOENT (it has no
 * Boehm collector), -ENODATA (not started yet), -ENOTSUP (layout unknown, or proven wrong), with one
 * sentence in err that names the process.
 */
int collector_open(struct collector *c, uint32_t tgid, struct err *err);
/* The same in two steps, where the heap must be read before a proof could be there: milliseconds... */
int collector_find(struct collector *c, uint32_t tgid, struct err *err);
/* ...and a helper process. -ENOTSUP: proven wrong. Leaves alone what reading the heap needs. */
int collector_prove(struct collector *c, struct err *err);
void collector_close(struct collector *c);
/* Reads the maps again. -ESRCH when it has ended. */
int collector_refresh(struct collector *c, struct err *err);
/* Its block headers and marks, with the process named in messages. */
int collector_read(struct collector *c, struct boehm_heap *out, struct err *err);
/* The program's own file: NULL when it cannot be opened. Then elf_close and close(*fd). */
struct elf *collector_program(const struct collector *c, int *fd, uint64_t *bias);
/* By the symbols of its program. */
bool collector_is_crystal(const struct collector *c);
/* Names of its types: type_ids (a file, NULL = none) and what its program's symbols say. */
int collector_types(struct collector *c, const char *type_ids, struct types *out, struct err *err);

#endif
