/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with different frames, for test_unwind_oracle.c: compiled there, never run. */
#include <alloca.h>
#include <string.h>

int leaf(int a)
{
	return a * 3;
}

int leaf_with_locals(const int *from, int n)
{
	volatile int kept[24];
	for (int i = 0; i < 24; i++)
		kept[i] = from[i % n];
	return kept[n % 24];
}

int calls(int (*f)(int), int a)
{
	return f(a) + f(a + 1);
}

/* The early return saves nothing: the frame is built in the middle (shrink wrapping). */
int calls_sometimes(int (*f)(int), int a)
{
	if (a < 7)
		return a;
	int r = f(a);
	return f(r) + r;
}

int many_kept(int (*f)(int), const int *v)
{
	int a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], g = v[5], h = v[6], i = v[7], j = v[8], k = v[9];
	for (int n = f(a); n; n = f(n))
		a += b ^= c += d ^= e += g ^= h += i ^= j += k ^= n;
	return a + b + c + d + e + g + h + i + j + k;
}

/* Too large for one instruction to make. */
int large(int (*f)(char *))
{
	char room[100000];
	return f(room) + room[5];
}

int middling(int (*f)(char *))
{
	char room[3000];
	return f(room) + room[5];
}

int dynamic(int (*f)(char *), size_t n)
{
	char *room = alloca(n);
	memset(room, 1, n);
	return f(room) + room[n / 2];
}

double floating(double (*f)(double), const double *v)
{
	double a = v[0], b = v[1], c = v[2], d = v[3];
	for (double n = f(a); n > 0; n = f(n))
		a += b *= c += d *= n;
	return a + b + c + d;
}

int tail(int (*f)(int), int a)
{
	return f(a * 5);
}
