// SPDX-License-Identifier: Apache-2.0
// Weights of paths by metric, in bytes or blocks, over the whole recording or an interval of slices [from, to] (inclusive).
import { growthGained, growthSteadiness } from "rules.mjs";

export const METRICS = [
  { id: "live", title: "In use", help: "Not freed by the end of the interval" },
  { id: "alloc", title: "Allocated", help: "Asked for during the interval, freed or not" },
  { id: "peak", title: "At peak", help: "In use when the whole heap was at its largest" },
  { id: "temporary", title: "Temporary", help: "Freed before the next allocation of the same thread" },
  { id: "kept", title: "Never freed", help: "Allocated during the interval and alive at the end of the recording" },
];

const EXACT = { live: ["liveCnt", "liveSz"], alloc: ["allocCnt", "allocSz"], peak: ["peakCnt", "peakSz"] };

// The share of a cell of path p that lies in the slices [from, to]. Cells of small paths are several slices wide; their
// contents are assumed to be spread evenly.
function within(cells, p, i, from, to, length) {
  const begin = cells.slice[i];
  const end = Math.min(length, begin + cells.width[p]);
  return Math.max(0, Math.min(to + 1, end) - Math.max(from, begin)) / (end - begin);
}

function sumCells({ cells, paths }, signed, from, to, unit, length, out = new Float64Array(paths.count)) {
  for (const [value, sign] of signed) {
    const column = cells.values[value][unit];
    for (let p = 0; p < paths.count; p++) {
      let sum = 0;
      for (let i = cells.first[p]; i < cells.first[p + 1] && cells.slice[i] <= to; i++)
        sum += within(cells, p, i, from, to, length) * column[i];
      out[p] += sign * sum;
    }
  }
  // Estimates are rounded separately, so differences can be slightly negative.
  for (let p = 0; p < out.length; p++) if (out[p] < 0) out[p] = 0;
  return out;
}

// Without what was in use at the start of the recording.
const LIVE = [["alloc", 1], ["freed", -1]];

export function measure(data, series, metric, unit, interval) {
  const { from, to } = interval ?? { from: 0, to: series.length - 1 };
  if (!interval && EXACT[metric]) return data.sums[EXACT[metric][unit === "sz" ? 1 : 0]];
  const carried = () => data.sums[unit === "sz" ? "carriedSz" : "carriedCnt"].slice();
  switch (metric) {
    case "live": return sumCells(data, LIVE, 0, to, unit, series.length, carried());
    case "peak": return sumCells(data, LIVE, 0, highestEnd(series, from, to), unit, series.length, carried());
    default: return sumCells(data, [[metric, 1]], from, to, unit, series.length);
  }
}

// Sum of lifetimes in microseconds of blocks allocated in the interval, until freed or the end of the recording.
export function lives(data, series, interval) {
  return interval ? sumCells(data, [["life", 1]], interval.from, interval.to, "cnt", series.length) : data.sums.lifeUs;
}

// Variances of estimated bytes by path, proportional to the bytes: samples of one path have similar weights.
export function variances({ sums }, weights) {
  return weights.map((w, p) => w * sums.varPerByte[p]);
}

// The slice at whose end most was in use.
function highestEnd(series, from, to) {
  let best = from;
  for (let s = from; s <= to; s++) if (series.live[s] > series.live[best]) best = s;
  return best;
}

// The whole heap over time. Its slices are at least as fine as those of paths.
export function heapSeries({ heap, sums }) {
  const pad = (values) => (values.length ? values : new Float64Array(1));
  const [alloc, freed, highest] = [heap.alloc, heap.freed, heap.highest].map(pad);
  const [live, top] = [new Float64Array(alloc.length), new Float64Array(alloc.length)];
  for (let s = 0, now = sums.carriedSz.reduce((a, b) => a + b, 0); s < alloc.length; s++) {
    const before = now;
    live[s] = now = Math.max(0, now + alloc[s] - freed[s]);
    top[s] = Math.max(highest[s], before, now);
  }
  return { length: alloc.length, alloc, freed, live, top };
}

// What was in use at the end of each slice of paths.
export function pathSlices(heap, ratio) {
  const length = Math.ceil(heap.length / ratio);
  const live = Float64Array.from({ length }, (_, s) => heap.live[Math.min(heap.length, (s + 1) * ratio) - 1]);
  return { length, live };
}

// Bytes of one path in use at the end of each slice.
export function pathSeries({ cells, sums }, path, length) {
  const change = new Float64Array(length);
  for (let i = cells.first[path]; i < cells.first[path + 1]; i++) {
    const end = Math.min(length, cells.slice[i] + cells.width[path]);
    const each = (cells.values.alloc.sz[i] - cells.values.freed.sz[i]) / (end - cells.slice[i]);
    for (let s = cells.slice[i]; s < end; s++) change[s] += each;
  }
  let now = sums.carriedSz[path];
  return change.map((by) => Math.max(0, now += by));
}

// Peak bytes in use of one path in the interval, as far as the ends of slices show it.
export function pathPeak({ cells, sums }, path, from, to, length) {
  let now = sums.carriedSz[path];
  let most = now;
  for (let i = cells.first[path]; i < cells.first[path + 1] && cells.slice[i] <= to; i++) {
    const begin = cells.slice[i];
    const end = Math.min(length, begin + cells.width[path]);
    const by = cells.values.alloc.sz[i] - cells.values.freed.sz[i];
    const level = (x) => now + by * (x - begin) / (end - begin);
    most = Math.max(end <= from ? 0 : begin < from ? level(from) : most, level(Math.min(end, to + 1)));
    now += by;
  }
  return Math.max(0, most);
}

// Median age, in slices, of the bytes that were never freed.
export function medianAge({ cells }, path, from, to, last) {
  const kept = cells.values.kept.sz;
  const some = [];
  for (let i = cells.first[path]; i < cells.first[path + 1]; i++)
    if (within(cells, path, i, from, to, last + 1) > 0 && kept[i] > 0) some.push(i);
  let half = some.reduce((sum, i) => sum + kept[i], 0) / 2;
  const middle = some.find((i) => (half -= kept[i]) <= 0);
  if (middle === undefined) return 0;
  return last - Math.min(last, cells.slice[middle] + (cells.width[path] - 1) / 2);
}

// The share of allocated bytes in paths with wide cells, and the largest width.
export function coarseness({ cells, sums }) {
  let [coarse, all, widest] = [0, 0, 1];
  cells.width.forEach((width, p) => {
    all += sums.allocSz[p];
    if (width > 1) coarse += sums.allocSz[p];
    widest = Math.max(widest, width);
  });
  return { part: coarse / all || 0, widest };
}

// Growth of a path's bytes in use, by the rule of `report --show leaked` (user/output/model/rules.h). For the whole
// recording, the numbers computed by that code.
export function growth(data, path, interval, length, moments) {
  const { gainedSz, steadyPpm, gainedError } = data.sums;
  if (!interval) return { gained: gainedSz[path], steady: steadyPpm[path] / 1e6, gainedVar: gainedError[path] ** 2 };
  const { from, to } = interval;
  const live = pathSeries(data, path, length);
  const n = Math.min(moments, to - from + 1);
  const at = Array.from({ length: n }, (_, i) => live[from + Math.ceil((i + 1) * (to - from + 1) / n) - 1]);
  const gainedVar = turnover(data, path, at, { from, to, length }) * data.sums.varPerByte[path];
  return { gained: growthGained(at, n), gainedVar, steady: growthSteadiness(at, n) };
}

// Upper bound of the bytes in use at one end of the interval but not at the other.
function turnover({ cells }, path, at, { from, to, length }) {
  const { values: { alloc: came, freed: went }, first } = cells;
  if (at.length < 2) return at[0];
  const begin = from + Math.ceil((to - from + 1) / at.length);
  let moved = 0;
  for (let i = first[path]; i < first[path + 1] && cells.slice[i] <= to; i++)
    moved += within(cells, path, i, begin, to, length) * (came.sz[i] + went.sz[i]);
  return Math.min(moved, at[0] + at[at.length - 1]);
}
