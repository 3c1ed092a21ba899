/*
 * recorder/roster: which processes a live recording takes in, and when. In: what the kernel tells of
 * processes that begin, change their program, map code and end. Out: processes added to the recording
 * and looked at again, so that their files are attached. Reads /proc only of processes that changed.
 *
 * A process is looked at when it has been quiet for a moment: while a program starts it maps many files,
 * and one that ends before that has cost nothing. Its events do not wait: see roster_take.
 */
#ifndef ALYS_RECORDER_ROSTER_H
#define ALYS_RECORDER_ROSTER_H

#include "recorder/live.h"
#include "target/select.h"

struct roster;

struct roster_counts {
	uint64_t looked;  /* processes that were looked at */
	uint64_t unseen;  /* processes whose events came, but that had ended before they could be looked at */
	uint64_t refused; /* times that one was not taken in for want of memory */
	uint64_t late;    /* forked children that got links of their own, which takes a moment */
	uint64_t rescans; /* times that all of /proc was read, because the kernel's news did not all fit */
};

/* select NULL: no other processes than those that the recording adds itself. Borrows both. */
struct roster *roster_new(struct live *l, const struct select *select, struct err *err);
void roster_free(struct roster *r);
/* Readable when there are news; -1: this kernel tells none, and roster_work looks for itself. */
int roster_fd(const struct roster *r);
/*
 * A shared link's probe is in every process that maps the file, and kills one that runs under a translator. Says so
 * when there is one; where one begins later, links are shared no more.
 */
bool roster_may_share(struct roster *r);
/* Takes in every wanted process that is there. */
int roster_scan(struct roster *r, struct err *err);
/* Takes in what the kernel has told up to now, and looks at nothing. */
void roster_hear(struct roster *r);
/* Looks at what is due; how many ms until it wants to be called again at most, -1 = only when there are news. */
int roster_work(struct roster *r);
/* A process is traced in spite of what select says, or not any more (then also its children). */
void roster_pin(struct roster *r, uint32_t tgid);
void roster_ban(struct roster *r, uint32_t tgid);
bool roster_is_banned(const struct roster *r, uint32_t tgid);
/* The recording itself: its processes and helpers. */
bool roster_is_own(uint32_t tgid);

/* Notes from the ring, of any process. */
void roster_on_fork(struct roster *r, uint32_t parent, uint32_t child, uint64_t time_ns);
void roster_on_exec(struct roster *r, uint32_t tgid);
void roster_on_exit(struct roster *r, uint32_t tgid);
/* Events come of a process that is not in the recording: takes it in when it is wanted. 0: it is not. */
struct proc_id roster_take(struct roster *r, uint32_t tgid);
struct roster_counts roster_counts(const struct roster *r);

#endif
