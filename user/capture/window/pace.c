/* SPDX-License-Identifier: Apache-2.0 */
/* window/pace: see pace.h. */
#include "window/pace.h"

#include <math.h>

/* After so much CPU time what was before counts half. */
#define HALF_NS 50e6
/* From less, no rate is taken: what stops took is subtracted, and not known exactly. */
#define LEAST_NS 1e6

/* CPU time may seem to go back for the same reason; the sum is right again with the next reading. */
void pace_note(struct pace *p, double all, double own_ns)
{
	double more = all - p->all, ns = own_ns - p->own_ns, keep = HALF_NS / (HALF_NS + fmax(ns, 0));
	if (p->known && more >= 0) {
		p->late = p->late * keep + more;
		p->late_ns = p->late_ns * keep + ns;
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
