/* SPDX-License-Identifier: Apache-2.0 */
/* window/pace: see pace.h. */
#include "window/pace.h"

#include <math.h>

/*
 * With each reading what came before counts less: by time and not by CPU time, because a program that rests uses little of it, and does
 * not go on as in its last burst.
 */
#define KEPT 0.5
/* From less, no rate is taken: what stops took is subtracted, and not known exactly. */
#define LEAST_NS 1e6

/* CPU time may seem to go back for the same reason; the sum is right again with the next reading. */
void pace_note(struct pace *p, double all, double own_ns)
{
	double more = all - p->all, ns = own_ns - p->own_ns;
	if (p->known && more >= 0) {
		p->late = p->late * KEPT + more;
		p->late_ns = p->late_ns * KEPT + ns;
	}
	p->known = true;
	p->gone = false;
	p->all = all;
	p->own_ns = own_ns;
}

void pace_note_gone(struct pace *p, double own_ns)
{
	if (p->gone)
		return;
	p->gone = true;
	p->gone_ns = own_ns;
}

double pace_more(const struct pace *p, double own_ns)
{
	double until = p->gone ? fmin(own_ns, p->gone_ns) : own_ns, ns = until - p->own_ns;
	return p->known && ns > 0 && p->late_ns >= LEAST_NS ? p->late / p->late_ns * ns : 0;
}
