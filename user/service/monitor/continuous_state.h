/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/continuous_state: the state that monitor/continuous, monitor/upkeep and monitor/answers share; private to this folder. */
#ifndef ALYS_MONITOR_CONTINUOUS_STATE_H
#define ALYS_MONITOR_CONTINUOUS_STATE_H

#include "monitor/footprint.h"
#include "monitor/heaps.h"
#include "monitor/profile_requests.h"
#include "monitor/continuous_shapes.h"
#include "monitor/traces.h"

#define NOTE_NS 5000000000ull /* between points of the history of live bytes */

struct continuous {
	const struct continuous_options *o;
	struct continuous_ops ops;
	struct live live;
	struct record_options record;
	struct consumer out;
	struct heaps heaps;
	struct naming *naming;
	struct profiles *profiles;
	struct traces *traces;
	struct limits limits;
	struct select off; /* selects nobody */
	bool on;
	uint64_t begun_ns, on_since_ns, on_ns; /* on_ns: total time on, without the current period */
	uint64_t ended[ENDING_CNT];
	uint64_t *begun; /* start time of each of record.pids, 0 = there was no such process */
	uint64_t looked_ns, noted_ns, idle_ns, settled_ns, compacted_ns, dead, idle;
	uint64_t looked_events, looked_memory;
	struct footprint memory;
	double cpu_s, overhead, samples; /* as last measured; overhead and samples in percent of all CPUs */
	uint64_t hits, recorded;
};

/* What is told of one heap. */
void continuous_describe(const struct continuous *c, const struct heap_of *o, struct continuous_process *out);

#endif
