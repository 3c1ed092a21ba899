/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/commands: executes the control socket's commands on a recording, and answers them. */
#ifndef ALYS_DAEMON_COMMANDS_H
#define ALYS_DAEMON_COMMANDS_H

#include "daemon/profile_store.h"
#include "daemon/server.h"
#include "push/push.h"

struct commands {
	struct continuous **recording; /* where the current one is: replaced on reload */
	struct profile_store **store;  /* points to NULL: no profiles are written */
	const char *http_address;      /* NULL: none */
	const struct push *push;       /* NULL: none */
	const char *fence;             /* how this process is kept from changing files */
	bool stop;                     /* set by `ctl stop` */
	uint64_t begun_ns;
	pid_t pid; /* process to which signals are sent */
};

/* Answers the client, at once or when a profile is ready. */
void commands_run(struct commands *c, struct client *from, const struct request *r, uid_t uid, bool full);

/* The client has gone: its pending answers are dropped. */
void commands_client_gone(const struct commands *c, const struct client *gone);

#endif
