// SPDX-License-Identifier: Apache-2.0
// Decodes the packed recording to typed arrays. The format is described in user/output/sink/pack.c.
async function inflate(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.utf8 = new TextDecoder();
  }

  number() {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  text() {
    const length = this.number();
    this.at += length;
    return this.utf8.decode(this.bytes.subarray(this.at - length, this.at));
  }

  column(array) {
    for (let i = 0; i < array.length; i++) array[i] = this.number();
    return array;
  }
}

function readLabels(r) {
  const labels = new Array(r.number());
  const functions = { names: [], of: new Map() };
  for (let i = 0; i < labels.length; i++) {
    const [name, file, line, module, inlined] = [r.text(), r.text(), r.number(), r.text(), r.number() === 1];
    let fn = functions.of.get(name);
    if (fn === undefined) {
      fn = functions.names.length;
      functions.of.set(name, fn);
      functions.names.push(name);
    }
    labels[i] = { name, file, line, module, inlined, fn };
  }
  return { labels, functions: functions.names };
}

// The prefix tree: node 0 is the root; callers precede callees.
function readPaths(r) {
  const count = r.number();
  const leaf = new Int32Array(count);
  const type = new Int32Array(count);
  const parent = [-1];
  const label = [-1];
  const stack = [0];
  for (let p = 0; p < count; p++) {
    type[p] = r.number();
    stack.length = r.number() + 1;
    for (let added = r.number(); added > 0; added--) {
      parent.push(stack[stack.length - 1]);
      label.push(r.number());
      stack.push(parent.length - 1);
    }
    leaf[p] = stack[stack.length - 1];
  }
  return { count, leaf, type, parent: Int32Array.from(parent), label: Int32Array.from(label) };
}

// Cells of path p are first[p] .. first[p + 1] - 1; each covers width[p] slices from slice[i] on.
function readCells(r, paths) {
  const first = new Int32Array(paths + 1);
  for (let p = 0; p < paths; p++) first[p + 1] = first[p] + r.number();
  const width = Uint16Array.from({ length: paths }, () => 2 ** r.number());
  const slice = new Uint16Array(first[paths]);
  for (let p = 0; p < paths; p++) {
    let at = 0;
    for (let i = first[p]; i < first[p + 1]; i++) slice[i] = (at += r.number()) * width[p];
  }
  const values = {};
  const known = Array.from({ length: r.number() }, () => [r.text(), r.number()]);
  for (const [name, bytes] of known) {
    values[name] = { cnt: r.column(new Float64Array(slice.length)) };
    if (bytes) values[name].sz = r.column(new Float64Array(slice.length));
  }
  return { first, width, slice, values };
}

export async function decode(base64) {
  const r = new Reader(await inflate(base64));
  const { labels, functions } = readLabels(r);
  const types = Array.from({ length: r.number() }, () => r.text());
  const paths = readPaths(r);
  const sums = {};
  const names = Array.from({ length: r.number() }, () => r.text());
  for (const name of names) sums[name] = r.column(new Float64Array(paths.count));
  const cells = readCells(r, paths.count);
  const length = r.number();
  const [alloc, freed, highest] = [0, 0, 0].map(() => r.column(new Float64Array(length)));
  return { labels, functions, types, paths, sums, cells, heap: { alloc, freed, highest } };
}
