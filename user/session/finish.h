/* session/finish: after the last event: names for addresses, the final account, the end mark. */
#ifndef ALYS_SESSION_FINISH_H
#define ALYS_SESSION_FINISH_H

#include "session/live.h"

/* Resolves every frame that was recorded and puts the answers into the trace. */
int finish_symbols(struct live *l, struct err *err);

#endif
