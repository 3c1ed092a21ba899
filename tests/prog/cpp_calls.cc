/* Methods, constructors, templates, virtual functions and functions left by exceptions, each counting its own calls. */
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static const int ROUNDS = 300;
static long made, grown, copied, thrown, drawn, ended;

struct Shape {
	virtual void *draw(int n) = 0;
	virtual ~Shape() {}
};

struct Box : Shape {
	std::vector<char> room;
	__attribute__((noipa)) explicit Box(size_t n) : room(n) { made++; }
	/* Two symbols: delete calls one that calls the other. */
	__attribute__((noipa)) ~Box() override { ended++; }
	__attribute__((noipa)) void grow(size_t by)
	{
		grown++;
		room.resize(room.size() + by);
	}
	__attribute__((noipa)) void *draw(int n) override
	{
		drawn++;
		return new char[n];
	}
};

template <typename T> __attribute__((noipa)) std::vector<T> copy(const std::vector<T> &from)
{
	copied++;
	return from;
}

__attribute__((noipa)) void fail(int n)
{
	std::string why(40 + n, 'x');
	thrown++;
	throw std::runtime_error(why);
}

int main()
{
	for (int i = 0; i < ROUNDS; i++) {
		Box box(100);
		box.grow(100);
		delete static_cast<Shape *>(new Box(10));
		Shape *shape = &box;
		delete[] static_cast<char *>(shape->draw(50));
		copy(std::vector<int>(10));
		copy(std::vector<long>(10));
		try {
			fail(i);
		} catch (const std::runtime_error &) {
		}
	}
	printf("{\"calls\":{\"Box::~Box()\":%ld,\"Box::Box(unsigned long)\":%ld,\"Box::grow(unsigned long)\":%ld,\"Box::draw(int)\":%ld,\"copy\":%ld,\"fail(int)\":%ld}}\n",
	       ended, made, grown, drawn, copied, thrown);
}
/* SPDX-License-Identifier: Apache-2.0 */
