/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine/examination: schedules the examination of traced programs' files, in processes without privileges
 * (examiner.h), while the recording runs. In: files to examine. Out: findings, in order of completion. Single-threaded.
 *
 * It is fair between users: one user's files are examined one at a time, the user who has used least time goes first. A
 * file that takes too long, or too much memory, is given up; only its own user loses names and rows.
 */
#ifndef ALYS_EXAMINE_EXAMINATION_H
#define ALYS_EXAMINE_EXAMINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "examine/findings.h"

struct examination {
	struct module_id module; /* identifies a queued request; unused otherwise */
	int fd;
	const char *path;
	struct findings_ask ask;
	bool first; /* before other files of the same user, and not at low priority: probes wait for it */
};

struct examinations;

struct examinations_ops {
	void *ctx;
	/* Opens the file of a queued examination that is about to start; borrowed. False: it is no longer needed. */
	bool (*open)(void *ctx, struct module_id module, int *fd, const char **path);
};

struct examinations_counts {
	uint64_t examined; /* files, completely or not */
	uint64_t given_up; /* of these: incomplete, or with an implausible part */
	uint64_t waiting;
};

/* ops NULL: nothing will be queued. */
struct examinations *examinations_new(const struct examinations_ops *ops, struct err *err);
void examinations_free(struct examinations *x);
/* Synchronous. Failures are reported in *out. Then findings_free. */
void examinations_now(struct examinations *x, const struct examination *e, struct findings *out);
/* The outline, synchronous, owned by the caller; NULL: not an ELF file, or unreadable. */
struct elf *examinations_outline(struct examinations *x, int fd, const char *path);
/* Queues a request; e->fd and e->path are asked for when it starts. 0 or -errno: there will be no answer. */
int examinations_ask(struct examinations *x, const struct examination *e);
/* Call often, and when examinations_fd is readable: the next finished one, owned by the caller. */
bool examinations_take(struct examinations *x, struct findings *out);
int examinations_fd(const struct examinations *x);
/* Memory limit for all of them together. */
void examinations_set_room(struct examinations *x, uint64_t bytes);
bool examinations_are_busy(const struct examinations *x);
void examinations_counts(const struct examinations *x, struct examinations_counts *out);

#endif
