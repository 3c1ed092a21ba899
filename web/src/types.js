// The type of what a path allocates, where the names near the allocation tell it, in the words of
// `report --by type`: Crystal's `Foo.new`, buffers of `Array(Foo)`, constructors and allocators of C++.
const NEAR = 8;

// "Array(Foo)#push" -> ["Array(Foo)", "push"]; null when it is no qualified name of Crystal's.
function crystalMethod(text) {
  const name = text.replace(/^\*/, "").replace(/@[A-Z][\w:]*(\(.*?\))?(?=[.#])/, "");
  if (!/^[A-Z(]/.test(name)) return null;
  for (let i = 0, depth = 0; i < name.length; i++) {
    const c = name[i];
    if (c === "(" || c === "{") depth++;
    else if (c === ")" || c === "}") depth--;
    else if (!depth && (c === "." || c === "#")) return [name.slice(0, i), name.slice(i + 1)];
    else if (!depth && (c === " " || c === "<")) return null;
  }
  return null;
}

function crystalType(frames) {
  let buffer = false;
  for (const { name } of frames) {
    const found = crystalMethod(name);
    if (!found) return null;
    const [owner, method] = found;
    // Who owns what Pointer(T) allocates is told by the next frame.
    if (owner === "GC" || owner.startsWith("Pointer(")) {
      buffer = true;
      continue;
    }
    const bare = owner === "String" || (!buffer && /^(new|allocate)\b/.test(method));
    return bare ? owner : `${owner} (buffer)`;
  }
  return null;
}

// Optimized code has short names: the file is all that is known of the type.
function crystalFileType({ name, file }) {
  if (!file.endsWith(".cr")) return null;
  const base = file.split("/").pop();
  if (base === "string.cr") return "String";
  return /^(new|allocate)$/.test(name) ? `(new in ${base})` : `(buffer in ${base})`;
}

function cxxType(frames) {
  for (const { name } of frames) {
    const made = /^(.*?([A-Za-z_]\w*)(?:<.*>)?)::\2\(/.exec(name);
    const buffer = /allocator<(.+?)>::allocate\(/.exec(name);
    if (buffer) return `${buffer[1]} (buffer)`;
    if (made) return made[1];
    if (!/^(void )?(std|__gnu_cxx)::/.test(name)) return null;
  }
  return null;
}

function* framesOf({ labels, paths }, path) {
  for (let n = paths.leaf[path], i = 0; n > 0 && i < NEAR; n = paths.parent[n], i++) yield labels[paths.label[n]];
}

// The number of its type for each path, and the types' names.
export function typesOf(data) {
  const names = ["[no type]"];
  const numbers = new Map([[names[0], 0]]);
  const of = data.paths.leaf.map((leaf, path) => {
    const frames = [...framesOf(data, path)];
    const name = (frames.length && (crystalType(frames) ?? cxxType(frames) ?? crystalFileType(frames[0]))) || names[0];
    if (!numbers.has(name)) numbers.set(name, names.push(name) - 1);
    return numbers.get(name);
  });
  return { names, of };
}
