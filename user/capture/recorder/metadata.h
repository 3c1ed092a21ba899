/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/metadata: a recording's metadata, for catalog and consumer. */
#ifndef ALYS_RECORDER_METADATA_H
#define ALYS_RECORDER_METADATA_H

#include "recorder/live.h"

void metadata_begin(struct live *l);
/* Again when probes are resumed: event times count from the last call. */
void metadata_start(struct live *l);
/* Coverage of windows so far; not written to a trace. */
void metadata_windows(struct live *l);
/* The rate in force, for profiles of a running recording; a trace has events for it. */
void metadata_rate(struct live *l);
/* Known once files have been examined; a library may still be loaded later. */
void metadata_sampling(struct live *l);
/* What is unknown about collected heaps; also during the recording. */
void metadata_liveness(struct live *l);
/* What was resident, and mapped, when that was settled last. */
void metadata_memory(struct live *l);
void metadata_end(struct live *l);

#endif
