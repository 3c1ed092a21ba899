/*
 * daemon/keeper: profiles on disk: one a process and interval, and a last one when a process ends; or the
 * recording itself, a .alys file an interval. In: the recording. Out: files of a directory, of which old ones
 * are removed; profiles are there whole or not at all. A disk that is full costs what did not fit, and it is
 * counted.
 */
#ifndef ALYS_DAEMON_KEEPER_H
#define ALYS_DAEMON_KEEPER_H

#include <sys/types.h>

#include "monitor/continuous.h"

struct keeper_options {
	const char *dir;
	bool traces;       /* .alys instead of profiles */
	double every;      /* seconds */
	uint32_t keep;     /* files at most, 0 = any number */
	double keep_age;   /* seconds, 0 = for ever */
	uint64_t keep_size; /* bytes of all of them, 0 = no limit */
};

struct keeper_counts {
	uint64_t written, bytes, failed, removed;
	uint64_t files, stored; /* that are there now, and their bytes: those of earlier daemons, too */
	uint64_t too_short; /* processes with samples that ended so soon that no last profile was asked for */
	char last_error[256]; /* "" = none */
};

struct keeper;

/*
 * Makes the directory when it is not there, and gives it to this user. A descriptor of it: whoever has less
 * rights later may be unable to find the way to it.
 */
int keeper_open_dir(const char *dir, uid_t uid, gid_t gid, struct err *err);
/* Writes to dir_fd, which stays the caller's. */
struct keeper *keeper_new(const struct keeper_options *o, int dir_fd, struct err *err);
void keeper_free(struct keeper *k);
/* The first trace begins. */
int keeper_begin(struct keeper *k, struct continuous *c, struct err *err);
/* The last ones; nothing is recorded from here on. */
void keeper_end(struct keeper *k, struct continuous *c);
/* Asks for the profiles that are due; ms until the next are. */
int keeper_work(struct keeper *k, struct continuous *c);
/* Now, whatever the clock says. */
void keeper_write_all(struct keeper *k, struct continuous *c);
void keeper_on_ending(struct keeper *k, struct continuous *c, const struct continuous_process *p, enum ending why);
const struct keeper_counts *keeper_counts(const struct keeper *k);

#endif
