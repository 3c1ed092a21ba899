/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker: splits a program that has opened everything into two processes: the broker keeps its privileges and performs
 * the operations of access/rights, within the limits of grants.h; the other process drops all privileges and asks.
 * Neither outlives the other for long. A recording with privileges is the broker of the processes that read heaps for it.
 *
 *   broker: privileges, opens and attaches, parses nothing <-- socketpair --> collector: parses all input, no privileges
 */
#ifndef ALYS_BROKER_H
#define ALYS_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct broker {
	int sock;  /* to the other process */
	pid_t pid; /* of the collector; 0 in the collector */
	uid_t uid; /* the collector's */
	gid_t gid;
	int writable; /* the only directory in which the collector may change files, -1 = none */
	void *window; /* shared memory for data read from other processes */
	int fenced;   /* in the collector: the result of fence_raise */
	bool (*forwards_signal)(void *ctx, int signal); /* called by the broker; NULL: all signals are forwarded */
	int (*tells)(void *ctx, int what); /* in the broker: handles broker_notify (untrusted); its result is returned */
	uint32_t target;                   /* the only process that may be asked about, for its heap; 0 = any */
	bool stops;                        /* ...which may be stopped */
	bool pages;                        /* pages or mappings are recorded: which pages are resident may be asked */
	bool writes;                       /* the broker creates files with its user's rights */
	bool records;                      /* the broker is a recording: keeps its privileges, may have threads */
	void *ctx;
};

/*
 * Chooses the collector's user: alys, else nobody, if this process may and such a user exists; else its own, without
 * privileges.
 */
void broker_choose_user(struct broker *b);
/*
 * Forks. In the collector (pid 0) privileges have been dropped, and access/rights asks the broker. There must be no
 * other threads.
 */
int broker_split(struct broker *b, struct err *err);
/* If splitting is impossible: this process keeps the broker's privileges only, irrevocably. 0 or -errno. */
int broker_stay_alone(const struct broker *b, struct err *err);
/* In the collector: 0 or more, or -errno. broker: a struct broker. */
int broker_notify(void *broker, int what);
/* In the broker: serves until the collector exits; returns its status as of waitpid. Forwards `signals`. */
int broker_serve(struct broker *b, int signals);
/* In a recording: serves until fd is readable. 0, -EPIPE if the collector has exited, or -ETIMEDOUT. */
int broker_serve_until(struct broker *b, int fd, int timeout_ms);
/* Waits for the collector's exit. Its status as of waitpid, or -1 if there is none. */
int broker_end(struct broker *b);

#endif
