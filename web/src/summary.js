// SPDX-License-Identifier: Apache-2.0
// The summary cards: sums of the interval or the whole recording.
import { measure, variances } from "./measure.js";
import { bytes, count, make, percent, plusMinus, spread } from "./text.js";

const sum = (column) => column.reduce((a, b) => a + b, 0);

export class Summary {
  constructor(box, data, heap, series, about, clock) {
    Object.assign(this, { box, data, heap, series, about, clock });
    this.slice = about.slice_ns / 1e9;
  }

  show(interval) {
    const cards = [this.peak(interval), this.live(interval), this.allocated(interval), this.temporary(interval), this.stacks(interval), this.lost(interval)];
    this.box.replaceChildren(...cards.map(([title, value, more, look]) => {
      const card = make("div", look ?? "tile");
      card.append(make("span", "tile-title", title), make("span", "tile-value", value), make("span", "soft", more));
      return card;
    }));
  }

  // With the variance of the estimate.
  sized(metric, unit, interval) {
    const weights = measure(this.data, this.series, metric, unit, interval);
    return { value: sum(weights), variance: interval ? sum(variances(this.data, weights)) : 0 };
  }

  error(metric, { value, variance } = {}) {
    const text = !this.about.sampled ? "" : variance ? spread(variance, value) : plusMinus(this.about.errors[metric]);
    return text.replace(/^ (.+)$/, "$1, ");
  }

  peak(interval) {
    const { peak } = this.about;
    if (!interval) return ["At peak", bytes(peak.bytes), `${this.error("peak")}${count(peak.blocks)} blocks, at ${this.clock(peak.ns / 1e9)}`];
    const { top, length } = this.heap;
    const fine = this.heap.length / this.series.length > 1 ? this.about.slice_ns / this.about.heap_slice_ns : 1;
    let best = interval.from * fine;
    for (let s = best; s < Math.min(length, (interval.to + 1) * fine); s++) if (top[s] > top[best]) best = s;
    return ["At peak", bytes(top[best]), `at about ${this.clock(best * this.about.heap_slice_ns / 1e9)}`];
  }

  live(interval) {
    const live = this.sized("live", "sz", interval);
    return ["In use at the end", bytes(live.value), `${this.error("live", live)}${count(this.sized("live", "cnt", interval).value)} blocks`];
  }

  length({ from, to }) {
    return Math.min(this.about.length_ns / 1e9, (to + 1) * this.slice) - from * this.slice;
  }

  allocated(interval) {
    const all = this.sized("alloc", "sz", interval);
    const blocks = this.sized("alloc", "cnt", interval).value;
    const rate = blocks / Math.max(1e-9, interval ? this.length(interval) : this.about.length_ns / 1e9);
    return ["Allocated", bytes(all.value), `${this.error("alloc", all)}${count(blocks)} blocks, ${count(rate)} per second`];
  }

  temporary(interval) {
    const { sampled, min_size: least } = this.about;
    if (sampled) return ["Temporary", "–", "not known from samples"];
    const value = this.sized("temporary", "cnt", interval).value;
    return ["Temporary", `${least ? "≤ " : ""}${count(value)}`, `${percent(value, this.sized("alloc", "cnt", interval).value)} of all blocks`];
  }

  // Stacks with allocations or live blocks in the interval.
  stacks(interval) {
    const { data, series } = this;
    if (!interval) return ["Stacks", count(data.paths.count), `${count(data.functions.length)} functions`];
    const [alloc, live] = ["alloc", "live"].map((metric) => measure(data, series, metric, "cnt", interval));
    const { leaf, parent, label } = data.paths;
    const [seen, functions] = [new Set(), new Set()];
    let stacks = 0;
    for (let p = 0; p < leaf.length; p++) {
      if (!alloc[p] && !live[p]) continue;
      stacks++;
      for (let n = leaf[p]; n > 0 && !seen.has(n); n = parent[n]) {
        seen.add(n);
        functions.add(data.labels[label[n]].fn);
      }
    }
    return ["Stacks", count(stacks), `${count(functions.size)} functions`];
  }

  lost(interval) {
    const { lost } = this.about;
    const what = lost ? "events: numbers are incomplete" : "events: nothing is missing";
    return ["Lost", count(lost), interval ? `${what}, in the whole recording` : what, lost ? "tile bad" : "tile"];
  }
}
