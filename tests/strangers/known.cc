/* Like known.c, with C++: all forms of operator new, and containers. */
#include <list>
#include <new>
#include <string>
#include <vector>

#include "stand.h"
#include "truth.h"

static const int KEPT = 512;

struct alignas(128) Wide {
	char bytes[1024];
};

struct Shape {
	char bytes[700];
	virtual ~Shape() {}
};

struct Round : Shape {
	char more[200];
};

SITE void *site_new(size_t n) { return ALLOC(::operator new(n), n); }
SITE char *site_new_array(size_t n) { return (char *)ALLOC(new char[n], n); }
SITE void *site_new_nothrow(size_t n) { return ALLOC(::operator new(n, std::nothrow), n); }
SITE Wide *site_new_aligned() { return (Wide *)ALLOC(new Wide, sizeof(Wide)); }
SITE Shape *site_new_object() { return (Shape *)ALLOC(new Round, sizeof(Round)); }
SITE void *site_kept(size_t n) { return ALLOC(::operator new(n), n); }
SITE void site_delete(void *p) { FREE(::operator delete, p); }
SITE void site_delete_kept(void *p) { FREE(::operator delete, p); }

SITE void site_delete_array(char *p)
{
	truth_free(__func__, p);
	delete[] p;
	NO_TAIL_CALL();
}

SITE void site_delete_aligned(Wide *p)
{
	truth_free(__func__, p);
	delete p;
	NO_TAIL_CALL();
}

SITE void site_delete_object(Shape *p)
{
	truth_free(__func__, p);
	delete p;
	NO_TAIL_CALL();
}

/* Hides from the compiler that the request fails. */
static volatile size_t huge = SIZE_MAX / 4;

SITE void site_new_refused()
{
	try {
		ALLOC(::operator new(huge), huge);
	} catch (const std::bad_alloc &) {
		truth_failed++;
	}
}

SITE void site_vector(size_t n)
{
	{
		std::vector<int> v;

		v.reserve(n);
		truth_alloc(__func__, v.data(), n * sizeof(int));
		truth_free(__func__, v.data());
	}
	NO_TAIL_CALL();
}

SITE void site_string(size_t n)
{
	{
		std::string s(n, 'x');

		truth_alloc(__func__, &s[0], n + 1);
		truth_free(__func__, &s[0]);
	}
	NO_TAIL_CALL();
}

/* An allocator for node-based containers, which counts their allocations for the truth. */
template <class T> struct Telling {
	typedef T value_type;
	Telling() {}
	template <class U> Telling(const Telling<U> &) {}
	T *allocate(size_t n) { return (T *)truth_alloc("site_list", ::operator new(n * sizeof(T)), n * sizeof(T)); }
	void deallocate(T *p, size_t)
	{
		truth_free("site_list", p);
		::operator delete(p);
	}
	bool operator==(const Telling &) const { return true; }
	bool operator!=(const Telling &) const { return false; }
};

SITE void site_list()
{
	{
		std::list<Wide *, Telling<Wide *>> some;

		for (int i = 0; i < 20; i++)
			some.push_back(nullptr);
	}
	NO_TAIL_CALL();
}

static void round_of(int i, bool refuse)
{
	site_delete(site_new(900 + i % 97));
	site_delete_array(site_new_array(950));
	site_delete(site_new_nothrow(777));
	site_delete_aligned(site_new_aligned());
	site_delete_object(site_new_object());
	site_vector(200 + i % 13);
	site_string(800 + i % 17);
	site_list();
	if (refuse && i % 100 == 0)
		site_new_refused();
}

SITE void *site_standing() { return ALLOC(::operator new(STANDING), STANDING); }

STAND(site_standing)

int main(int argc, char **argv)
{
	static void *kept[KEPT];
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	/* mimalloc's operator new aborts instead of throwing. */
	bool refuse = !getenv("KNOWN_NO_REFUSAL");

	truth_ready();
	for (int i = 0; i < rounds; i++) {
		void **slot = &kept[i % KEPT];

		if (*slot)
			site_delete_kept(*slot);
		*slot = site_kept(1000 + i % 300);
		round_of(i, refuse);
	}
	if (argc > 2)
		stand_deep(3);
	return truth_done();
}
/* SPDX-License-Identifier: Apache-2.0 */
