/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/stops: resumes processes that our BPF program stopped at the end of a collection, and only those: a process
 * stopped by somebody else, before, meanwhile or instead, stays stopped.
 */
#ifndef ALYS_LIVENESS_STOPS_H
#define ALYS_LIVENESS_STOPS_H

#include <stdint.h>

/*
 * states: probe_collections_states. *over: the stop that was ended last (low half of probe_last_stop), 0 = none; if
 * there was another since, it is ended and stored there. pidfd: of the process, -1 = none.
 */
void stops_end(int states, uint32_t tgid, int pidfd, uint32_t *over);

#endif
