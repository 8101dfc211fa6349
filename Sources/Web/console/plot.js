// Plots of the last two minutes, drawn on a canvas when a frame has come. Each says in words what it shows, and can be
// read as a table.

import { h, onceAFrame, uniqueId } from "./ui.js";
import { live, span } from "./live.js";
import { clockTime } from "./format.js";

/** A longer silence between two frames is a gap in the line: nothing is known of it. */
const longestStep = 3500;
const margin = { top: 10, bottom: 18, left: 6, right: 6 };

// The pointer is over one plot, and all of them show the same moment.
const cursor = { at: null, watchers: new Set() };

function pointTo(at) {
  if (cursor.at === at) return;
  cursor.at = at;
  for (const watcher of cursor.watchers) watcher();
}

let tokens = null;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  tokens = null;
  for (const watcher of cursor.watchers) watcher();
});

/** Colours as the style sheet has them now; a canvas knows no custom properties. */
function colours() {
  if (tokens) return tokens;
  const probe = h("span", { hidden: true });
  document.body.append(probe);
  const read = (name) => {
    probe.style.setProperty("color", `var(${name})`);
    return getComputedStyle(probe).color;
  };
  tokens = { line: read("--line"), text: read("--text-soft"), strong: read("--text"), surface: read("--surface") };
  for (const number of [1, 2, 3, 4]) tokens[`plot-${number}`] = read(`--plot-${number}`);
  probe.remove();
  return tokens;
}

/** Makes the canvas as sharp as the screen is. Gives its size in CSS pixels, or null where it is not shown. */
function prepare(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0 || height === 0) return null;
  const ratio = Math.min(3, devicePixelRatio || 1);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** The next number above that reads well: 1, 2 or 5 with zeros, or with powers of 1024 for bytes. */
export function niceCeiling(value, isBytes = false) {
  if (!(value > (isBytes ? 1024 : 1))) return isBytes ? 1024 : 1;
  const unit = isBytes ? 1024 ** Math.max(0, Math.floor(Math.log2(value) / 10)) : 1;
  const scaled = value / unit;
  const step = 10 ** Math.floor(Math.log10(scaled));
  const factor = [1, 2, 2.5, 5, 10].find((one) => scaled <= one * step * 1.0001);
  return factor * step * unit;
}

function pointsOf(get) {
  return live.history.map((frame) => ({ at: frame.at, value: get(frame) }))
    .filter(({ value }) => typeof value === "number" && Number.isFinite(value));
}

/** Runs of points without a gap between them. */
export function runs(points) {
  const found = [];
  let last = -Infinity;
  for (const point of points) {
    if (point.at - last > longestStep) found.push([]);
    found.at(-1).push(point);
    last = point.at;
  }
  return found;
}

function scaleOf(isLog, values, isBytes) {
  if (!isLog) {
    const top = niceCeiling(Math.max(0, ...values), isBytes);
    return { top, ticks: [0, top / 2, top], part: (value) => value / top };
  }
  const known = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(1e-4, ...known)) + 1e-9);
  const high = Math.max(low + 2, Math.ceil(Math.log10(Math.max(1e-3, ...known)) - 1e-9));
  const every = high - low > 4 ? 2 : 1;
  const ticks = [];
  for (let power = low; power <= high; power += every) ticks.push(10 ** power);
  const part = (value) => Math.min(1, Math.max(0, (Math.log10(Math.max(value, 1e-9)) - low) / (high - low)));
  return { top: 10 ** high, ticks, part };
}

/** Where a value stands, on half a pixel, so that a line of one pixel is sharp. */
function rowOf(scale, tick, height) {
  const bottom = height - margin.bottom;
  return Math.round(bottom - scale.part(tick) * (bottom - margin.top)) + 0.5;
}

function drawGrid({ context, width, height, scale }) {
  context.lineWidth = 1;
  context.strokeStyle = colours().line;
  for (const tick of scale.ticks) {
    const y = rowOf(scale, tick, height);
    context.beginPath();
    context.moveTo(margin.left, y);
    context.lineTo(width - margin.right, y);
    context.stroke();
  }
}

/** What the grid means, above the lines and on a ground of its own, so that it can be read. */
function drawLabels({ context, height, scale, format, x }) {
  const { surface, text } = colours();
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = text;
  context.strokeStyle = surface;
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.textAlign = "left";
  context.textBaseline = "top";
  // The lowest one would stand where the time does.
  for (const tick of scale.ticks.slice(1)) {
    const y = rowOf(scale, tick, height) + 3;
    context.strokeText(format(tick), margin.left + 2, y);
    context.fillText(format(tick), margin.left + 2, y);
  }
  context.textBaseline = "alphabetic";
  for (const [back, label] of [[120, "2 min ago"], [60, "1 min"], [0, "now"]]) {
    context.textAlign = back === 120 ? "left" : back === 0 ? "right" : "center";
    context.fillText(label, x(-back * 1000), height - 4);
  }
}

function drawSeries({ context, bottom, top, points, colour, scale, x, isFilled }) {
  const y = (value) => bottom - scale.part(value) * (bottom - top);
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.75;
  context.lineJoin = "round";
  for (const run of runs(points)) {
    context.beginPath();
    for (const [index, { at, value }] of run.entries()) context[index === 0 ? "moveTo" : "lineTo"](x(at), y(value));
    if (run.length === 1) context.arc(x(run[0].at), y(run[0].value), 1, 0, 7);
    context.stroke();
    if (!isFilled || run.length < 2) continue;
    context.lineTo(x(run.at(-1).at), bottom);
    context.lineTo(x(run[0].at), bottom);
    context.globalAlpha = 0.12;
    context.fill();
    context.globalAlpha = 1;
  }
}

function drawCursor({ context, bottom, top, x, lines, scale }) {
  const { strong, surface } = colours();
  const place = x(cursor.at);
  context.strokeStyle = strong;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(place, top);
  context.lineTo(place, bottom);
  context.stroke();
  for (const { points, colour } of lines) {
    const point = points.find(({ at }) => at === cursor.at);
    if (!point) continue;
    context.beginPath();
    context.arc(place, bottom - scale.part(point.value) * (bottom - top), 3.5, 0, 7);
    context.fillStyle = colour;
    context.fill();
    context.strokeStyle = surface;
    context.stroke();
  }
}

function extremes(points) {
  const values = points.map(({ value }) => value);
  const sum = values.reduce((whole, value) => whole + value, 0);
  return { low: Math.min(...values), high: Math.max(...values), mean: sum / values.length, last: values.at(-1) };
}

function legendOf(series, format) {
  const values = series.map(() => h("b", {}));
  const element = h("ul", { class: "legend" }, series.map(({ name, colour }, index) =>
    h("li", {}, h("span", { class: "swatch", dataset: { colour: String(colour) } }), `${name} `, values[index])));
  return {
    element,
    show(lines) {
      for (const [index, { points }] of lines.entries()) {
        const at = cursor.at === null ? points.at(-1) : points.find((point) => point.at === cursor.at);
        const text = format(at?.value);
        if (values[index].textContent !== text) values[index].textContent = text;
      }
    },
  };
}

function describe(title, lines, format) {
  const parts = lines.filter(({ points }) => points.length > 0).map(({ name, points }) => {
    const { low, high, last } = extremes(points);
    return `${name} now ${format(last)}, between ${format(low)} and ${format(high)}`;
  });
  return parts.length > 0 ? `${title} in the last two minutes: ${parts.join("; ")}.` : `${title}: no numbers yet.`;
}

/**
 * A plot with its legend. `series` are `{ name, colour: 1...4, get(frame) }`; `format` says a value; `log` is for times
 * of which some are a thousand times others.
 */
export function plot({ title, series, format, log = false, isBytes = false }) {
  const heading = h("h3", { id: uniqueId("plot") }, title);
  const when = h("span", { class: "small soft plot-when" });
  const canvas = h("canvas", { class: "plot-canvas", role: "img", "aria-label": `${title}: no numbers yet.` });
  const legend = legendOf(series, format);
  const element = h("section", { class: "card plot", "aria-labelledby": heading.id },
    h("div", { class: "row row-between plot-head" }, heading, when), legend.element, canvas);
  const linesOf = () => series.map(({ name, colour, get }) =>
    ({ name, colour: colours()[`plot-${colour}`], points: pointsOf(get) }));
  const draw = () => {
    const lines = linesOf();
    legend.show(lines);
    const moment = cursor.at === null ? "" : clockTime(cursor.at);
    if (when.textContent !== moment) when.textContent = moment;
    canvas.setAttribute("aria-label", describe(title, lines, format));
    const place = prepare(canvas);
    if (!place) return;
    const now = live.last?.at ?? Date.now();
    const { width, height } = place;
    const x = (at) => width - margin.right
      - ((at <= 0 ? -at : now - at) / (span * 1000)) * (width - margin.left - margin.right);
    const [top, bottom] = [margin.top, height - margin.bottom];
    const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
    const scale = scaleOf(log, values, isBytes);
    drawGrid({ ...place, scale });
    for (const [index, { points, colour }] of lines.entries()) {
      drawSeries({ ...place, bottom, top, points, colour, scale, x, isFilled: index === 0 && !log });
    }
    drawLabels({ ...place, scale, format, x });
    if (cursor.at !== null) drawCursor({ ...place, bottom, top, x, lines, scale });
  };
  const redraw = onceAFrame(draw);
  canvas.addEventListener("pointermove", (event) => pointTo(frameAt(event, canvas)));
  canvas.addEventListener("pointerleave", () => pointTo(null));
  const resized = new ResizeObserver(redraw);
  resized.observe(canvas);
  cursor.watchers.add(redraw);
  return {
    element,
    draw,
    /** The same in numbers, a row for each line: its name, then now, the lowest, the average and the highest. */
    get numbers() {
      return linesOf().map(({ name, points }) => {
        const { last, low, mean, high } = points.length > 0 ? extremes(points) : {};
        return { name: series.length > 1 ? `${title}, ${name}` : title, values: [last, low, mean, high].map(format) };
      });
    },
    end() {
      resized.disconnect();
      cursor.watchers.delete(redraw);
    },
  };
}

/** The time of the frame that is nearest to the pointer. */
function frameAt(event, canvas) {
  const now = live.last?.at;
  if (!now) return null;
  const { left, width } = canvas.getBoundingClientRect();
  const part = (event.clientX - left - margin.left) / (width - margin.left - margin.right);
  const wanted = now - (1 - part) * span * 1000;
  let best = null;
  for (const { at } of live.history) {
    if (best === null || Math.abs(at - wanted) < Math.abs(best - wanted)) best = at;
  }
  return best;
}

/** A line without axes, beside a number that says the same: decoration. */
export function spark(get, colour = 1) {
  const canvas = h("canvas", { class: "spark", "aria-hidden": true });
  return {
    element: canvas,
    draw() {
      const place = prepare(canvas);
      if (!place) return;
      const points = pointsOf(get);
      const now = live.last?.at ?? 0;
      const { context, width, height } = place;
      const top = Math.max(...points.map(({ value }) => value), 1e-12) * 1.1;
      drawSeries({
        context, points, colour: colours()[`plot-${colour}`], bottom: height - 2, top: 2, isFilled: true,
        scale: { part: (value) => value / top }, x: (at) => width - 1 - ((now - at) / (span * 1000)) * (width - 2),
      });
    },
  };
}
