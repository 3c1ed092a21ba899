/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/log: one line on stderr, prefixed with the program's name. Levels: quiet shows errors only,
 * -v adds info, -vv debug. errno survives a call.
 */
#ifndef ALYS_BASE_LOG_H
#define ALYS_BASE_LOG_H

#include <stdint.h>

enum log_level { LOG_QUIET = -1, LOG_NORMAL = 0, LOG_VERBOSE = 1, LOG_DEBUG = 2 };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * From now on, lines for which stderr has no room (its reader stalls) are dropped and counted; the next line reports
 * how many. For processes that must not block.
 */
void log_never_wait(void);
/* Lines dropped so far. */
uint64_t log_lost(void);

#define log_err(...) log_at(LOG_QUIET, __VA_ARGS__)
#define log_warn(...) log_at(LOG_NORMAL, __VA_ARGS__)
#define log_info(...) log_at(LOG_VERBOSE, __VA_ARGS__)
#define log_dbg(...) log_at(LOG_DEBUG, __VA_ARGS__)

#endif
