// What a channel keeps: publications, the newest first, or the entries of a map. A page at a time, from the server.

import { button, h, timeTag } from "./ui.js";
import { deletePublication, removeEntry, removeHistory } from "./actions.js";
import { addressOf } from "./address.js";
import { bytes, clockTime, oneLine, pretty, whole } from "./format.js";
import { jsonCell, problemBox } from "./parts.js";
import { call } from "./server.js";
import { pagedList, table } from "./table.js";

const pageSize = 25;

/** What a publication is beside its data, for whoever opens it. */
export function wholePublication(one) {
  const { data, ...rest } = one;
  return `${pretty(data)}\n\n${pretty(rest)}`;
}

export function dataLine(one) {
  if (one.tags?.deleted) return "deleted";
  if (one.tags?.edits) return `edits ${one.tags.edits}: ${oneLine(one.data)}`;
  if (one.data === undefined && one.data_bytes > 0) return `${bytes(one.data_bytes)}, too much for a sample`;
  if (one.tags?.deletes) return `deletes ${one.tags.deletes}`;
  return oneLine(one.data);
}

export function userLink(user) {
  return user ? h("a", { class: "cell-link", href: addressOf(["users", user]) }, user)
    : h("span", { class: "soft" }, "–");
}

function timeCell(time) {
  const isToday = new Date(time).toDateString() === new Date().toDateString();
  return isToday ? timeTag(time, clockTime(time)) : timeTag(time);
}

function historyColumns(context, channel, reload) {
  return [
    { id: "offset", name: "Offset", isHead: true, get: (one) => one.offset, show: (one) => whole(one.offset) },
    { id: "time", name: "When", className: "fit", get: (one) => one.time, stamp: (one) => one.time,
      build: (one) => timeCell(one.time) },
    { id: "user", name: "Who", wide: true, get: (one) => one.info?.user, stamp: (one) => one.info?.user ?? "",
      build: (one) => userLink(one.info?.user) },
    { id: "data", name: "Data", className: "block", get: (one) => one.offset,
      stamp: (one) => JSON.stringify([one.data, one.tags]),
      build: (one) => jsonCell(dataLine(one), () => wholePublication(one)) },
    { id: "actions", name: "", className: "actions", get: () => "", stamp: (one) => String(Boolean(one.tags?.deleted)),
      build: (one) => [
        h("a", { class: "button button-quiet", href: addressOf(["why"], { channel, offset: one.offset }),
          "aria-label": `Why did publication ${one.offset} not reach somebody?` }, "Why?"),
        one.tags?.deleted || !context.may("delete") ? null : button("Delete…", async () => {
          if (await deletePublication(context, channel, one.offset)) reload();
        }, { kind: "quiet", "aria-label": `Delete publication ${one.offset}` })] },
  ];
}

export function mountHistory(root, context, channel) {
  const problem = problemBox(() => pages.reload());
  const rows = table({
    caption: "History", isTitled: true, note: "the newest first",
    columns: historyColumns(context, channel, () => pages.reload()),
    key: (one) => one.offset, pageSize, isStacked: true,
    empty: () => [h("p", { class: "strong" }, "This channel keeps nothing now."),
      h("p", { class: "soft" }, "How much is kept is history_size and history_ttl of its namespace: see ",
        h("a", { href: addressOf(["settings"], { find: "history" }) }, "the configuration"), ".")],
  });
  const pages = pagedList({
    label: "Pages of the history",
    async load(since) {
      const answer = await call("history", { channel, limit: pageSize, reverse: true, ...(since ? { since } : {}) });
      const items = answer.publications ?? [];
      const last = items.at(-1);
      const hasMore = items.length === pageSize && last.offset > 1;
      return { items, next: hasMore ? { offset: last.offset, epoch: answer.epoch } : undefined };
    },
    show(items) {
      problem.show(null);
      rows.show(items);
    },
    onError: (error) => problem.show(error),
  });
  root.append(
    h("div", { class: "row row-between" },
      h("p", { class: "small soft" }, "The page stays as it was read, however busy the channel is."),
      h("div", { class: "row" }, button("Read the newest", () => pages.restart(), { class: "button button-small" }),
        context.may("history_remove") && button("Remove it all…", async () => {
          if (await removeHistory(context, channel)) pages.restart();
        }, { class: "button button-small button-danger" }))),
    problem.element, rows.element, pages.element);
  pages.restart();
  return { unmount() {} };
}

export function mountEntries(root, context, channel) {
  const problem = problemBox(() => pages.reload());
  const rows = table({
    caption: "Entries of the map", isTitled: true, key: (one) => one.key, pageSize, isStacked: true, columns: [
      { id: "key", name: "Key", isHead: true, mono: true, get: (one) => one.key },
      { id: "time", name: "Written", className: "fit", get: (one) => one.time, stamp: (one) => one.time,
        build: (one) => timeCell(one.time) },
      { id: "score", name: "Score", number: true, wide: true, get: (one) => one.score,
        show: (one) => whole(one.score) },
      { id: "data", name: "Data", className: "block", get: (one) => one.key, stamp: (one) => JSON.stringify(one.data),
        build: (one) => jsonCell(oneLine(one.data), () => wholePublication(one)) },
      { id: "actions", name: "", className: "actions", get: () => "",
        build: (one) => context.may("map_remove") && button("Remove…", async () => {
        if (await removeEntry(context, channel, one.key)) pages.reload();
      }, { kind: "quiet", "aria-label": `Remove the entry ${one.key}` }) },
    ],
    empty: () => h("p", { class: "strong" }, "This map has no entries now."),
  });
  const pages = pagedList({
    label: "Pages of the map",
    async load(cursor) {
      const answer = await call("map_list", { channel, limit: pageSize, ...(cursor ? { cursor } : {}) });
      return { items: answer.entries ?? [], next: answer.cursor || undefined };
    },
    show(items) {
      problem.show(null);
      rows.show(items);
    },
    onError: (error) => problem.show(error),
  });
  root.append(
    h("div", { class: "row row-between" },
      h("p", { class: "small soft" }, "In the map's own order. The page stays as it was read."),
      button("Read again", () => pages.restart(), { class: "button button-small" })),
    problem.element, rows.element, pages.element);
  pages.restart();
  return { unmount() {} };
}
