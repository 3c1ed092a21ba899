/* SPDX-License-Identifier: Apache-2.0 */
/* naming/progress: a progress bar on stderr for work that takes over a second, on terminals only. */
#ifndef ALYS_NAMING_PROGRESS_H
#define ALYS_NAMING_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;
	uint64_t begun_ns, shown_ns;
	bool on_screen;
};

struct progress progress_begin(const char *what);
/* Usable as a callback (ctx is the struct progress). */
void progress_step(void *ctx, uint64_t done, uint64_t total);
void progress_end(struct progress *p);

#endif
