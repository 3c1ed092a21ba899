// The type of what a path allocates, where a name near the allocation tells it: Crystal's
// `Foo.new` and methods of `Array(Foo)`, constructors and containers of C++.
const NEAR = 6;
const RULES = [
  [/^\*?([A-Z][\w:]*(?:\(.*\))?)(?:@[\w:]+(?:\(.*\))?)?\.(?:new|allocate|unsafe_build|build)\b/, (m) => m[1]],
  [/^\*?([A-Z][\w:]*(?:\(.*\))?)(?:@[\w:]+(?:\(.*\))?)?#(?:initialize|resize_to_capacity|increase_capacity|realloc|malloc|resize)\b/, (m) => m[1]],
  [/^std::(?:__\w+::)?(?:new_allocator|allocator|__new_allocator)<(.+?)>::allocate/, (m) => m[1]],
  [/^(?:.*::)?([A-Za-z_]\w*)(?:<.*>)?::\1\(/, (m) => m[0].slice(0, m[0].lastIndexOf("::"))],
  [/^(std::(?:__\w+::)?(?:vector|map|unordered_map|deque|list|set|unordered_set|basic_string)<.*?>)::/, (m) => m[1]],
  [/^\*?([A-Z][\w:]*(?:\(.*\))?)#/, (m) => `${m[1]} (in a method)`],
];

function typeOfName(name) {
  for (const [pattern, type] of RULES) {
    const found = pattern.exec(name);
    if (found) return type(found);
  }
  return null;
}

// The number of its type for each path, and the types' names.
export function typesOf({ labels, paths }) {
  const known = labels.map((label) => typeOfName(label.name));
  const names = ["(not known)"];
  const numbers = new Map();
  const of = paths.leaf.map((leaf) => {
    let node = leaf;
    for (let i = 0; i < NEAR && node > 0; i++, node = paths.parent[node]) {
      const name = known[paths.label[node]];
      if (!name) continue;
      if (!numbers.has(name)) numbers.set(name, names.push(name) - 1);
      return numbers.get(name);
    }
    return 0;
  });
  return { names, of };
}
