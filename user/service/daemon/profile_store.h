/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/profile_store: profiles on disk: one per process and interval, and a last one when a process ends; or the
 * recording itself, one .alys file per interval. In: the recording. Out: files in a directory, from which old ones are
 * removed; files appear complete or not at all. If the disk is full, new profiles are dropped and counted.
 */
#ifndef ALYS_DAEMON_PROFILE_STORE_H
#define ALYS_DAEMON_PROFILE_STORE_H

#include <sys/types.h>

#include "monitor/continuous.h"

struct profile_store_options {
	const char *dir;
	bool traces;        /* .alys instead of profiles */
	double every;       /* seconds */
	uint32_t keep;      /* maximum number of files, 0 = unlimited */
	double keep_age;    /* seconds, 0 = for ever */
	uint64_t keep_size; /* total bytes, 0 = unlimited */
};

struct profile_store_counts {
	uint64_t written, bytes, failed, removed;
	uint64_t files, stored; /* current files and bytes, including those of earlier daemons */
	uint64_t too_short;     /* processes with samples that ended too soon for a last profile */
	char last_error[256];   /* "" = none */
};

struct profile_store;

/*
 * Creates the directory if needed, owned by this user. Returns a descriptor of it: after dropping privileges, its path
 * may be inaccessible.
 */
int profile_store_open_dir(const char *dir, uid_t uid, gid_t gid, struct err *err);
/* Writes to dir_fd, which stays the caller's. */
struct profile_store *profile_store_new(const struct profile_store_options *o, int dir_fd, struct err *err);
void profile_store_free(struct profile_store *k);
/* Starts the first trace. */
int profile_store_begin(struct profile_store *k, struct continuous *c, struct err *err);
/* Writes the last ones; nothing is recorded afterwards. */
void profile_store_end(struct profile_store *k, struct continuous *c);
/* Requests the profiles that are due; ms until the next. */
int profile_store_work(struct profile_store *k, struct continuous *c);
/* Immediately, regardless of the schedule. */
void profile_store_write_all(struct profile_store *k, struct continuous *c);
void profile_store_on_ending(struct profile_store *k, struct continuous *c, const struct continuous_process *p, enum ending why);
const struct profile_store_counts *profile_store_counts(const struct profile_store *k);

#endif
