/* daemon/faces: the recording as http and push want to see it: a struct http_source over it. */
#ifndef ALYS_DAEMON_FACES_H
#define ALYS_DAEMON_FACES_H

#include "daemon/keeper.h"
#include "http/source.h"

struct faces {
	struct continuous **recording; /* where it stands now: it is replaced on a reload */
	const struct keeper *const *keeper;
	struct http_count *counts;
	size_t counts_cnt, counts_cap;
};

struct http_source faces_source(struct faces *f);
void faces_free(struct faces *f);

#endif
