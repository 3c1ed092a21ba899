/* helper/child: what this program is when it starts itself again as a helper's child. */
#ifndef ALYS_HELPER_CHILD_H
#define ALYS_HELPER_CHILD_H

/* Runs the child that `word`, its only argument, names; gives its exit status, or -1: word names none. */
int helper_child(const char *word);

#endif
