/* SPDX-License-Identifier: Apache-2.0 */
/* base/exit_status: exit statuses, the same for every verb. */
#ifndef ALYS_BASE_EXIT_STATUS_H
#define ALYS_BASE_EXIT_STATUS_H

enum exit_status {
	EXIT_OK = 0,
	EXIT_ERROR = 1,
	EXIT_USAGE = 2,
	EXIT_NOTHING = 3, /* no such process, no allocator in it, not a trace */
};

#endif
