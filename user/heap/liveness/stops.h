/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness/stops: lets processes go on that our program stopped at the end of a collection, and no others: one
 * that somebody else stopped, before, meanwhile or instead, is left as it is.
 */
#ifndef ALYS_LIVENESS_STOPS_H
#define ALYS_LIVENESS_STOPS_H

#include <stdint.h>

/*
 * states: probe_collections_states. *over: the stop that was ended last (the low half of probe_last_stop), 0 = none; when
 * there was another one since, that is ended and put there. pidfd: of the process, -1 = none is open.
 */
void stops_end(int states, uint32_t tgid, int pidfd, uint32_t *over);

#endif
