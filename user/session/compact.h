/* session/compact: forgets what a recording that goes on and on knows of processes that are gone. */
#ifndef ALYS_SESSION_COMPACT_H
#define ALYS_SESSION_COMPACT_H

#include "session/live.h"

/* 0 or -ENOMEM; then all is as it was. Nobody may hold anything of the old catalog. */
int compact_catalog(struct live *l);

#endif
