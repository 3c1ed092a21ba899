/*
 * monitor/spectator: a recording of its own for `top`: one process, or all of them, without a daemon and
 * without a file. In: options. Out: a list of stacks every second. One thread, that of top.
 */
#ifndef ALYS_MONITOR_SPECTATOR_H
#define ALYS_MONITOR_SPECTATOR_H

#include "monitor/continuous.h"
#include "top/top.h"

struct spectator;

/* pid: the only one that is watched, whose end is the end; 0 = those that the options select. Borrows the options. */
struct spectator *spectator_new(const struct continuous_options *o, uint32_t pid, struct err *err);
struct top_source spectator_source(struct spectator *s);
/* Takes the probes away. For the end of a program: what is on its way then is left as it is. */
void spectator_free(struct spectator *s);

#endif
