/* SPDX-License-Identifier: Apache-2.0 */
/* notes/args: sizes and places of a probe's arguments. */
#include "notes/notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "notes/note_place.h"

bool note_number(const char **at, long long *out)
{
	char *end;
	const char *digits = *at + (**at == '-');
	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	/* Constants up to 2^64 - 1 keep their bits. */
	*out = **at == '-' ? strtoll(*at, &end, 0) : (long long)strtoull(*at, &end, 0);
	*at = end;
	return !errno;
}

/* "8@" or "-4@". */
static int read_size(const char **at, struct alys_note_arg *out)
{
	long long size;
	if (!note_number(at, &size) || **at != '@')
		return -EINVAL;
	(*at)++;
	out->is_signed = size < 0;
	out->size = (uint8_t)(size < 0 ? -size : size);
	return size == 1 || size == 2 || size == 4 || size == 8 || size == -1 || size == -2 || size == -4 || size == -8
		       ? 0
		       : -ENOTSUP;
}

static int read_arg(const char *at, const char *end, struct alys_note_arg *out)
{
	int rc = read_size(&at, out) ?: note_place(&at, out);
	return rc ?: at == end ? 0 : -EINVAL;
}

/* The blank behind an argument, or the end. Blanks in brackets belong to it. */
static const char *end_of(const char *at)
{
	for (bool within = false; *at && (within || *at != ' '); at++)
		within = *at == '[' || (within && *at != ']');
	return at;
}

int note_args(const char *text, struct alys_note_arg *out, unsigned int max)
{
	int n = 0;
	memset(out, 0, max * sizeof(*out));
	for (const char *at = text + strspn(text, " "); *at; n++) {
		const char *end = end_of(at);
		struct alys_note_arg a = { 0 };
		int rc = (unsigned int)n < max ? read_arg(at, end, &a) : 0;
		if (rc)
			return rc;
		if ((unsigned int)n < max)
			out[n] = a;
		at = end + strspn(end, " ");
	}
	return n;
}
