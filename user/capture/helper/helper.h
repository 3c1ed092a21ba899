/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper: a process of ours that maps one library of a traced program, harmless (confine.h), and
 * does with it what we want to know about. Here is the side that starts it and listens; child.h is the
 * side within. Waits for two seconds in all, then it is given up.
 */
#ifndef ALYS_HELPER_H
#define ALYS_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct helper { /* begins as { .go = -1, .out = -1 } */
	pid_t pid;
	int go, out;
	uint64_t until_ns;
};

/* word: which child (CHILD_... of child.h). 0, then helper_end. */
int helper_start(struct helper *h, const char *word, int file_fd, struct err *err);
/* Until the library is there. 0, or -ELIBACC with the words said there, -EPIPE, -ETIMEDOUT. */
int helper_await(const struct helper *h, struct err *err);
/* The sign that it waits for. */
void helper_go(struct helper *h);
/* Bytes read, 0 at the end; -errno. */
ssize_t helper_hear(const struct helper *h, void *bytes, size_t n, struct err *err);
void helper_end(struct helper *h);
/* While on, a helper that does not answer at once is given up, whoever listens to it: all is to end. */
void helper_hurry(bool on);
/* 0, or the reason why this file is not even tried: a program (elf_is_program), or a file of somewhere else (a container). */
int helper_refuses(int file_fd, bool program, struct err *err);

#endif
