/* SPDX-License-Identifier: Apache-2.0 */
/* format/pattern: see pattern.h. */
#include "format/pattern.h"

#include <errno.h>

int pattern_compile(regex_t *to, const char *option, const char *text, struct err *err)
{
	char why[160];
	int rc = regcomp(to, text, REG_EXTENDED | REG_NOSUB);
	if (!rc)
		return 0;
	regerror(rc, to, why, sizeof(why));
	return err_set(err, EINVAL, "%s \"%.200s\" is no regular expression: %s", option, text, why);
}

static bool fits(const regex_t *r, const char *text)
{
	return text && *text && !regexec(r, text, 0, NULL, 0);
}

bool pattern_matches(const regex_t *r, const struct sink_frame *f, const char *name)
{
	return !regexec(r, name, 0, NULL, 0) || fits(r, f->symbol ? f->symbol->file : NULL) ||
	       fits(r, f->module ? f->module->path : NULL);
}
