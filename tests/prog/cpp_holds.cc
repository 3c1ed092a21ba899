/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -g -pthread */
/*
 * A malloc heap whose every edge is known, for tests of the object graph: `cpp_holds [BLOCKS] [busy]`. Prints "NAME ADDRESS" lines,
 * then "ready"; then "alive" for each line on stdin, until it ends. The address of `lost` is printed with all bits inverted. With
 * "busy" a thread spins that has the address of `kept` in a register only.
 *
 *   registry (global) -> Owner (8: box, 16: inside array + 24, 24: large) ; Owner -> std::map's node -> Leaf
 *   large (mmapped) at 65536 -> found; own (thread-local, main thread) -> mine; a thread's stack -> held, its own -> theirs
 *   lost: nothing leads to it; BLOCKS small ones, of which each leads to the next
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <pthread.h>
#include <unistd.h>

namespace zoo {

struct Animal {
	virtual ~Animal() {}
	long legs = 4;
};

struct Leaf : Animal {
	char rest[40] = {};
};

struct Owner {
	virtual ~Owner() {}
	Animal *box = nullptr;
	char *array = nullptr;
	char *large = nullptr;
	std::map<int, Leaf *> by_number;
};

Owner *registry;
void **chain;

}

using namespace zoo;

static thread_local void *own;
static void *const volatile none = nullptr;

static void say(const char *name, const volatile void *p)
{
	printf("%s %p\n", name, (const void *)p);
}

/* Not inlined, so that its stack frame can be overwritten after it has returned. */
static void __attribute__((noinline)) make(int blocks)
{
	registry = new Owner;
	registry->box = new Animal;
	registry->array = (char *)malloc(200) + 24;
	registry->large = (char *)calloc(1, 1 << 20);
	void *found = malloc(72);
	memcpy(registry->large + 65536, &found, sizeof(found));
	registry->by_number[7] = new Leaf;
	own = malloc(88);
	void *lost = malloc(104);
	memset(lost, 0, 104);
	say("owner", registry);
	say("box", registry->box);
	say("array", registry->array - 24);
	say("large", registry->large);
	say("found", found);
	say("leaf", registry->by_number[7]);
	say("mine", own);
	say("lost", (void *)((uintptr_t)lost ^ UINT64_MAX));
	for (int i = 0; i < blocks; i++) {
		void **next = (void **)calloc(1, 40);
		next[2] = chain;
		chain = next;
	}
	say("first", chain);
}

static void __attribute__((noinline)) wipe(void)
{
	char stack[16384];
	memset(stack, 0, sizeof(stack));
	asm volatile("" : : "r"(stack) : "memory");
}

static pthread_barrier_t begun;

static void *thread(void *)
{
	void *volatile held = malloc(120);
	own = malloc(136);
	wipe();
	say("held", held);
	say("theirs", own);
	pthread_barrier_wait(&begun);
	pause();
	return held;
}

/* Inverted, and not where wipe() has its own registers. */
static uintptr_t __attribute__((noinline)) make_kept(void)
{
	void *volatile places[128] = {};
	places[64] = malloc(152);
	say("kept", places[64]);
	return ~(uintptr_t)places[64];
}

static void *spin(void *)
{
	register uintptr_t kept asm("r13") = make_kept();
	pthread_barrier_wait(&begun);
	wipe();
	asm volatile("not %0" : "+r"(kept));
	for (;;)
		asm volatile("" : "+r"(kept));
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t t;
	setvbuf(stdout, NULL, _IONBF, 0);
	make(argc > 1 ? atoi(argv[1]) : 0);
	wipe();
	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&t, NULL, thread, NULL);
	pthread_barrier_wait(&begun);
	if (argc > 2) {
		pthread_create(&t, NULL, spin, NULL);
		pthread_barrier_wait(&begun);
	}
	wipe();
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		puts("alive");
	return none != nullptr;
}
