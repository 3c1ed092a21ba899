/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/recording: runs a recording, from opening to exit status, for any consumer. */
#ifndef ALYS_VERBS_RECORDING_H
#define ALYS_VERBS_RECORDING_H

#include "recorder/live.h"

/* Where the events of a recording go. */
struct recording_end {
	void *ctx;
	/* Called before the first probe is attached: sets h.out, or fails. */
	int (*open)(void *ctx, struct live *l, struct err *err);
	/* Called when symbols and the ledger are complete. */
	int (*complete)(void *ctx, const struct live *l, struct err *err);
	void (*close)(void *ctx); /* always called; may be NULL */
};

/* Exit status. */
int recording_run(const struct record_options *o, const struct recording_end *end, struct err *err);

#endif
