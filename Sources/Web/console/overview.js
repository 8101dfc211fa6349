// What goes on: the numbers that matter most, plots of two minutes, the busy channels, the times by hop.

import { button, fill, h } from "./ui.js";
import { addressOf } from "./address.js";
import { byteRate, bytes, number, percent, rate, seconds, unknown } from "./format.js";
import { busyChannels, hopTimes, live } from "./live.js";
import { plot, spark } from "./plot.js";
import { table } from "./table.js";

const numbersKey = "fanfare.console.numbers";

function remembered() {
  try {
    return localStorage.getItem(numbersKey) === "true";
  } catch {
    return false;
  }
}

function remember(value) {
  try {
    localStorage.setItem(numbersKey, String(value));
  } catch {
    // Without a place to keep it, it holds as long as the page.
  }
}

// Tiles

const ofRates = (name) => (frame) => frame.rates.get(name);
const ofNow = (name) => (frame) => frame.now.get(name);
const ofHop = (hop, part) => (frame) => frame.latencies.get(hop)?.[part];

const tileKinds = [
  { name: "Clients", get: ofNow("clients"), format: number, more: (frame) => [
    number(frame.now.get("subscriptions")), " subscriptions"] },
  { name: "Publications", get: ofRates("publications"), format: rate, more: (frame) => [
    number(frame.now.get("channels")), " channels"] },
  { name: "Deliveries", get: ofRates("deliveries"), format: rate, more: (frame) => {
    const each = frame.rates.get("deliveries") / frame.rates.get("publications");
    return Number.isFinite(each) ? [number(each), " for each"] : ["none now"];
  } },
  { name: "Latency, 99 %", get: ofHop("whole", "p99_seconds"), format: seconds, held: true,
    more: (frame, isKnown) => [isKnown ? "to the last subscriber" : "none measured yet"] },
  { name: "Processors", get: ofRates("processors in use"), format: (value) => (
    Number.isFinite(value) ? value.toFixed(2) : unknown), more: () => ["in use, all processes"] },
  { name: "Memory", get: ofNow("memory of all processes"), format: bytes, more: (frame) => [
    bytes(frame.now.get("memory of the broker")), " for channels"] },
];

/** Not each second has a publication that was measured: the newest one that had. */
function lastKnown(get) {
  for (let index = live.history.length - 1; index >= 0; index -= 1) {
    const value = get(live.history[index]);
    if (Number.isFinite(value)) return value;
  }
  return undefined;
}

function tile({ name, get, format, more, held }) {
  const value = h("span", { class: "tile-value" }, unknown);
  const note = h("span", { class: "small soft one-line" }, " ");
  const line = spark(get);
  return {
    element: h("li", { class: "card tile" }, h("span", { class: "small soft" }, name), value, note, line.element),
    draw(frame) {
      const now = held ? lastKnown(get) : get(frame);
      value.textContent = format(now);
      const text = more(frame, Number.isFinite(now)).join("");
      if (note.textContent !== text) note.textContent = text;
      line.draw();
    },
  };
}

// What somebody should look at

/** What is wrong, as sentences with where to read on; the worst first. */
export function findings(frame) {
  const found = frame.troubles.map((text) => ({ text, isBad: true, to: ["links"] }));
  if (frame.now.get("refusals of the disk") > 0) {
    found.unshift({ text: "The disk refuses what is written: nothing durable is accepted until it has room.",
      isBad: true,
      to: ["links"] });
  }
  const names = new Set();
  for (const { limits, at } of live.history) {
    if (at < frame.at - 60_000) continue;
    for (const name of limits.keys()) names.add(name);
  }
  if (names.size > 0) {
    const text = names.size === 1 ? `A limit was hit in the last minute: ${[...names][0]}.`
      : `${names.size} limits were hit in the last minute.`;
    found.push({ text, isBad: false, to: ["limits"] });
  }
  const waits = frame.now.get("waits for clients");
  if (waits > 4 << 20) {
    found.push({ text: `${bytes(waits)} wait for clients that read slowly.`, isBad: false, to: ["users"] });
  }
  return found;
}

function findingsBox() {
  const element = h("div", { class: "findings", role: "status" });
  let shown = null;
  return {
    element,
    draw(frame) {
      const found = findings(frame);
      const stamp = JSON.stringify(found);
      if (stamp === shown) return;
      shown = stamp;
      fill(element, found.length === 0
        ? h("p", { class: "finding finding-good" }, h("span", { class: "dot", "aria-hidden": true }),
          "No limit was hit and nothing reports trouble.")
        : found.map(({ text, isBad, to }) => h("p", { class: `finding ${isBad ? "finding-bad" : "finding-warn"}` },
          h("span", { class: "dot", "aria-hidden": true }), h("span", { class: "grow" }, text),
          h("a", { href: addressOf(to) }, "Look"))));
    },
  };
}

// Busy channels

function busyColumns(busy) {
  const most = () => Math.max(...busy.rows.map((one) => one.deliveries ?? 0), 1e-9);
  return [
    { id: "channel", name: "Channel", isHead: true, mono: true, get: (one) => one.channel, title: (one) => one.channel,
      href: (one) => addressOf(["channels", one.channel]) },
    { id: "deliveries", name: "Deliveries", number: true, get: (one) => one.deliveries,
      show: (one) => rate(one.deliveries),
      part: (one) => (one.deliveries ?? 0) / most(), help: "Publications times subscribers" },
    { id: "publications", name: "Published", number: true, get: (one) => one.publications,
      show: (one) => rate(one.publications) },
    { id: "bytes", name: "Bytes", number: true, wide: true, get: (one) => one.bytes,
      show: (one) => byteRate(one.bytes) },
    { id: "subscribers", name: "Subscribers", number: true, get: (one) => one.subscribers,
      wide: true, show: (one) => number(one.subscribers) },
  ];
}

/**
 * The busiest of all, in words. Rates of single channels need two looks at all of them, 5 to 30 seconds apart: until then
 * something may go out on channels that are not named yet, and that is not quiet.
 */
function busiestLine() {
  const element = h("p", { class: "busiest" });
  const link = h("a", { class: "mono" });
  const rest = h("span", {});
  return {
    element,
    draw(busiest, all, isKnown) {
      if (!busiest) {
        // The first frame has totals alone: rates begin with the second.
        const text = !isKnown ? "Counting…"
          : all > 0 ? `${rate(all)} deliveries; which channel is the busiest is not known yet.` : "All is quiet.";
        return element.textContent === text ? undefined : fill(element, text);
      }
      const share = all > 0 ? `, ${percent(Math.min(1, busiest.deliveries / all))} of all` : "";
      link.textContent = busiest.channel;
      link.href = addressOf(["channels", busiest.channel]);
      rest.textContent = ` is the busiest: ${rate(busiest.deliveries)} deliveries${share}.`;
      return link.isConnected ? undefined : fill(element, link, rest);
    },
  };
}

function busyBox() {
  const busy = { rows: [], first: null };
  const line = busiestLine();
  const rows = table({
    caption: "Busy channels", isTitled: true,
    note: "averages of 5 to 30 seconds, longer with more channels; of the 50 to which most bytes go",
    columns: busyColumns(busy), key: (one) => one.channel, pageSize: 10, sort: { id: "deliveries", down: true },
    mark: (one) => (one === busy.first ? "is-busiest" : ""),
    // The apps' channels are not named here, and the others are looked at every few seconds.
    empty: () => [h("p", { class: "strong" }, live.last?.now.get("subscriptions") > 0
      ? "None of the channels shown here has a subscriber yet; those of the apps are left out."
      : "No channel has a subscriber."),
      h("p", { class: "soft" }, "Follow one in a terminal, and publish in another:"),
      h("p", {}, h("code", {}, "fanfare subscribe news")),
      h("p", {}, h("code", {}, "fanfare publish news '{\"hello\":\"world\"}'"))],
  });
  return {
    element: h("section", { class: "stack-tight" }, h("h2", {}, "Busy channels"), line.element, rows.element),
    draw(frame) {
      busy.rows = busyChannels();
      busy.first = busy.rows.reduce((best, one) => (
        (one.deliveries ?? 0) > (best?.deliveries ?? 0) ? one : best), null);
      const all = frame.rates.get("deliveries");
      line.draw(busy.first, all, Number.isFinite(all));
      rows.show(busy.rows);
    },
  };
}

// Times by hop

const hops = [
  ["gateway_in", "Gateway, in",
    "From the frame being read until the request is on its way to the broker. High: the event loop is busy."],
  ["link_in", "Link, to broker",
    "Until the broker takes it in. High: the network between them, or the broker's processor."],
  ["broker", "Broker", "Until the log was given it. High: it waited for a read of the disk, or behind a busy app."],
  ["log", "Log", "Until it may be delivered: after the commit where it is durable. High: the disk is slow to sync."],
  ["link_out", "Link, to gateway", "Until a gateway has it. High: the network, or the gateway's backbone thread."],
  ["gateway_out", "Gateway, out", "Until it stands on the channel's tape. High: the event loop is busy with others."],
  ["socket_first", "First socket", "Until the kernel took it for the first subscriber."],
  ["socket_last", "Last socket",
    "Until the kernel took it for all subscribers. High: many subscribers, or costly sends."],
  ["whole", "Whole way", "From the frame being read to the last subscriber on one gateway."],
  ["(commit)", "Commit", "How long the disk takes for a commit; publications share one."],
];

/** Where a time lies between 1 µs and 1 s, evenly by its logarithm. */
export function placeOf(time) {
  return Math.min(1, Math.max(0, (Math.log10(Math.max(time, 1e-6)) + 6) / 6));
}

function hopRange() {
  const bar = h("span", { class: "range-bar" });
  const element = h("span", { class: "range", "aria-hidden": true }, bar);
  return {
    element,
    show(times) {
      bar.hidden = !times;
      if (!times) return;
      const from = placeOf(times.median);
      bar.style.setProperty("left", `${from * 100}%`);
      bar.style.setProperty("width", `max(6px, ${(placeOf(times.p99) - from) * 100}%)`);
    },
  };
}

function hopBox() {
  const rows = hops.map(([hop, name, help]) => {
    const range = hopRange();
    const cells = [h("td", { class: "number" }), h("td", { class: "number" })];
    const row = h("tr", { class: hop === "whole" ? "is-sum" : undefined },
      h("th", { scope: "row", title: help }, name), h("td", { class: "range-cell" }, range.element), cells);
    return { hop, range, cells, row };
  });
  const heads = h("tr", {}, h("th", { scope: "col" }, "Hop"),
    h("td", { class: "range-cell" }, h("span", { class: "range-scale", "aria-hidden": true },
      ["1 µs", "1 ms", "1 s"].map((text) => h("span", {}, text)))),
    h("th", { scope: "col", class: "number" }, "Median"), h("th", { scope: "col", class: "number" }, "99 %"));
  const caption = h("caption", { id: "hops" }, h("span", { class: "visually-hidden" }, "Latency by hop: "),
    "last 15 seconds, from the median to 99 %");
  const details = h("details", { class: "small" }, h("summary", {}, "What the hops are"),
    h("dl", { class: "terms" }, hops.map(([, name, help]) => [h("dt", {}, name), h("dd", {}, help)])));
  return {
    element: h("section", { class: "stack-tight" }, h("h2", {}, "Where the time goes"),
      h("div", { class: "scroller", role: "region", "aria-labelledby": "hops", tabindex: "0" },
        h("table", { class: "table hops" }, caption, h("thead", {}, heads), h("tbody", {},
          rows.map(({ row }) => row)))),
      details),
    draw() {
      const times = hopTimes();
      for (const { hop, range, cells } of rows) {
        const one = times.get(hop);
        range.show(one);
        for (const [index, text] of [seconds(one?.median), seconds(one?.p99)].entries()) {
          if (cells[index].textContent !== text) cells[index].textContent = text;
        }
      }
    },
  };
}

// The page

function plots() {
  return [
    plot({ title: "Publications", format: rate, series: [
      { name: "published", colour: 1, get: ofRates("publications") }] }),
    plot({ title: "Deliveries", format: rate, series: [
      { name: "delivered", colour: 2, get: ofRates("deliveries") }] }),
    plot({ title: "Latency", format: seconds, log: true, series: [
      { name: "99 %", colour: 3, get: ofHop("whole", "p99_seconds") },
      { name: "median", colour: 1, get: ofHop("whole", "p50_seconds") },
      { name: "commit 99 %", colour: 4, get: ofHop("(commit)", "p99_seconds") }] }),
    plot({ title: "Clients", format: number, series: [
      { name: "connected", colour: 1, get: ofNow("clients") }] }),
    plot({ title: "What waits", format: bytes, isBytes: true, series: [
      { name: "for clients", colour: 1, get: ofNow("waits for clients") },
      { name: "in the fan-out", colour: 2, get: ofNow("waits in the fan-out") },
      { name: "for the disk", colour: 3, get: ofNow("waits for the disk") }] }),
    plot({ title: "Disk", format: byteRate, isBytes: true, series: [
      { name: "written to the log", colour: 2, get: ofRates("written to the log") }] }),
  ];
}

/** What the plots show, for whoever would rather read it. */
function numbersTable(drawn) {
  const heads = ["Now", "Lowest", "Average", "Highest"];
  const rows = table({
    caption: "The last two minutes", isTitled: true, key: (one) => one.name, pageSize: 40, columns: [
      { id: "name", name: "What", isHead: true, get: (one) => one.name },
      ...heads.map((name, index) => (
        { id: name, name, number: true, wide: index === 1 || index === 2, get: (one) => one.values[index] })),
    ],
  });
  return { element: rows.element, draw: () => rows.show(drawn.flatMap(({ numbers }) => numbers)) };
}

export function mount(root) {
  const tiles = tileKinds.map(tile);
  const trouble = findingsBox();
  const drawn = plots();
  const busy = busyBox();
  const hopTable = hopBox();
  const numbers = numbersTable(drawn);
  const shapes = h("div", { class: "plots" }, drawn.map(({ element }) => element));
  let asNumbers = remembered();
  const toggle = button("As numbers", () => {
    asNumbers = !asNumbers;
    remember(asNumbers);
    show();
  }, { class: "button button-small", "aria-pressed": "false" });
  const show = () => {
    toggle.setAttribute("aria-pressed", String(asNumbers));
    shapes.hidden = asNumbers;
    numbers.element.hidden = !asNumbers;
    if (live.last) drawShapes();
  };
  const drawShapes = () => {
    if (asNumbers) return numbers.draw();
    for (const one of drawn) one.draw();
  };
  root.append(
    h("h1", { class: "visually-hidden" }, "Overview"), trouble.element,
    h("ul", { class: "tiles" }, tiles.map(({ element }) => element)),
    h("div", { class: "two" }, busy.element, hopTable.element),
    h("section", { class: "stack-tight" },
      h("div", { class: "row row-between" }, h("h2", {}, "The last two minutes"), toggle),
      shapes, numbers.element));
  show();
  const off = live.watch(() => {
    const frame = live.last;
    trouble.draw(frame);
    busy.draw(frame);
    hopTable.draw();
    for (const one of tiles) one.draw(frame);
    drawShapes();
  });
  return {
    unmount() {
      off();
      for (const one of drawn) one.end();
    },
  };
}
