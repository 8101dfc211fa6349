// A busy channel: a thousand messages a second, of which a filter on the server lets one person's through. The plot
// shows how long each took from the server that made it to this page. A page that does this has to be light: a message
// costs two numbers in a ring, and a frame of the plot moves what is drawn already and adds what has come since.

import { filter } from "../fanfare.js";
import { readable } from "./people.js";
import { avatar, bag, button, calm, fill, h, hue } from "./ui.js";

const channel = "busy:all";
/** The tag by which the server filters. */
const tag = "from";
/** How much of the past is drawn, in milliseconds. */
const span = 20_000;
/** Messages that are kept for the plot: what a thousand a second need for `span`, and no more. */
const mostKept = 20_000;
/** Milliseconds between two frames of the plot; for those who do not want things to move, a second. */
const [frame, calmFrame] = [100, 1000];
/** Those whom one can choose; a channel with more people than that is for a search. */
const mostPeople = 24;
const everybody = "*";

/** The last messages in two rings of numbers: no object for each of a thousand a second. */
export class Samples {
  #times = new Float64Array(mostKept);
  #delays = new Float64Array(mostKept);
  /** How many were ever added: the number of the next. */
  total = 0;

  add(time, delay) {
    this.#times[this.total % mostKept] = time;
    this.#delays[this.total % mostKept] = delay;
    this.total += 1;
  }

  clear() { this.total = 0; }

  /** Calls `f(time, delay)` for those from number `from` on that are kept still, the oldest first. */
  from(from, f) {
    for (let each = Math.max(from, this.total - mostKept, 0); each < this.total; each += 1) {
      f(this.#times[each % mostKept], this.#delays[each % mostKept]);
    }
  }

  /** The delays since `time`, in no order. */
  since(time) {
    const delays = [];
    for (let each = this.total - 1; each >= Math.max(0, this.total - mostKept); each -= 1) {
      if (this.#times[each % mostKept] < time) break;
      delays.push(this.#delays[each % mostKept]);
    }
    return delays;
  }
}

/** The value below which `share` of the sorted numbers lie; NaN where there are none. */
export function quantile(sorted, share) {
  return sorted.length === 0 ? NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** A round number of milliseconds that is not below `value`: 1, 2, 5, 10, 20, 50 and so on. */
export function ceiling(value) {
  for (let step = 1; ; step *= 10) {
    for (const each of [1, 2, 5]) if (each * step >= value) return each * step;
  }
}

/** What stands beside a line of a plot that ends at `top` milliseconds. */
function mark(value, top) {
  return top < 1000 ? `${value} ms` : `${value / 1000} s`;
}

/** The delays as dots, the newest at the right. */
class Plot {
  #drawn = 0;
  #at = 0;
  #rest = 0;
  top = 5;

  constructor(samples) {
    this.samples = samples;
    this.canvas = h("canvas", { class: "busy-canvas", role: "img", "aria-label": "No messages yet" });
    this.marks = [1, 0.5, 0].map(() => h("span", { class: "busy-mark" }));
    this.element = h("div", { class: "busy-plot" }, h("div", { class: "busy-marks", "aria-hidden": true }, this.marks),
      this.canvas, h("div", { class: "busy-times small soft", "aria-hidden": true },
        h("span", {}, `${span / 1000} seconds ago`), h("span", {}, "now")));
    this.#showMarks();
  }

  #showMarks() {
    [1, 0.5, 0].forEach((share, index) => { this.marks[index].textContent = mark(this.top * share, this.top); });
  }

  /** The scale follows the longest delay at once, and comes down again when it has left the plot. */
  #rescale(longest, comesDown) {
    const wanted = Math.max(5, ceiling(longest));
    if (wanted === this.top || (wanted < this.top && !comesDown)) return false;
    this.top = wanted;
    this.#showMarks();
    return true;
  }

  /** Once a second: whether the scale is still the right one. */
  check(now) {
    let longest = 0;
    for (const delay of this.samples.since(now - span)) longest = Math.max(longest, delay);
    if (this.#rescale(longest, true)) this.redraw();
  }

  /** Everything anew: another size, scale, colour or person. */
  redraw(colour = this.colour) {
    this.colour = colour;
    this.#drawn = 0;
    this.#at = -Infinity;
    this.draw(performance.now());
  }

  draw(now) {
    const { canvas, samples } = this;
    const density = Math.min(2, devicePixelRatio || 1);
    const [w, t] = [Math.round(canvas.clientWidth * density), Math.round(canvas.clientHeight * density)];
    if (w === 0 || t === 0) return;
    let longest = 0;
    samples.from(this.#drawn, (_, delay) => { longest = Math.max(longest, delay); });
    if (this.#rescale(longest, false)) this.#at = -Infinity;
    if (canvas.width !== w || canvas.height !== t) {
      [canvas.width, canvas.height] = [w, t];
      this.#at = -Infinity;
    }
    const pen = canvas.getContext("2d");
    const exact = (now - this.#at) / span * w + this.#rest;
    if (exact < w) {
      // What is there moves to the left by whole pixels; the rest of a pixel waits for the next frame.
      const step = Math.floor(exact);
      this.#rest = exact - step;
      if (step > 0) {
        pen.globalCompositeOperation = "copy";
        pen.drawImage(canvas, -step, 0);
        pen.globalCompositeOperation = "source-over";
      }
    } else {
      pen.clearRect(0, 0, w, t);
      this.#drawn = this.#rest = 0;
    }
    this.#at = now;
    this.#dots(pen, now, w, t, density);
    this.#drawn = samples.total;
  }

  #dots(pen, now, w, t, density) {
    const [accent, dot] = this.colour;
    const size = Math.max(1, Math.round(dot * density));
    pen.fillStyle = accent;
    pen.beginPath();
    this.samples.from(this.#drawn, (time, delay) => {
      if (time < now - span) return;
      const x = Math.round(w - (now - time) / span * w) - size;
      pen.rect(x, Math.round((t - size) * (1 - delay / this.top)), size, size);
    });
    pen.fill();
  }
}

/** A delay with three digits at most: whoever looks at a page under load reads seconds. */
function shown(value) {
  if (!Number.isFinite(value)) return "–";
  return value < 1000 ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : `${(value / 1000).toFixed(1)} s`;
}

class Busy {
  #held = bag();
  #samples = new Samples();
  #person = everybody;
  #people = new Map();
  #received = 0;
  #lastSecond = 0;
  #paused = false;
  #subscription = null;
  /** How far the server's clock is ahead of this one, at least: no message arrives before it was sent. */
  #ahead = 0;
  /** What the page's finer clock counts from. A machine that slept may have stopped it, so it is looked after. */
  #epoch = performance.timeOrigin;

  constructor(root, session) {
    this.root = root;
    this.client = session.client;
    this.plot = new Plot(this.#samples);
    this.#build();
    this.#follow(everybody);
    for (const name of ["connected", "connecting", "disconnected"]) {
      this.#held.keep(this.client.on(name, () => this.#drawStatus()));
    }
    this.#held.every(1000, () => this.#second());
    let last = 0;
    let asked = 0;
    // Not on each frame of the screen: nobody sees more of a plot that moves some pixels a second.
    this.#held.every(frame, () => {
      const now = performance.now();
      if (this.#paused || document.hidden || now - last < (calm() ? calmFrame : frame) - 20) return;
      last = now;
      asked = requestAnimationFrame(() => this.plot.draw(performance.now()));
    });
    this.#held.keep(() => cancelAnimationFrame(asked));
    this.#held.listen(window, "resize", () => this.#redraw());
    this.#held.listen(document, "visibilitychange", () => this.#redraw());
    this.#held.listen(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.#redraw());
  }

  unmount() {
    this.#held.end();
    this.#subscription?.unsubscribe();
    fill(this.root);
  }

  #build() {
    this.choices = h("div", { class: "busy-people", role: "group", "aria-label": "Follow" },
      this.#choice(everybody, "Everybody"));
    this.pause = button("Pause the plot", () => {
      this.#paused = !this.#paused;
      this.pause.setAttribute("aria-pressed", String(this.#paused));
      if (!this.#paused) this.#redraw();
    }, { "aria-pressed": "false" });
    const figure = (label) => {
      const value = h("dd", {}, "–");
      return { value, element: h("div", { class: "busy-figure" }, h("dt", {}, label), value) };
    };
    this.figures = {
      rate: figure("messages a second, to this page"), middle: figure("half arrive within"),
      slow: figure("99 of 100 arrive within"), sum: figure("messages so far"),
    };
    this.status = h("p", { class: "small", role: "status" });
    this.latest = h("p", { class: "soft small one-line" });
    fill(this.root, h("div", { class: "busy stack" },
      h("div", { class: "row row-between" }, h("h1", {}, "A busy channel"), this.pause),
      h("div", { class: "sided" },
        h("div", { class: "sided-side" }, h("section", { class: "card stack" }, h("h2", {}, "Follow"),
          h("p", { class: "soft small" }, "The server filters: what is not of this person never comes to this page."),
          this.choices)),
        h("div", { class: "sided-main stack" },
          h("dl", { class: "busy-figures" }, Object.values(this.figures).map((each) => each.element)),
          h("figure", { class: "card busy-card" }, h("figcaption", { class: "row row-between" },
            h("h2", {}, "Delivery times"), this.status), this.plot.element,
          h("p", { class: "soft small" }, "Each dot is a message: upwards how long it took, from the server that made "
            + "it to this page."), this.latest)))));
  }

  #choice(person, name) {
    const element = h("button", {
      type: "button", class: "busy-person", "aria-pressed": "false", on: { click: () => this.#follow(person) },
    }, person === everybody ? h("span", { class: "avatar avatar-small busy-all", "aria-hidden": true }, "∞")
      : avatar(person, name, "small"), h("span", {}, name));
    this.#people.set(person, element);
    return element;
  }

  /** The colours of the style sheet: canvases know no variables. */
  #redraw() {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.plot.redraw(this.#person === everybody ? [dark ? "rgb(167 159 255 / 70%)" : "rgb(74 63 209 / 60%)", 2]
      : [`hsl(${hue(this.#person)} 60% ${dark ? 68 : 36}%)`, 3]);
  }

  #follow(person) {
    this.#person = person;
    this.#samples.clear();
    this.#received = this.#lastSecond = 0;
    this.last = "";
    for (const [one, element] of this.#people) element.setAttribute("aria-pressed", String(one === person));
    const there = this.client.subscription(channel);
    if (there && there.state !== "unsubscribed") there.unsubscribe();
    const options = person === everybody ? {} : { filter: filter.eq(tag, person) };
    const subscription = this.#subscription = this.client.subscribe(channel, options);
    subscription.on("publication", (publication) => this.#take(publication));
    for (const name of ["subscribed", "subscribing", "unsubscribed"]) {
      subscription.on(name, (event) => {
        if (subscription === this.#subscription) this.#drawStatus(event);
      });
    }
    subscription.on("error", ({ error }) => { this.status.textContent = error.message; });
    this.#drawStatus();
    this.#redraw();
  }

  #take({ data, tags }) {
    const from = data?.from ?? tags[tag];
    if (typeof from !== "string" || !Number.isFinite(data?.t)) return;
    this.#received += 1;
    this.#lastSecond += 1;
    const elapsed = performance.now();
    const now = this.#epoch + elapsed;
    if (data.t - now > this.#ahead) this.#ahead = data.t - now;
    this.#samples.add(elapsed, now + this.#ahead - data.t);
    this.from = from;
    this.number = data.n;
    if (this.#people.has(from) || this.#people.size > mostPeople) return;
    const after = [...this.#people].filter(([one]) => one !== everybody && one > from).sort()[0];
    this.choices.insertBefore(this.#choice(from, readable(from)), after?.[1] ?? null);
  }

  #drawStatus(event) {
    const { connectionState } = this.client;
    const state = this.#subscription?.state;
    const who = this.#person === everybody ? "everybody" : readable(this.#person);
    const text = connectionState !== "connected"
      ? "Offline. This channel keeps nothing: what is said meanwhile is not shown later."
      : state === "subscribed" ? `Following ${who}` : state === "unsubscribed"
        ? event?.reason || "Not following anybody." : "Subscribing …";
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.classList.toggle("soft", state === "subscribed");
  }

  #second() {
    const drift = Date.now() - this.#epoch - performance.now();
    if (Math.abs(drift) > 2) this.#epoch += drift;
    const delays = this.#samples.since(performance.now() - 5000).sort((a, b) => a - b);
    const [middle, slow] = [quantile(delays, 0.5), quantile(delays, 0.99)];
    const { figures, plot } = this;
    figures.rate.value.textContent = this.#lastSecond.toLocaleString();
    figures.middle.value.textContent = shown(middle);
    figures.slow.value.textContent = shown(slow);
    figures.sum.value.textContent = this.#received.toLocaleString();
    this.latest.textContent = this.#received > 0
      ? `Latest: message ${(this.number ?? 0).toLocaleString()} of ${readable(this.from)}`
      : "The server makes these messages while somebody listens. The first come within a moment.";
    plot.canvas.setAttribute("aria-label", delays.length === 0 ? "No messages in the last seconds"
      : `Delivery times of the last seconds: half within ${shown(middle)}, 99 of 100 within ${shown(slow)}`);
    if (!this.#paused && !document.hidden) plot.check(performance.now());
    this.#lastSecond = 0;
  }
}

/** Shows the busy channel in `root`. */
export function mount(root, session) {
  const app = new Busy(root, session);
  return { unmount: () => app.unmount() };
}
