/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/study: a file is mapped into a traced process: what is found in it goes to whoever attaches probes and to
 * whoever publishes rows. Before a recording of few processes begins, and while a process is held, that is waited for;
 * else it comes when it comes, and the recording goes on. Reads no file itself.
 */
#ifndef ALYS_ATTACH_STUDY_H
#define ALYS_ATTACH_STUDY_H

#include "catalog/catalog.h"
#include "examine/examination.h"
#include "recording/handles.h"

struct study;

struct study_ops {
	void *ctx;
	/* What was asked for, each time once; what is in f may be taken. What did not come to its end comes empty, with the reason. */
	void (*found)(void *ctx, struct findings *f);
};

/* Families: a mask of them, 0 = all. Borrows h. */
struct study *study_new(const struct handles *h, uint32_t families, const struct study_ops *ops, struct err *err);
void study_free(struct study *s);
/* "libc,libgc" as a mask of families; NULL = all (0). */
int study_families(const char *names, uint32_t *out, struct err *err);
/* Its segments and build id, at once; NULL: no ELF file, or none that can be read. */
struct elf *study_outline(struct study *s, int fd, const char *path);
/* Is it a C library, with the start of programs in it? At once. */
bool study_starts_programs(struct study *s, int fd, const char *path);
/* Parts of FINDINGS_*: they come by ops.found, maybe before this returns. */
void study_file(struct study *s, const struct module *m, int fd, uint32_t parts);
/* The same, waited for in any case. */
void study_now(struct study *s, const struct module *m, int fd, uint32_t parts);
/* By its name: probably an allocator is in it, or else whatever others are traced by. It is looked into before others. */
bool study_comes_first(const char *path);
/* To be called often, and when study_fd is readable. */
void study_look(struct study *s);
int study_fd(const struct study *s);
/* Something is to come. */
bool study_is_busy(const struct study *s);
/* Somebody reads a file now, in a process of its own: that may take so much memory later on. */
bool study_is_reading(const struct study *s);
void study_set_room(struct study *s, uint64_t bytes);
struct examinations_counts study_counts(const struct study *s);

#endif
