/* SPDX-License-Identifier: Apache-2.0 */
/* helper/children: dispatches to the child's task when this program was started as a helper child. */
#ifndef ALYS_HELPER_CHILDREN_H
#define ALYS_HELPER_CHILDREN_H

/* Runs the task that `word`, its only argument, names; returns its exit status, or -1 if there is no such task. */
int helper_child(const char *word);

#endif
