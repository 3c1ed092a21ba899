/* SPDX-License-Identifier: Apache-2.0 */
/* cli/table_options: see table_options.h. */
#include "cli/table_options.h"

int opt_skip(const struct opt *o, const char *text, void *dest, struct err *err)
{
	(void)o;
	return skip_add(dest, "--skip", text, err);
}

int opt_no_skip(const struct opt *o, const char *text, void *dest, struct err *err)
{
	(void)o, (void)text, (void)err;
	skip_none(dest);
	return 0;
}
