/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/profile_store: profiles on disk: one a process and interval, and a last one when a process ends; or the
 * recording itself, a .alys file an interval. In: the recording. Out: files of a directory, of which old ones
 * are removed; profiles are there whole or not at all. A disk that is full costs what did not fit, and it is
 * counted.
 */
#ifndef ALYS_DAEMON_PROFILE_STORE_H
#define ALYS_DAEMON_PROFILE_STORE_H

#include <sys/types.h>

#include "monitor/continuous.h"

struct profile_store_options {
	const char *dir;
	bool traces;        /* .alys instead of profiles */
	double every;       /* seconds */
	uint32_t keep;      /* files at most, 0 = any number */
	double keep_age;    /* seconds, 0 = for ever */
	uint64_t keep_size; /* bytes of all of them, 0 = no limit */
};

struct profile_store_counts {
	uint64_t written, bytes, failed, removed;
	uint64_t files, stored; /* that are there now, and their bytes: those of earlier daemons, too */
	uint64_t too_short;     /* processes with samples that ended so soon that no last profile was asked for */
	char last_error[256];   /* "" = none */
};

struct profile_store;

/*
 * Makes the directory when it is not there, and gives it to this user. A descriptor of it: whoever has less
 * rights later may be unable to find the way to it.
 */
int profile_store_open_dir(const char *dir, uid_t uid, gid_t gid, struct err *err);
/* Writes to dir_fd, which stays the caller's. */
struct profile_store *profile_store_new(const struct profile_store_options *o, int dir_fd, struct err *err);
void profile_store_free(struct profile_store *k);
/* The first trace begins. */
int profile_store_begin(struct profile_store *k, struct continuous *c, struct err *err);
/* The last ones; nothing is recorded from here on. */
void profile_store_end(struct profile_store *k, struct continuous *c);
/* Asks for the profiles that are due; ms until the next are. */
int profile_store_work(struct profile_store *k, struct continuous *c);
/* Now, whatever the clock says. */
void profile_store_write_all(struct profile_store *k, struct continuous *c);
void profile_store_on_ending(struct profile_store *k, struct continuous *c, const struct continuous_process *p, enum ending why);
const struct profile_store_counts *profile_store_counts(const struct profile_store *k);

#endif
