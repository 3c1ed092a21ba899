// SPDX-License-Identifier: Apache-2.0
// Distinguishes functions of the same name. Symbol names are qualified with the class. Names of inlined functions are not
// ("new", "initialize"), and static C functions of several files can share a name: these are identified by file and line.
const PLAIN = /^[^#.(:]+$/;

function keyOf({ name, file, line, inlined }) {
  if (!file || !PLAIN.test(name)) return name;
  return inlined ? `${name}\0${file}\0${line}` : `${name}\0${file}`;
}

// Returns the function of each label, and of each function its name's index and place, "" if the name is unambiguous.
export function identifyFunctions({ labels, functions }) {
  const known = new Map();
  const [fn, place, lines] = [[], [], []];
  const of = labels.map((label) => {
    const key = keyOf(label);
    let n = known.get(key);
    if (n === undefined) {
      known.set(key, n = fn.length);
      fn.push(label.fn);
      place.push(label.file);
      lines.push(label.line);
    }
    if (lines[n] !== label.line) lines[n] = 0;
    return n;
  });
  const sharing = new Uint32Array(functions.length);
  for (const f of fn) sharing[f]++;
  return { of, fn, place: place.map((file, n) => (sharing[fn[n]] < 2 || !file ? "" : lines[n] ? `${file}:${lines[n]}` : file)) };
}
