/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/err: one failure, reported once. Lower modules fill a struct err and return its negative code; they neither
 * print nor exit. Callers may add context in front (err_wrap). The verb prints it.
 */
#ifndef ALYS_BASE_ERR_H
#define ALYS_BASE_ERR_H

struct err {
	int code; /* errno-like, positive; 0 = none */
	char text[640];
};

/* Both return -code, so that `return err_set(...)` reads well. err may be NULL. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
