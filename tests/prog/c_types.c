/* libs: -lgc */
/*
 * Objects as in programs of Crystal 1.16 and later: each begins with its type id, and the type ids are
 * constants in the symbol table. Keeps 40 Foo, each with a Shop::Bar(Int32), collects, prints
 * "ready", and waits.
 */
#include <gc.h>
#include <stdio.h>

#define CONSTANT(name, number)                                                                         \
	__asm__(".pushsection .rodata\n.balign 4\n.globl \"" name ":type_id\"\n.type \"" name ":type_id\", @object\n" \
		".size \"" name ":type_id\", 4\n\"" name ":type_id\": .long " #number "\n.popsection\n")

CONSTANT("Foo", 90);
CONSTANT("Shop::Bar(Int32)", 91);

#define KEPT 40

struct object {
	int type;
	long number;
	struct object *other;
};

static struct object *volatile kept[KEPT];

static struct object *make(int type, struct object *other)
{
	struct object *o = GC_malloc(sizeof(*o));
	*o = (struct object){ type, 1, other };
	return o;
}

int main(void)
{
	GC_INIT();
	for (int i = 0; i < KEPT; i++)
		kept[i] = make(90, make(91, NULL));
	GC_gcollect();
	puts("ready");
	fflush(stdout);
	return getchar() == 'x';
}
/* SPDX-License-Identifier: Apache-2.0 */
