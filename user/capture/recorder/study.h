/*
 * recorder/study: a file is mapped into a traced process: what is found in it goes to whoever attaches probes and to
 * whoever publishes rows. Before a recording of few processes begins, and while a process is held, that is waited for;
 * else it comes when it comes, and the recording goes on. Reads no file itself.
 */
#ifndef ALYS_RECORDER_STUDY_H
#define ALYS_RECORDER_STUDY_H

#include "examine/examination.h"
#include "recorder/live.h"

int study_open(struct live *l, struct err *err);
void study_close(struct live *l);
/* Its segments and build id, at once; NULL: no ELF file, or none that can be read. */
struct elf *study_outline(struct live *l, int fd, const char *path);
/* Is it a C library, with the start of programs in it? At once. */
bool study_starts_programs(struct live *l, int fd, const char *path);
/*
 * Parts of FINDINGS_*: they come by attach_found and rows_found, maybe before this returns, in any case once: what did
 * not come to its end comes empty, with the reason.
 */
void study_file(struct live *l, const struct module *m, int fd, uint32_t parts);
/* The same, waited for in any case. */
void study_now(struct live *l, const struct module *m, int fd, uint32_t parts);
/* By its name: probably an allocator is in it, or else whatever others are traced by. It is looked into before others. */
bool study_comes_first(const char *path);
/* To be called often, and when study_fd is readable. */
void study_look(struct live *l);
int study_fd(const struct live *l);
/* Something is to come. */
bool study_is_busy(const struct live *l);

#endif
