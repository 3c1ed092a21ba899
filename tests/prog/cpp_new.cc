/* operator new in all its forms, and containers on top of it. */
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "truth.h"

static const int ROUNDS = 500;

struct alignas(128) Wide {
	char bytes[256];
};

struct Node {
	long key;
	Node *next;
	virtual ~Node() {}
};

SITE void *site_new(size_t n) { return ALLOC(::operator new(n), n); }
SITE void *site_new_array(size_t n) { return ALLOC(new char[n], n); }
SITE void *site_new_nothrow(size_t n) { return ALLOC(::operator new(n, std::nothrow), n); }
SITE Wide *site_new_aligned() { return (Wide *)ALLOC(new Wide, sizeof(Wide)); }
SITE Node *site_new_object() { return (Node *)ALLOC(new Node, sizeof(Node)); }
SITE void site_delete(void *p) { FREE(::operator delete, p); }

SITE void site_delete_array(void *p)
{
	truth_free(__func__, p);
	delete[] (char *)p;
	NO_TAIL_CALL();
}

SITE void site_delete_aligned(Wide *p)
{
	truth_free(__func__, p);
	delete p;
	NO_TAIL_CALL();
}

SITE void site_delete_object(Node *p)
{
	truth_free(__func__, p);
	delete p;
	NO_TAIL_CALL();
}

SITE void site_new_huge()
{
	try {
		ALLOC(::operator new(SIZE_MAX / 4), SIZE_MAX / 4);
	} catch (const std::bad_alloc &) {
		truth_failed++;
	}
}

SITE std::vector<int> *site_vector(size_t n)
{
	std::vector<int> *v = new std::vector<int>(n);

	truth_alloc(__func__, v, sizeof(*v));
	truth_alloc(__func__, v->data(), n * sizeof(int));
	return v;
}

SITE std::string *site_string(size_t n)
{
	std::string *s = new std::string(n, 'x');

	truth_alloc(__func__, s, sizeof(*s));
	truth_alloc(__func__, s->data(), n + 1);
	return s;
}

int main()
{
	truth_ready();
	for (int i = 0; i < ROUNDS; i++) {
		site_delete(site_new(40 + i));
		site_delete_array(site_new_array(300));
		site_delete(site_new_nothrow(77));
		site_delete_aligned(site_new_aligned());
		site_delete_object(site_new_object());
		if (i % 10 == 0) {
			site_new_huge();
			site_new(24);
			site_vector(100 + i);
			site_string(64);
		}
	}
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
