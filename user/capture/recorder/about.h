/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/about: what a recording says about itself, into catalog and trace. */
#ifndef ALYS_RECORDER_ABOUT_H
#define ALYS_RECORDER_ABOUT_H

#include "recorder/live.h"

struct trace_clock about_clock(void);
void about_begin(struct live *l);
/* Again when probes go on: times of events count from the last one. */
void about_start(struct live *l);
/* The rate in force, for profiles of what still goes on; a file has events that tell of it. */
void about_rate(struct live *l);
/* Known when the files are; a library may still come later. */
void about_sampling(struct live *l);
/* What a collector does not tell; also while the recording goes on. */
void about_liveness(struct live *l);
void about_end(struct live *l);

#endif
