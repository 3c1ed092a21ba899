/*
 * session/attach: a file is mapped into a traced process: which of its functions are allocators, and
 * may their returns be probed? A file is examined once, however many processes map it.
 */
#ifndef ALYS_SESSION_ATTACH_H
#define ALYS_SESSION_ATTACH_H

#include "session/live.h"

void attach_module(struct live *l, const struct proc *p, const struct module *m, int fd);
void attach_free(struct live *l);

#endif
