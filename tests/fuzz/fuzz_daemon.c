/* SPDX-License-Identifier: Apache-2.0 */
/* An arbitrary message to the daemon's control socket; an accepted one must survive being written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request r, again;
	struct buf bytes = { 0 };
	struct err err;
	const char *text;
	if (!request_read(&r, data, size, &err)) {
		request_write(&r, &bytes);
		if (request_read(&again, bytes.data, bytes.len, &err) || again.verb != r.verb || again.pid != r.pid ||
		    again.interval != r.interval || strcmp(again.format, r.format))
			abort();
	}
	if (answer_read(data, size, &text, &err) >= 0 && strlen(text) >= size)
		abort();
	buf_free(&bytes);
	return 0;
}
