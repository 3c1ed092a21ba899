/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with an allocator of its own: blocks of a pool, cut from chunks that come from malloc. With "beside", the chunks
 * are part of the truth, too. pool_zalloc ends in pool_alloc, and pool_alloc leaves by longjmp when asked for too much.
 */
#include <setjmp.h>

#include "truth.h"

#define CHUNK 65536
#define HEADER 16 /* so that no block has its chunk's address */
#define CLASSES 64 /* of 16 bytes */
#define MOST (CLASSES * 16)

struct pool {
	char *chunk;
	size_t used;
	void *spare[CLASSES];
	jmp_buf *failed;
};

static int beside;

__attribute__((noipa)) static void *site_chunk(void)
{
	void *p = malloc(CHUNK);
	return beside ? truth_alloc(__func__, p, CHUNK) : p;
}

__attribute__((noipa)) static void *cut(struct pool *o, size_t n)
{
	if (!o->chunk || o->used + n > CHUNK) {
		o->chunk = site_chunk();
		o->used = HEADER;
	}
	o->used += n;
	return o->chunk + o->used - n;
}

#define EXPORTED __attribute__((noipa))

EXPORTED void *pool_alloc(struct pool *o, size_t n)
{
	size_t of = (n + 15) / 16;
	if (of >= CLASSES)
		longjmp(*o->failed, 1);
	void **p = o->spare[of];
	if (p)
		o->spare[of] = *p;
	else
		p = cut(o, of * 16);
	NO_TAIL_CALL();
	return p;
}

EXPORTED void *pool_zalloc(struct pool *o, size_t n, size_t size)
{
	size_t all;
	if (__builtin_mul_overflow(n, size, &all))
		return NULL;
	return memset(pool_alloc(o, all), 0, all);
}

/* Blocks of a class are in a list; their sizes are the caller's business. */
EXPORTED void pool_free(size_t n, struct pool *o, void *p)
{
	if (p) {
		*(void **)p = o->spare[(n + 15) / 16];
		o->spare[(n + 15) / 16] = p;
	}
	NO_TAIL_CALL();
}

EXPORTED void *pool_grow(struct pool *o, void *old, size_t n)
{
	void *p = pool_alloc(o, n);
	memcpy(p, old, n / 2);
	pool_free(n / 2, o, old);
	NO_TAIL_CALL();
	return p;
}

EXPORTED void *pool_regrow(struct pool *o, void *old, size_t n, size_t size)
{
	void *p = pool_grow(o, old, n * size);
	NO_TAIL_CALL();
	return p;
}

EXPORTED int pool_take(struct pool *o, size_t n, void **out)
{
	*out = pool_alloc(o, n);
	NO_TAIL_CALL();
	return 0;
}

SITE void *site_alloc(struct pool *o, size_t n) { return ALLOC(pool_alloc(o, n), n); }
SITE void *site_zalloc(struct pool *o, size_t n, size_t size) { return ALLOC(pool_zalloc(o, n, size), n * size); }
SITE void *site_grow(struct pool *o, void *old, size_t n) { return REALLOC(pool_grow(o, old, n), old, n); }
SITE void *site_regrow(struct pool *o, void *old, size_t n, size_t size) { return REALLOC(pool_regrow(o, old, n, size), old, n * size); }
SITE void site_free(struct pool *o, void *p, size_t n) { truth_free(__func__, p); pool_free(n, o, p); NO_TAIL_CALL(); }
SITE void *site_malloc(size_t n) { return ALLOC(malloc(n), n); }
SITE void site_plain_free(void *p) { FREE(free, p); }

SITE void *site_take(struct pool *o, size_t n)
{
	void *p;
	pool_take(o, n, &p);
	return truth_alloc(__func__, p, n);
}

static void fail(struct pool *o)
{
	jmp_buf here;
	o->failed = &here;
	if (!setjmp(here))
		pool_alloc(o, pool_zalloc(o, SIZE_MAX / 2, 4) ? 16 : MOST);
}

int main(int argc, char **argv)
{
	static struct pool pool;
	beside = argc > 1 && !strcmp(argv[1], "beside");
	truth_ready();
	for (size_t i = 0; i < 2000; i++) {
		void *a = site_alloc(&pool, 40 + i % 100), *b = site_zalloc(&pool, 3, 8), *c = site_alloc(&pool, 64);
		void *d = site_malloc(100), *e = site_take(&pool, 56);

		c = i % 4 ? site_grow(&pool, c, 128) : site_regrow(&pool, c, 8, 16);
		if (i % 2)
			site_free(&pool, a, 40 + i % 100);
		if (i % 3)
			site_free(&pool, b, 24);
		if (i % 5)
			site_free(&pool, c, 128);
		if (i % 7)
			site_plain_free(d);
		if (i % 11)
			site_free(&pool, e, 56);
		if (i % 100 == 0)
			fail(&pool);
	}
	return truth_done();
}
