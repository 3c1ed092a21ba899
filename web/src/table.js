// SPDX-License-Identifier: Apache-2.0
// A sortable table. Columns: { title, help, of(row), text(row), cell(row) -> element, number }. Ties in the sort column are
// ordered by the column `then`; rows with 0 in the sort column are folded.
import { count, make } from "./text.js";

const PAGE = 100;

export class Table {
  constructor(box, columns, { sort, then, open, caption, remark, all }) {
    Object.assign(this, { box, columns, then, open, caption, remark, all });
    this.by = sort;
    this.down = true;
    this.shown = PAGE;
    this.unfolded = false;
  }

  setRows(rows) {
    this.rows = rows;
    this.render();
  }

  sorted() {
    const { of, number } = this.columns[this.by];
    const sign = this.down ? -1 : 1;
    const compare = number ? (a, b) => of(a) - of(b) : (a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0);
    const tie = this.columns[this.then]?.of ?? (() => 0);
    return this.rows.slice().sort((a, b) => sign * compare(a, b) || tie(b) - tie(a) || a.key - b.key);
  }

  // The rows that are not folded: those with a value in the sort column, or all if a search selected them.
  wanted(rows) {
    const { of, number } = this.columns[this.by];
    if (!number || this.unfolded || this.all?.()) return rows;
    const some = rows.filter((row) => of(row) !== 0);
    return some.length ? some : rows;
  }

  sortBy(i) {
    this.down = this.by === i ? !this.down : !!this.columns[i].number;
    this.by = i;
    this.render();
    this.box.querySelectorAll("th button")[i].focus();
  }

  head() {
    const row = make("tr");
    this.columns.forEach((column, i) => {
      const cell = make("th", column.number ? "number" : "");
      cell.scope = "col";
      cell.setAttribute("aria-sort", i !== this.by ? "none" : this.down ? "descending" : "ascending");
      const button = make("button", "", column.title);
      button.type = "button";
      if (column.help) button.title = column.help;
      button.addEventListener("click", () => this.sortBy(i));
      cell.append(button);
      row.append(cell);
    });
    const head = make("thead");
    head.append(row);
    return head;
  }

  line(row) {
    const line = make("tr");
    this.columns.forEach((column) => {
      const cell = make("td", column.number ? "number" : "name");
      cell.dataset.label = column.title;
      if (column.cell) cell.append(column.cell(row));
      else cell.textContent = column.text(row);
      line.append(cell);
    });
    return line;
  }

  // Opens or closes the details under a row.
  toggle(row, line, button) {
    const opened = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!opened));
    if (opened) return line.nextSibling.remove();
    const more = make("tr", "more");
    const cell = make("td");
    cell.colSpan = this.columns.length;
    cell.append(this.open(row));
    more.append(cell);
    line.after(more);
  }

  render() {
    const sorted = this.sorted();
    const rows = this.wanted(sorted);
    const table = make("table");
    table.append(make("caption", "sr", this.caption), this.head());
    const body = make("tbody");
    for (const row of rows.slice(0, this.shown)) {
      const line = this.line(row);
      const button = line.querySelector("button.opens");
      if (button) button.addEventListener("click", () => this.toggle(row, line, button));
      body.append(line);
    }
    table.append(body);
    const scroll = make("div", "scroll");
    scroll.append(table);
    this.box.replaceChildren(scroll);
    const remark = this.remark?.();
    if (remark) this.box.prepend(make("p", "remark", remark));
    if (!rows.length && remark) scroll.remove();
    else if (!rows.length) this.box.append(make("p", "empty", "Nothing to show here for this choice."));
    if (rows.length > this.shown)
      this.box.append(this.button("more-rows", `Show more (${this.shown} of ${count(rows.length)})`, () => { this.shown *= 4; }));
    else if (rows.length < sorted.length)
      this.box.append(this.button("unfold", `Show ${count(sorted.length - rows.length)} more with 0 in “${this.columns[this.by].title}”`, () => { this.unfolded = true; }));
  }

  button(className, text, act) {
    const button = make("button", className, text);
    button.type = "button";
    button.addEventListener("click", () => {
      act();
      this.render();
    });
    return button;
  }
}
