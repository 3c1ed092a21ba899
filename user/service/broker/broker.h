/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker: splits a program that has opened everything in two: the broker keeps the rights and does
 * with them what access/rights names, as far as grants.h goes; the other process has no rights at all from here on,
 * and asks. Neither outlives the other for long.
 *
 *   broker: rights, opens and attaches, parses nothing <-- socketpair --> collector: all bytes of others, no rights
 */
#ifndef ALYS_BROKER_H
#define ALYS_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct broker {
	int sock;  /* to the other one */
	pid_t pid; /* of the collector; in the collector 0 */
	uid_t uid; /* the collector's */
	gid_t gid;
	int writable;                            /* the one directory that the collector may change files in, -1 = none */
	void *window;                            /* through which memory of others comes */
	int fenced;                              /* in the collector: what fence_raise said of it */
	bool (*hands_on)(void *ctx, int signal); /* asked by the broker; NULL: all are */
	int (*tells)(void *ctx, int what); /* in the broker: the collector's broker_tell, whatever it says; what that gives */
	uint32_t target; /* the one process that it is about: nothing else is asked for than what its heap wants; 0 = any */
	bool stops;      /* ...which may be stopped */
	bool writes;     /* the broker makes files where its user may */
	void *ctx;
};

/* Whom the collector becomes: the user alys, else nobody, when this may; else itself, without its rights. */
void broker_choose_user(struct broker *b);
/*
 * Forks. In the collector (pid 0) rights have been given up, and access/rights asks the broker. There may be
 * no other threads.
 */
int broker_split(struct broker *b, struct err *err);
/* Where that is not possible: this process keeps the broker's rights, and no others, for good. 0 or -errno. */
int broker_stay_alone(const struct broker *b, struct err *err);
/* In the collector: 0 or more, or -errno. broker: a struct broker. */
int broker_tell(void *broker, int what);
/* In the broker: serves until the collector has ended; its status as of waitpid. Signals of `signals` are handed on. */
int broker_serve(struct broker *b, int signals);

#endif
