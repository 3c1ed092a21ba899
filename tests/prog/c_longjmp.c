/* libs: -lgc */
/* longjmp out of a finalizer, past the frame of the GC_malloc that ran it: that call never returns. */
#include <gc.h>
#include <setjmp.h>

#include "truth.h"

#define ROUNDS 40000

static jmp_buf out;
static int armed, jumps;

static void leave(void *obj, void *data)
{
	(void)obj, (void)data;
	if (armed && jumps < 8) {
		jumps++;
		longjmp(out, 1);
	}
}

SITE void *site_jumped(size_t n) { return ALLOC((GC_malloc)(n), n); }
SITE void *site_after_jumps(size_t n) { return ALLOC((GC_malloc)(n), n); }

static void *finalized(size_t n)
{
	void *p = site_jumped(n);

	GC_register_finalizer(p, leave, NULL, NULL, NULL);
	return p;
}

int main(void)
{
	volatile int i = 0;
	char line[32];

	GC_INIT();
	truth_ready();
	setjmp(out);
	armed = 1;
	while (i < ROUNDS) {
		i++;
		finalized(100);
	}
	armed = 0;
	for (int k = 0; k < 1000; k++)
		site_after_jumps(56);
	if (!jumps)
		return 7;
	truth_say(line, snprintf(line, sizeof(line), "jumps %d\n", jumps));
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
