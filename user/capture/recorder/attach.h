/*
 * recorder/attach: a file is mapped into a traced process: which of its functions are allocators, and
 * may their returns be probed? A file is examined once, however many processes map it.
 */
#ifndef ALYS_RECORDER_ATTACH_H
#define ALYS_RECORDER_ATTACH_H

#include "examine/findings.h"
#include "recorder/live.h"

/* "libc,libgc" as a mask of families; NULL = all (0). */
int attach_families(const char *names, uint32_t *out, struct err *err);
/* Failures are logged, and the first is kept in l->attach_err. */
void attach_module(struct live *l, const struct proc *p, const struct module *m, int fd);
/* What a file offers, which was asked for by the former; what is in f is taken. */
void attach_found(struct live *l, struct findings *f);
/* Are samples to be taken at refills, where a file has them? */
bool attach_wants_refill(const struct record_options *o);
/* A child has what its parent had mapped. */
void attach_child(struct live *l, const struct proc *p);
/* Links are shared no more: each process gets its own. What happens meanwhile is not seen. */
void attach_split(struct live *l);
/* To be called often, and when attach_fd is readable: ends trials of sites that have seen enough calls. */
void attach_look(struct live *l);
/* Readable when a calibration has ended; -1 before there was one. */
int attach_fd(const struct live *l);
/* The process is gone: its links too. */
void attach_forget(struct live *l, uint32_t tgid);
/* All links are gone: files that are mapped are to be attached again. */
void attach_reset(struct live *l);
/* Forgets the files that `kept` does not name. */
void attach_prune(struct live *l, const struct catalog *kept);
/* Files with allocators in them that are under probes. */
size_t attach_files(const struct live *l);
/* Files so far that were searched for allocators. */
uint64_t attach_examined(const struct live *l);
void attach_free(struct live *l);

#endif
