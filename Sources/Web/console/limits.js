// Limits that were hit while the page was open, with what each means and where it is set.

import { h, timeTag } from "./ui.js";
import { addressOf } from "./address.js";
import { byUnit, clockTime, number } from "./format.js";
import { live } from "./live.js";
import { meaningOf } from "./limit-names.js";
import { heading } from "./parts.js";
import { spark } from "./plot.js";
import { table } from "./table.js";

function columns() {
  const lines = new Map();
  return {
    lines,
    list: [
      { id: "name", name: "Limit", isHead: true, className: "block", get: (one) => one.name, stamp: (one) => one.name,
        build: (one) => {
        const { text, setting } = meaningOf(one.name);
        return [h("span", { class: "strong" }, one.name),
          text ? h("span", { class: "limit-text" }, text) : null,
          setting ? h("a", { class: "small mono", href: addressOf(["settings"], { find: setting }) }, setting) : null];
      } },
      { id: "now", name: "Now", number: true, get: (one) => (one.at === live.last?.at ? one.now : 0),
        show: (one) => (one.at === live.last?.at ? byUnit(one.now, one.unit) : "–") },
      { id: "hits", name: "Since then", number: true, get: (one) => one.hits,
        show: (one) => number(Math.round(one.hits)) },
      { id: "at", name: "Last", wide: true, className: "fit", get: (one) => one.at, stamp: (one) => one.at,
        build: (one) => timeTag(one.at, clockTime(one.at)) },
      { id: "line", name: "", wide: true, className: "spark-cell", get: () => "", build: (one) => {
        const line = spark((frame) => frame.limits.get(one.name) ?? 0, 3);
        lines.set(one.name, line);
        return line.element;
      } },
    ],
  };
}

export function mount(root) {
  const { list, lines } = columns();
  const rows = table({
    caption: "Limits", isTitled: true, isStacked: true, note: "hit since the console was opened", columns: list,
      key: (one) => one.name, pageSize: 20,
    sort: { id: "at", down: true },
    empty: () => [h("p", { class: "strong" }, "No limit was hit since the console was opened."),
      h("p", { class: "soft" }, "When one is, it stands here with what it means and the setting that rules it. ",
        "What was before stands in the log, and in /metrics.")],
  });
  root.append(heading("Limits hit", {
    lead: "Whatever a peer can make grow has a limit. One that is hit now and then protects the server. One that is "
      + "hit all the time is too tight, or somebody goes too far: the log says who, once a minute.",
  }), rows.element);
  const draw = () => {
    rows.show([...live.limits.values()]);
    for (const line of lines.values()) line.draw();
  };
  draw();
  const off = live.watch(draw);
  return { unmount: off };
}
