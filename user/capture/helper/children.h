/* SPDX-License-Identifier: Apache-2.0 */
/* helper/children: what this program is when it starts itself again as a helper's child. */
#ifndef ALYS_HELPER_CHILDREN_H
#define ALYS_HELPER_CHILDREN_H

/* Runs the child that `word`, its only argument, names; gives its exit status, or -1: word names none. */
int helper_child(const char *word);

#endif
