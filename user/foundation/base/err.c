/* SPDX-License-Identifier: Apache-2.0 */
/* base/err: see err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
	if (!err)
		return -code;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	err->code = code;
	return -code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	if (!err)
		return -1;
	char old[sizeof(err->text)];
	memcpy(old, err->text, sizeof(old));
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	int left = (int)sizeof(err->text) - n - (int)sizeof(": ");
	if (n >= 0 && left > 0)
		snprintf(err->text + n, (size_t)left + sizeof(": "), ": %.*s", left, old);
	return -err->code;
}
