/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/places: where processes have code that they made named for perf: /tmp/perf-PID.map, in their own view and by
 * their own number. A place outlives its process, whose file often comes late. Known by numbers above 0.
 */
#ifndef ALYS_ACCESS_PLACES_H
#define ALYS_ACCESS_PLACES_H

#include <stdint.h>

/*
 * All give a number or -errno; -EMFILE: there are too many, and nobody has more than this one's user, so that no user
 * takes those of others: who has most loses one to who has fewer, whose number is -EBADF from then on.
 */
int place_open(uint32_t tgid);
/* One more who has it, until place_close by each. */
int place_share(int place);
void place_close(int place);
/* The file as it is now, a descriptor: -EACCES when another user than the process' own put it there, or no file. */
int place_map(int place);

#endif
