/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/study: requests the examination of mapped files and hands the findings to attach and rows. Before a recording
 * of few processes starts, and while a process is stopped, it waits for them; otherwise they arrive later while the
 * recording runs. Reads no file itself.
 */
#ifndef ALYS_ATTACH_STUDY_H
#define ALYS_ATTACH_STUDY_H

#include "catalog/catalog.h"
#include "examine/examination.h"
#include "recording/handles.h"

struct study;

struct study_ops {
	void *ctx;
	/*
	 * Each request is answered once; f's contents may be taken. If the examination failed, f is empty and says why.
	 */
	void (*found)(void *ctx, struct findings *f);
};

/* Families: a mask of them, 0 = all. Borrows h. */
struct study *study_new(const struct handles *h, uint32_t families, const struct study_ops *ops, struct err *err);
void study_free(struct study *s);
/* Are only allocators wanted that may count bytes themselves? */
bool study_wants_counted(const struct study *s);
/* Segments and build id, immediately; NULL: not an ELF file, or unreadable. */
struct elf *study_outline(struct study *s, int fd, const char *path);
/* Is it a C library with the program start code? Immediate. */
bool study_starts_programs(struct study *s, int fd, const char *path);
/* Requests FINDINGS_* parts; they arrive through ops.found, possibly before this returns. */
void study_file(struct study *s, const struct module *m, int fd, uint32_t parts);
/* The same, but always waits. */
void study_now(struct study *s, const struct module *m, int fd, uint32_t parts);
/*
 * Judged by its name: probably contains an allocator, or code by which others are traced. Examined before other files.
 */
bool study_comes_first(const char *path);
/* Call often, and when study_fd is readable. */
void study_look(struct study *s);
int study_fd(const struct study *s);
/* Findings are expected. */
bool study_is_busy(const struct study *s);
/* An examiner process is at work, which may still allocate up to its limit. */
bool study_is_reading(const struct study *s);
void study_set_room(struct study *s, uint64_t bytes);
struct examinations_counts study_counts(const struct study *s);

#endif
