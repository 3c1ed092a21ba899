// SPDX-License-Identifier: Apache-2.0
// Which functions of equal name are one. The compiler's own names are whole: a function has its class in its name.
// What it inlined has a plain one ("new", "initialize"), which is any class's, and plain names of C can be of several
// files: those are told apart by where they stand.
const PLAIN = /^[^#.(:]+$/;

function keyOf({ name, file, line, inlined }) {
  if (!file || !PLAIN.test(name)) return name;
  return inlined ? `${name}\0${file}\0${line}` : `${name}\0${file}`;
}

// By label its function; of each function its name's number and where it is, "" where the name says enough.
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
