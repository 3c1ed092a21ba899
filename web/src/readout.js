// SPDX-License-Identifier: Apache-2.0
// Values of the time line: beside the pointer those of the slice under it, in the line below those of the chosen interval,
// or how to choose one.
import { bytes, make, seconds } from "./text.js";

export class Readout {
  constructor(timeline, line, tip) {
    Object.assign(this, { timeline, line, tip });
    const { box } = timeline;
    box.addEventListener("pointermove", (e) => this.point(e));
    box.addEventListener("pointerleave", () => this.leave());
    for (const way of ["focus", "blur"]) box.addEventListener(way, () => this.show());
    this.show();
  }

  // Values of the slices [from, to] as drawn.
  values(from, to) {
    const { series } = this.timeline;
    let [alloc, freed, top] = [0, 0, 0];
    for (let s = from; s <= to; s++) {
      alloc += series.alloc[s];
      freed += series.freed[s];
      top = Math.max(top, series.top[s]);
    }
    return [`in use ${bytes(series.live[to])}, at most ${bytes(top)}`, `allocated ${bytes(alloc)}, freed ${bytes(freed)}`];
  }

  point(event) {
    const { timeline } = this;
    const left = timeline.box.getBoundingClientRect().left;
    const time = timeline.x.invert(event.clientX - left);
    if (time < 0 || time > timeline.end) return this.leave();
    const slice = Math.min(timeline.series.length - 1, Math.floor(time / timeline.drawn));
    const begin = slice * timeline.drawn;
    const end = Math.min(timeline.end, begin + timeline.drawn);
    timeline.rule.attr("x1", event.clientX - left).attr("x2", event.clientX - left).attr("visibility", "visible");
    this.tip.replaceChildren(...[`${timeline.clock(begin)}, for ${seconds(end - begin)}`, ...this.values(slice, slice)].map((text) => make("div", "", text)));
    this.tip.hidden = false;
    const { width, height } = this.tip.getBoundingClientRect();
    const right = event.clientX + 14;
    this.tip.style.left = `${Math.max(4, right + width < innerWidth - 8 ? right : event.clientX - width - 14)}px`;
    this.tip.style.top = `${Math.max(4, event.clientY - height / 2)}px`;
  }

  leave() {
    this.timeline.rule?.attr("visibility", "hidden");
    this.tip.hidden = true;
  }

  show() {
    const { interval, box, series, slice, drawn, end } = this.timeline;
    const keys = box.matches(":focus-visible") ? "Keys: ← and → move the interval, with Shift its end; Esc goes back to the whole recording." : "";
    if (!interval) {
      this.line.textContent = keys || "Drag across the time line to choose an interval: all numbers on this page follow it.";
      return;
    }
    const last = Math.max(1, Math.min(series.length, Math.ceil(Math.min(end, (interval.to + 1) * slice) / drawn - 1e-6))) - 1;
    const first = Math.min(last, Math.round(interval.from * slice / drawn));
    this.line.textContent = `At the end of the interval ${this.values(first, last).join("; ")}. ${keys}`;
  }
}
