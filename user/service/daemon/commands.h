/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/commands: what the control socket's verbs do to a recording, and what they answer. */
#ifndef ALYS_DAEMON_COMMANDS_H
#define ALYS_DAEMON_COMMANDS_H

#include "daemon/profile_store.h"
#include "daemon/server.h"

struct commands {
	struct continuous **recording; /* where it stands now: it is replaced on a reload */
	struct profile_store **store;  /* NULL there: no profiles are written */
	const char *http_address;      /* NULL: none */
	const char *fence;             /* what keeps this process from changing files */
	bool stop;                     /* was asked for */
	uint64_t begun_ns;
	pid_t pid; /* that signals are for */
};

/* Answers the client, at once or when a profile is ready. */
void commands_run(struct commands *c, struct client *from, const struct request *r, uid_t uid, bool full);

/* Whatever it waits for, nobody will read. */
void commands_leave(const struct commands *c, const struct client *gone);

#endif
