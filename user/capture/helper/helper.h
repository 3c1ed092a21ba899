/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper: a confined process of ours (confine.h) that maps one library of a traced program and calls it. This is the
 * parent's side; child.h is the child's. It is given up after two seconds in all.
 */
#ifndef ALYS_HELPER_H
#define ALYS_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct helper { /* initialize with { .go = -1, .out = -1 } */
	pid_t pid;
	int go, out;
	uint64_t until_ns;
};

/* word: which task (CHILD_... of child.h). 0, then helper_end. */
int helper_start(struct helper *h, const char *word, int file_fd, struct err *err);
/* Waits until the library is loaded. 0, or -ELIBACC with the child's message, -EPIPE, -ETIMEDOUT. */
int helper_await(const struct helper *h, struct err *err);
/* Tells the child to go on. */
void helper_go(struct helper *h);
/* Bytes read, 0 at end of file; -errno. */
ssize_t helper_read(const struct helper *h, void *bytes, size_t n, struct err *err);
/* All n bytes, or -errno. */
int helper_read_all(const struct helper *h, void *bytes, size_t n, struct err *err);
void helper_end(struct helper *h);
/* While on, a helper that does not answer at once is given up: the program is shutting down. */
void helper_cancel_waits(bool on);
/* 0, or why this file must not be loaded: a program (elf_is_program), or a file from elsewhere (a container). */
int helper_check(int file_fd, bool program, struct err *err);

#endif
