/* recorder/pressure: see pressure.h. */
#include "recorder/pressure.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"

/* Half a ring takes a moment to fill: after a change the reader gets that long to catch up. */
#define CALM_BEFORE_SLOWER_NS 100000000ull
#define CALM_BEFORE_FASTER_NS 3000000000ull
#define SLOWEST 1024 /* times the interval asked for */

void pressure_set(struct live *l, uint64_t interval)
{
	struct event e = { .kind = EVENT_RATE, .time_ns = now_ns(), .interval = interval };
	if (interval == l->interval)
		return;
	l->interval = interval;
	probe_set_interval(l->probe, interval);
	live_write_event(l, &e);
}

static void change(struct live *l, uint64_t interval, uint64_t now)
{
	log_info("%s: sampling every %" PRIu64 " bytes now",
		 interval > l->interval ? PRESSURE_REASON : "the reader has caught up", interval);
	pressure_set(l, interval);
	l->rate_changes++;
	l->last_rate_ns = now;
}

void pressure_look(struct live *l)
{
	uint64_t backlog = intake_backlog(l->intake), now;
	if (!l->o->interval || (backlog < l->o->ring_sz / 2 && l->interval == l->o->interval))
		return;
	now = now_ns();
	if (backlog >= l->o->ring_sz / 2) {
		if (l->interval < l->o->interval * SLOWEST && now - l->last_rate_ns >= CALM_BEFORE_SLOWER_NS)
			change(l, l->interval * 2, now);
	} else if (backlog < l->o->ring_sz / 16 && now - l->last_rate_ns >= CALM_BEFORE_FASTER_NS) {
		change(l, l->interval / 2, now);
	}
}
