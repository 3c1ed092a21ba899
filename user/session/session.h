/*
 * session: opens all rooms and runs the river. One function a verb; each returns the exit status and
 * has said on stderr what there was to say (through err for what went wrong).
 */
#ifndef ALYS_SESSION_H
#define ALYS_SESSION_H

#include "base/err.h"
#include "session/options.h"

enum exit_status {
	EXIT_OK = 0,
	EXIT_ERROR = 1,
	EXIT_USAGE = 2,
	EXIT_NOTHING = 3, /* no such process, no allocator in it, not a trace */
};

int session_record(const struct record_options *o, struct err *err);
int session_convert(const struct convert_options *o, struct err *err);
int session_report(const struct report_request *o, struct err *err);
int session_diff(const struct diff_request *o, struct err *err);
int session_info(const struct info_options *o, struct err *err);
int session_census(const struct census_options *o, struct err *err);
int session_doctor(const struct doctor_options *o, struct err *err);
int session_graph(const struct graph_options *o, struct err *err);
int session_dump(const struct dump_options *o, struct err *err);

#endif
