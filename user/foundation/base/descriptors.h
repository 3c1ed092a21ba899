/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/descriptors: how many files this process may have open: each traced process, file and link is one, and the
 * usual limit of 1024 is for programs that use select(2).
 */
#ifndef ALYS_BASE_DESCRIPTORS_H
#define ALYS_BASE_DESCRIPTORS_H

/*
 * Whoever starts us with standard input, output or error closed gets errors of reading and writing, and not a file of ours
 * there, into which words for somebody else would go.
 */
void descriptors_fill(void);
/* As many as it may raise its limit to by itself, up to 65536. */
void descriptors_raise(void);
/* In a forked child that becomes another program: the limit is what it was before. */
void descriptors_give_back(void);

#endif
