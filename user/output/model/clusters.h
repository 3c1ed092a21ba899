/* SPDX-License-Identifier: Apache-2.0 */
/* model/clusters: sums of window samples by the windows' groups: see struct spread. Private to this module. */
#ifndef ALYS_MODEL_CLUSTERS_H
#define ALYS_MODEL_CLUSTERS_H

#include "model/model.h"

/* Of the rows that have any, by snapshot_row.windows; the first one is of none of them. */
struct clusters_rows {
	struct clusters_row *at;
	size_t at_cnt, at_cap;
};

void clusters_add(struct clusters *to, const struct clusters *c);
void clusters_row_add(struct clusters_row *to, const struct clusters_row *row);
/* From sums to deviations; `weights`: the bytes that each group stands for. */
void clusters_to_deviations(struct clusters *c, const double weights[SPREAD_GROUPS]);

/*
 * Standard error, as a share of the estimate, of what is divided by `weight` when that may be off by `unsure`: what the
 * estimate would be at the far end of the interval, for the division makes more of an error the larger it is.
 */
double clusters_unsure(double unsure, double weight);

/* A process' windows. */
struct proc_windows {
	double weights[SPREAD_GROUPS]; /* by time, by group */
	double reported, counted;      /* the same of all groups; by its own count, 0 = known only at the end */
	double unsure;                 /* by how much `reported` may be off */
	double unmet;                  /* error of rows that no window met, as a multiple of their estimate: see window/ratio.h */
};

void proc_windows_add(struct proc_windows *w, const struct event *e);
/*
 * A row of the process that has samples of windows, with all that these stand for. Where windows stand for a part of the process
 * only, the rest may have been like what was seen while probes were in: what the samples do not account for is in its error.
 */
void proc_windows_settle(const struct proc_windows *w, struct snapshot *s, size_t row);
/* A row that has none, with the error of what windows may have missed. 0 or -ENOMEM. */
int proc_windows_widen(const struct proc_windows *w, struct snapshot *s, size_t row);

/*
 * What windows do to the error of the whole heap at any time is taken to be what they do to that of all that was
 * allocated: the design effect (Kish, Survey Sampling, 1965).
 */
void clusters_widen_peak(struct snapshot *s);

/* NULL: none. keep adds one: 0 or -ENOMEM. */
struct clusters_row *clusters_at(const struct clusters_rows *c, const struct snapshot_row *row);
int clusters_keep(struct clusters_rows *c, struct snapshot_row *row);
/* Gives a snapshot its own. 0 or -ENOMEM. */
int clusters_copy(const struct clusters_rows *c, struct snapshot *s);
/* Forgets those of rows that went; n are left. Without memory they stay. */
void clusters_close(struct clusters_rows *c, struct snapshot_row *rows, size_t n);

#endif
