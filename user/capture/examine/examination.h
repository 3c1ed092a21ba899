/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine/examination: the files of traced programs are looked into beside the recording, by processes without rights
 * (examiner.h). In: files to be examined. Out: findings, in the order in which they are done. One thread.
 *
 * Nobody's files can take more than their share: those of one user are examined one at a time, whoever has taken least
 * comes first, and who has taken much waits. A file that takes too long, or more memory than there is, is given up: it
 * costs its own user its names and rows.
 */
#ifndef ALYS_EXAMINE_EXAMINATION_H
#define ALYS_EXAMINE_EXAMINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "examine/findings.h"

struct examination {
	struct module_id module; /* of what is queued; others are not asked for */
	int fd;
	const char *path;
	struct findings_ask ask;
	bool first; /* before others of the same user */
};

struct examinations;

struct examinations_ops {
	void *ctx;
	/* The file of a queued examination, which begins; borrowed. False: it is not wanted any more. */
	bool (*open)(void *ctx, struct module_id module, int *fd, const char **path);
};

struct examinations_counts {
	uint64_t examined; /* files, to their end or not */
	uint64_t given_up; /* of these: not to their end, or a part of them could not be such a part */
	uint64_t waiting;
};

/* ops NULL: nothing will be queued. */
struct examinations *examinations_new(const struct examinations_ops *ops, struct err *err);
void examinations_free(struct examinations *x);
/* Waits for it. What cannot be known is said in it. Then findings_free. */
void examinations_now(struct examinations *x, const struct examination *e, struct findings *out);
/* Its outline, waited for, now the caller's; NULL: no ELF file, or none that can be read. */
struct elf *examinations_outline(struct examinations *x, int fd, const char *path);
/* Queues it; e->fd and e->path are asked for when it begins. 0 or -errno: nothing will come. */
int examinations_ask(struct examinations *x, const struct examination *e);
/* To be called often, and when examinations_fd is readable: the next that is done, what it has is the caller's. */
bool examinations_take(struct examinations *x, struct findings *out);
int examinations_fd(const struct examinations *x);
/* What all of them together may take of memory. */
void examinations_set_room(struct examinations *x, uint64_t bytes);
bool examinations_are_busy(const struct examinations *x);
void examinations_counts(const struct examinations *x, struct examinations_counts *out);

#endif
