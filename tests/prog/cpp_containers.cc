/* Containers of a C++ program, the same in every run: for comparison with other tools. */
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Item {
	int id;
	std::string name;
};

static std::vector<std::unique_ptr<Item>> kept;

int main()
{
	std::map<int, std::string> names;
	for (int i = 0; i < 300; i++)
		names[i * 7 % 300] = std::string(static_cast<size_t>(i % 60), 'x');
	std::vector<Item> items;
	for (const auto &[id, name] : names)
		items.push_back({ id, name });
	for (int i = 0; i < 50; i++)
		kept.push_back(std::make_unique<Item>(items[static_cast<size_t>(i) * 5]));
	for (int i = 0; i < 20; i++)
		new Item{ i, std::string(100, 'l') }; /* leaked */
	names.clear();
	std::printf("%zu\n", items.size());
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
