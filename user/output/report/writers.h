/* SPDX-License-Identifier: Apache-2.0 */
/* report/writers: a sheet in each format. Those for people are in textual.c. Not for other modules. */
#ifndef ALYS_REPORT_WRITERS_H
#define ALYS_REPORT_WRITERS_H

#include "report/sheet.h"

#define WRITER_FLUSH_SZ (256 * 1024)

int write_text(const struct sheet *t, struct sink_out *out, struct err *err);
int write_markdown(const struct sheet *t, struct sink_out *out, struct err *err);
/*
 * The first line is the number of lines that follow, then cells between tabs, without a header: the
 * frames of a stack are cells of their own, hence its column best comes last.
 */
int write_tsv(const struct sheet *t, struct sink_out *out, struct err *err);
/* RFC 4180 with a header; a text that a spreadsheet would run as a formula gets a ' in front. */
int write_csv(const struct sheet *t, struct sink_out *out, struct err *err);
/* "NAME: N" a line: the last text, which rows are of, and the first number. */
int write_tally(const struct sheet *t, struct sink_out *out, struct err *err);
int write_json(const struct sheet *t, struct sink_out *out, struct err *err);

#endif
