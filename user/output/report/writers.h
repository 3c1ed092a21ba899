/* SPDX-License-Identifier: Apache-2.0 */
/* report/writers: writes a sheet in each format. Formats for people are in textual.c. Private to this module. */
#ifndef ALYS_REPORT_WRITERS_H
#define ALYS_REPORT_WRITERS_H

#include "report/sheet.h"

#define WRITER_FLUSH_SZ (256 * 1024)

int write_text(const struct sheet *t, struct sink_out *out, struct err *err);
int write_markdown(const struct sheet *t, struct sink_out *out, struct err *err);
/*
 * The first line is the number of lines that follow; cells are separated by tabs, no header. Frames of a stack are
 * separate cells, so that column should come last.
 */
int write_tsv(const struct sheet *t, struct sink_out *out, struct err *err);
/* RFC 4180 with a header; text that a spreadsheet would take for a formula is prefixed with '. */
int write_csv(const struct sheet *t, struct sink_out *out, struct err *err);
/* "NAME: N" lines: the last text, which identifies the row, and the first number. */
int write_tally(const struct sheet *t, struct sink_out *out, struct err *err);
int write_json(const struct sheet *t, struct sink_out *out, struct err *err);

#endif
