// SPDX-License-Identifier: Apache-2.0
// Call trees of functions, top-down or inverted; lines of one function are one frame. With recursion merged, a repeated
// function leads back to its first frame.

// (node, function) -> child, as an open-addressing hash table: a Map of that many keys takes seconds.
class Children {
  constructor(size) {
    this.mask = 1;
    while (this.mask < size * 2) this.mask *= 2;
    this.keys = new Float64Array(this.mask).fill(-1);
    this.values = new Int32Array(this.mask);
    this.mask -= 1;
  }

  place(node, fn) {
    const key = node * 0x200000 + fn;
    let at = Math.imul(Math.imul(node, 0x9e3779b1) ^ fn, 0x85ebca6b);
    at = (at ^ (at >>> 15)) & this.mask;
    while (this.keys[at] !== -1 && this.keys[at] !== key) at = (at + 1) & this.mask;
    const known = this.keys[at] === key;
    this.keys[at] = key;
    return { at, known };
  }
}

class Builder {
  constructor(data) {
    this.data = data;
    this.fn = [-1];
    this.parent = [-1];
    this.label = [-1];
    this.grow(1 << 16);
  }

  grow(size) {
    this.children = new Children(size);
    this.room = size;
    for (let n = 1; n < this.fn.length; n++) {
      const { at } = this.children.place(this.parent[n], this.fn[n]);
      this.children.values[at] = n;
    }
  }

  child(node, label) {
    const fn = this.data.labels[label].fn;
    if (this.fn.length >= this.room) this.grow(this.room * 2);
    const { at, known } = this.children.place(node, fn);
    if (known) return this.children.values[at];
    this.fn.push(fn);
    this.parent.push(node);
    this.label.push(label);
    return (this.children.values[at] = this.fn.length - 1);
  }

  // The nearest enclosing frame of the same function, or 0.
  again(node, label) {
    const fn = this.data.labels[label].fn;
    while (node > 0 && this.fn[node] !== fn) node = this.parent[node];
    return node;
  }

  step(node, label, merge) {
    return (merge && this.again(node, label)) || this.child(node, label);
  }
}

function fromRoot(builder, { paths }, merge) {
  const of = new Int32Array(paths.parent.length);
  for (let n = 1; n < of.length; n++) of[n] = builder.step(of[paths.parent[n]], paths.label[n], merge);
  return paths.leaf.map((leaf) => of[leaf]);
}

function fromLeaf(builder, { paths }, merge) {
  return paths.leaf.map((leaf) => {
    let node = 0;
    for (let n = leaf; n > 0; n = paths.parent[n]) node = builder.step(node, paths.label[n], merge);
    return node;
  });
}

// Siblings are ordered by name, so that frames keep their place when values change.
function link(fn, parent, names) {
  const rank = new Int32Array(names.length);
  names.map((_, i) => i).sort((a, b) => (names[a] < names[b] ? -1 : 1)).forEach((f, i) => { rank[f] = i; });
  const nodes = new Int32Array(fn.length - 1).map((_, i) => i + 1).sort((a, b) => rank[fn[b]] - rank[fn[a]]);
  const first = new Int32Array(fn.length);
  const next = new Int32Array(fn.length);
  for (const n of nodes) {
    next[n] = first[parent[n]];
    first[parent[n]] = n;
  }
  return { first, next };
}

export function buildTree(data, { invert, merge }) {
  const builder = new Builder(data);
  const end = (invert ? fromLeaf : fromRoot)(builder, data, merge);
  const fn = Int32Array.from(builder.fn);
  const parent = Int32Array.from(builder.parent);
  const depth = new Uint16Array(fn.length);
  for (let n = 1; n < fn.length; n++) depth[n] = depth[parent[n]] + 1;
  return { fn, parent, depth, label: builder.label, end, ...link(fn, parent, data.functions) };
}

// Totals of the nodes over all paths through them.
export function sumTree(tree, weights) {
  const total = new Float64Array(tree.fn.length);
  for (let p = 0; p < weights.length; p++) total[tree.end[p]] += weights[p];
  for (let n = total.length - 1; n > 0; n--) total[tree.parent[n]] += total[n];
  return total;
}
