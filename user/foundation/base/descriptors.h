/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/descriptors: the limit on open files of this process. Each traced process, file and link needs a descriptor, and
 * the usual limit of 1024 exists for programs that use select(2).
 */
#ifndef ALYS_BASE_DESCRIPTORS_H
#define ALYS_BASE_DESCRIPTORS_H

/*
 * Opens descriptors 0 to 2 if we were started with any of them closed, so that no file of ours gets that number and
 * receives output meant for the user.
 */
void descriptors_fill(void);
/* Raises the soft limit as far as allowed, up to 65536. */
void descriptors_raise(void);
/* In a forked child before exec: restores the original limit. */
void descriptors_give_back(void);

#endif
