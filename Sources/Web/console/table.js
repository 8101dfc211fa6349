// Tables that are pages: never more than a page of rows is on the screen. Cells are changed where they are, so that the
// focus and a selection stay while numbers change.

import { announce, button, count, fill, h, keyedList, set, uniqueId } from "./ui.js";

/** Next and previous, with where one is between them. */
export function pager({ onPrevious, onNext, label }) {
  const place = h("span", { class: "small soft", role: "status" });
  const previous = button("Previous", onPrevious, { class: "button button-small" });
  const next = button("Next", onNext, { class: "button button-small" });
  const element = h("nav", { class: "pager", "aria-label": label, hidden: true }, previous, place, next);
  return {
    element,
    show({ text, hasPrevious, hasNext }) {
      if (place.textContent !== text) place.textContent = text;
      // A disabled button would lose the focus of whoever has just used it.
      previous.setAttribute("aria-disabled", String(!hasPrevious));
      next.setAttribute("aria-disabled", String(!hasNext));
      element.hidden = !hasPrevious && !hasNext;
    },
  };
}

function compare(a, b) {
  if (typeof a === "number" || typeof b === "number") return (a ?? -Infinity) - (b ?? -Infinity);
  return String(a ?? "").localeCompare(String(b ?? ""), undefined, { numeric: true });
}

function makeCell(column) {
  const tag = column.isHead ? "th" : "td";
  const classes = [column.number ? "number" : "", column.wide ? "wide" : "", column.mono ? "mono" : "",
    column.className ?? ""].filter(Boolean).join(" ");
  const cell = h(tag, { class: classes || undefined, scope: column.isHead ? "row" : undefined });
  // In rows of several lines there is no head above a number.
  if (column.number && column.name) {
    cell.classList.add("labelled");
    cell.dataset.label = column.name;
  }
  if (column.href) {
    cell.link = h("a", { class: "cell-link" });
    cell.append(cell.link);
  }
  if (column.part) cell.classList.add("has-bar");
  return cell;
}

function makeRow(columns) {
  const row = h("tr", {});
  row.parts = columns.map(makeCell);
  row.append(...row.parts);
  return row;
}

function updateCell(cell, column, item) {
  if (column.part) cell.style.setProperty("--part", String(Math.min(1, Math.max(0, column.part(item) || 0))));
  if (column.build) {
    // What is built anew loses the focus: only where it would look different.
    const stamp = column.stamp ? column.stamp(item) : "";
    if (cell.stamp === stamp) return;
    cell.stamp = stamp;
    return fill(cell, column.build(item));
  }
  const text = column.show ? column.show(item) : String(column.get(item) ?? "");
  const place = cell.link ?? cell;
  if (place.textContent !== text) place.textContent = text;
  if (column.title) cell.title = column.title(item);
  if (!cell.link) return;
  const address = column.href(item);
  if (cell.link.getAttribute("href") !== address) cell.link.setAttribute("href", address);
}

function headOf(column, onSort) {
  const classes = [column.number ? "number" : "", column.wide ? "wide" : ""].filter(Boolean).join(" ") || undefined;
  if (!column.name) return h("td", { class: classes });
  if (column.sort === false || !onSort) return h("th", { scope: "col", class: classes }, column.name);
  return h("th", { scope: "col", class: classes }, h("button", {
    type: "button", class: "sort", title: column.help, on: { click: () => onSort(column) },
  }, column.name));
}

/** The name of a table; where a heading above says it already, it is said to whoever listens and not shown. */
function captionOf(caption, note, isTitled) {
  const name = h("span", { class: isTitled ? "visually-hidden" : "strong" }, `${caption}${note ? ": " : ""}`);
  return h("caption", { id: uniqueId("table"), class: isTitled && !note ? "visually-hidden" : undefined }, name, note);
}

/**
 * A table of `columns`: `{ id, name, get(item), show?, href?, part?, build?, stamp?, number?, wide?, mono?, isHead? }`.
 * `wide` ones are left out on narrow screens, `part` draws a bar. With `sort` people sort by any column; `mark(item)`
 * gives a class for the row. With `isTitled` a heading says the caption already; with `isStacked` a row is several
 * lines on narrow screens. `show(items)` shows the page on which one is.
 */
export function table(options) {
  return new Table(options);
}

class Table {
  #options;
  #items = [];
  #page = 0;
  #order;
  #heads;
  #list;
  #scroller;
  #nothing = h("div", { class: "nothing", hidden: true });
  #pages;

  constructor(options) {
    const { caption, columns, key, note = "", isTitled = false, isStacked = false, sort = null, mark = null } = options;
    this.#options = { pageSize: 20, empty: null, ...options };
    this.#order = sort;
    this.#heads = columns.map((column) => headOf(column, sort ? (one) => this.#sortBy(one) : null));
    const title = captionOf(caption, note, isTitled);
    const body = h("tbody", {});
    this.#scroller = h("div", { class: "scroller", role: "region", "aria-labelledby": title.id, tabindex: "0" },
      h("table", { class: isStacked ? "table stacked" : "table" }, title,
        h("thead", {}, h("tr", {}, this.#heads)), body));
    this.#pages = pager({
      label: `Pages of ${caption}`, onPrevious: () => this.#turn(-1), onNext: () => this.#turn(1),
    });
    this.element = h("div", { class: "table-box" }, this.#scroller, this.#nothing, this.#pages.element);
    this.#list = keyedList(body, { key, make: () => makeRow(columns), update: (row, item) => {
      for (const [index, column] of columns.entries()) updateCell(row.parts[index], column, item);
      if (mark) row.className = mark(item) ?? "";
    } });
  }

  show(items) {
    this.#items = items;
    this.#draw();
  }

  /** From the first page on, at the next `show`. */
  first() {
    this.#page = 0;
  }

  get #lastPage() {
    return Math.max(0, Math.ceil(this.#items.length / this.#options.pageSize) - 1);
  }

  #sortBy(column) {
    const isSame = this.#order.id === column.id;
    this.#order = { id: column.id, down: isSame ? !this.#order.down : Boolean(column.number) };
    this.#page = 0;
    this.#draw();
    announce(`Sorted by ${column.name}, ${this.#order.down ? "descending" : "ascending"}.`);
  }

  #turn(by) {
    const wanted = Math.min(this.#lastPage, Math.max(0, this.#page + by));
    if (wanted === this.#page) return;
    this.#page = wanted;
    this.#draw();
  }

  #sorted() {
    const { columns, key } = this.#options;
    const column = this.#order ? columns.find(({ id }) => id === this.#order.id) : null;
    if (!column) return this.#items;
    const direction = this.#order.down ? -1 : 1;
    return [...this.#items].sort((a, b) => (
      direction * compare(column.get(a), column.get(b)) || compare(key(a), key(b))));
  }

  #draw() {
    const { pageSize, columns } = this.#options;
    this.#page = Math.min(this.#page, this.#lastPage);
    const start = this.#page * pageSize;
    this.#list.show(this.#sorted().slice(start, start + pageSize));
    for (const [index, column] of columns.entries()) {
      const isSorted = this.#order?.id === column.id;
      set(this.#heads[index], { "aria-sort": isSorted ? (this.#order.down ? "descending" : "ascending") : null });
    }
    this.#drawNothing();
    const end = Math.min(this.#items.length, start + pageSize);
    this.#pages.show({
      text: `${(start + 1).toLocaleString()} to ${end.toLocaleString()} of ${this.#items.length.toLocaleString()}`,
      hasPrevious: this.#page > 0, hasNext: this.#page < this.#lastPage,
    });
  }

  #drawNothing() {
    const isEmpty = this.#items.length === 0;
    if (this.#nothing.hidden !== isEmpty) return;
    const { empty } = this.#options;
    this.#nothing.hidden = !isEmpty || !empty;
    this.#scroller.hidden = isEmpty && Boolean(empty);
    if (isEmpty && empty) fill(this.#nothing, empty());
  }
}

/**
 * Pages that the server makes: `load(cursor)` gives `{ items, next }`, where `next` is the cursor of the page behind or
 * undefined. The cursors of the pages before are kept, so that one can go back.
 */
export function pagedList({ label, load, show, onError }) {
  let cursors = [undefined];
  let next;
  let turn = 0;
  const pages = pager({
    label,
    onPrevious: () => {
      if (cursors.length < 2) return;
      cursors.pop();
      reload();
    },
    onNext: () => {
      if (next === undefined) return;
      cursors.push(next);
      reload();
    },
  });
  async function reload() {
    turn += 1;
    const mine = turn;
    try {
      const answer = await load(cursors.at(-1));
      if (mine !== turn) return;
      next = answer.next;
      show(answer.items, answer);
      pages.show({
        text: `page ${cursors.length}, ${count(answer.items.length, "row")}`,
        hasPrevious: cursors.length > 1, hasNext: next !== undefined,
      });
    } catch (error) {
      if (mine === turn && error?.name !== "AbortError") onError(error);
    }
  }
  return {
    element: pages.element,
    reload,
    restart() {
      cursors = [undefined];
      return reload();
    },
    get isFirst() {
      return cursors.length === 1;
    },
  };
}
