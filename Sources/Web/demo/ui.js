// Small helpers for pages without a framework. What people have written reaches the page as text only, never as markup.

const properties = new Set(["checked", "disabled", "hidden", "selected", "indeterminate", "srcObject", "muted",
  "open", "readOnly", "required"]);
const vectorNamespace = "http://www.w3.org/2000/svg";

/** Sets attributes of an element: `on` holds listeners, `class`, `dataset` and `css` (of the CSSOM) what they say. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) {
        if (listener) element.addEventListener(event, listener);
      }
    } else if (name === "dataset") {
      for (const [key, text] of Object.entries(value)) element.dataset[key] = text;
    } else if (name === "css") {
      for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    } else if (name === "value") {
      // An option takes its text where the attribute is missing, so "" has to be there; a field shows its property.
      if (element instanceof HTMLOptionElement) element.setAttribute("value", value);
      else if (element.value !== value) element.value = value ?? "";
    } else if (properties.has(name)) {
      if (element[name] !== value) element[name] = value;
    } else if (value === null || value === undefined || value === false) {
      element.removeAttribute(name);
    } else {
      const text = value === true ? (name.startsWith("aria-") ? "true" : "") : String(value);
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/**
 * An element: `h("button", { class: "button", on: { click } }, "Send")`. Children are nodes, text, arrays, or nothing.
 * An `aria-` attribute of `false` is left out: write "false" where it has to be there.
 */
export function h(tag, attributes, ...children) {
  return append(set(document.createElement(tag), attributes), children);
}

/** The same for SVG. */
export function svg(tag, attributes, ...children) {
  return append(set(document.createElementNS(vectorNamespace, tag), attributes), children);
}

/** Puts these children in place of what the element has. */
export function fill(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

/**
 * Keeps the children of `parent` as `items` say, in their order, without making those again that stay: the focus and
 * the place of scrolling stay with them. `make(item)` gives an element, `update(element, item)` is called for every
 * item.
 */
export function keyedList(parent, { key, make, update }) {
  const rows = new Map();
  return {
    rows,
    show(items) {
      const wanted = new Set();
      let place = parent.firstChild;
      const focused = parent.contains(document.activeElement) ? document.activeElement : null;
      for (const item of items) {
        const id = key(item);
        if (wanted.has(id)) continue;
        wanted.add(id);
        let row = rows.get(id);
        if (!row) {
          row = make(item);
          rows.set(id, row);
        }
        update?.(row, item);
        if (row === place) {
          place = place.nextSibling;
        } else {
          parent.insertBefore(row, place);
        }
      }
      for (const [id, row] of rows) {
        if (wanted.has(id)) continue;
        row.remove();
        rows.delete(id);
      }
      // A row that was moved has lost the focus on the way.
      if (focused && focused !== document.activeElement && parent.contains(focused)) {
        focused.focus({ preventScroll: true });
      }
    },
    clear() {
      for (const row of rows.values()) row.remove();
      rows.clear();
    },
  };
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const longDay = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

let ahead = 0;

/** What time it is on the server, as far as the page was told (server-clock.js). Times that it shows are from there. */
export function serverNow() {
  return Date.now() + ahead;
}

export function setServerNow(now) {
  ahead = now - Date.now();
}

function midnight(time) {
  return new Date(time).setHours(0, 0, 0, 0);
}

/** Days since `time`, by the calendar: 0 for today. */
export function daysAgo(time, now = serverNow()) {
  return Math.round((midnight(now) - midnight(time)) / 86_400_000);
}

/** The time of day, `09:41`. Times are milliseconds. */
export function timeOfDay(time) {
  return clock.format(time);
}

/** As short as it can be: the time of day today, the weekday within a week, else the date. */
export function shortTime(time, now = serverNow()) {
  const days = daysAgo(time, now);
  if (days <= 0) return clock.format(time);
  return days < 7 ? weekday.format(time) : day.format(time);
}

/** "Today", "yesterday", or the day: for the lines between the messages of different days. */
export function dayName(time, now = serverNow()) {
  const days = daysAgo(time, now);
  if (days < 0 || days > 1) return longDay.format(time);
  const text = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(-days, "day");
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

/** The whole date, for titles. */
export function fullTime(time) {
  return full.format(time);
}

/** "5 min ago", or "in 3 hr". */
export function fromNow(time, now = serverNow()) {
  const seconds = (time - now) / 1000;
  const amount = Math.abs(seconds);
  if (amount < 45) return relative.format(0, "second");
  if (amount < 3_300) return relative.format(Math.round(seconds / 60), "minute");
  if (amount < 79_200) return relative.format(Math.round(seconds / 3_600), "hour");
  return relative.format(Math.round(seconds / 86_400), "day");
}

/** A length of time: "45 s", "12 min", "3 h 5 min", "2 days". */
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

/** A `<time>` with the whole date as its title. */
export function timeTag(time, text = shortTime(time), attributes) {
  return h("time", { datetime: new Date(time).toISOString(), title: fullTime(time), ...attributes }, text);
}

/** What a number of things is called: `count(2, "message", "messages")`. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}

/** What waits to be read, in words: "2 new messages, 1 request". */
export function newsText(messages, requests) {
  return [messages && count(messages, "new message"), requests && count(requests, "request")].filter(Boolean).join(", ");
}

let spoken = 0;

/** Says it to those who listen to the page: the live region `#live`, or `#alert` where it cannot wait. */
export function announce(text, { urgent = false } = {}) {
  const region = document.getElementById(urgent ? "alert" : "live");
  if (!region) return;
  // The same text twice is a change only with another character: one that nobody reads out.
  spoken += 1;
  region.textContent = spoken % 2 ? text : `${text}\u00a0`;
}

/** A number in 0..<360 that stands for the text: the same name has the same colour everywhere. */
export function hue(text) {
  let sum = 2_166_136_261;
  for (const character of String(text)) sum = Math.imul(sum ^ character.codePointAt(0), 16_777_619);
  return (sum >>> 0) % 360;
}

/** The first letters of a name, two at most. */
export function initials(name) {
  const words = String(name).trim().split(/\s+/u).filter(Boolean);
  const letters = words.length > 1 ? [words[0], words[words.length - 1]] : words;
  return letters.map((word) => Array.from(word)[0].toLocaleUpperCase()).join("") || "?";
}

/** A round picture of somebody: initials on a colour until `show(address)`. Decoration: the name is beside it. */
export function avatar(user, name = user, size = "") {
  const element = h("span", {
    class: `avatar ${size ? `avatar-${size}` : ""}`, "aria-hidden": true, css: { "--hue": String(hue(user)) },
  }, initials(name));
  element.show = (address) => fill(element, h("img", { src: address, alt: "" }));
  element.rename = (text) => {
    if (!element.querySelector("img") && element.textContent !== initials(text)) element.textContent = initials(text);
  };
  return element;
}

/** A button. `kind` is "primary", "danger", "quiet" or "icon"; an icon needs a `label`. */
export function button(text, click, { kind = "", label, ...attributes } = {}) {
  return h("button", {
    type: "button", class: `button ${kind ? `button-${kind}` : ""}`, "aria-label": label,
    title: kind === "icon" ? label : undefined, on: { click }, ...attributes,
  }, text);
}

/** What an empty screen says: what it is for, and what to do first. */
export function emptyState(title, text, ...actions) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), h("p", {}, text),
    actions.length ? h("div", { class: "row row-centre" }, actions) : null);
}

let names = 0;

/** An id that nothing else on the page has. */
export function uniqueId(prefix = "id") {
  names += 1;
  return `${prefix}-${names}`;
}

/** An input with its label above, and help below: `field("Name", { maxlength: 40 }, "As others see it")`. */
export function field(label, attributes = {}, help = "") {
  const { tag = "input", id = uniqueId("field"), children = [], ...rest } = attributes;
  const note = help ? h("p", { class: "field-help", id: `${id}-help` }, help) : null;
  const input = h(tag, { id, class: "input", "aria-describedby": note ? note.id : undefined, ...rest }, children);
  const element = h("div", { class: "field" }, h("label", { for: id }, label), input, note);
  return { element, input };
}

/**
 * A dialog that is open until it is closed: with Escape, with its buttons, or `close(value)`. `build(close)` gives its
 * content. The promise has the value, undefined where it was dismissed; the focus returns to where it was, unless somebody
 * has taken it somewhere else by then.
 */
export function openDialog(title, build, { className = "" } = {}) {
  return new Promise((resolve) => {
    const heading = h("h2", { class: "dialog-title", id: uniqueId("dialog") }, title);
    const element = h("dialog", { class: `dialog ${className}`, "aria-labelledby": heading.id });
    const before = document.activeElement;
    let result;
    const close = (value) => {
      result = value;
      element.close();
    };
    append(element, [heading, build(close, element)]);
    element.addEventListener("click", (event) => {
      if (event.target === element) close(undefined);
    });
    element.addEventListener("close", () => {
      element.remove();
      // The browser tells of the end some moments later, when a person may be writing again.
      if (document.activeElement === document.body && before?.isConnected) before.focus();
      resolve(result);
    });
    document.body.append(element);
    element.showModal();
  });
}

/** Asks whether to do it: `await confirm("Delete?", "It is gone for all.", { action: "Delete", danger: true })`. */
export async function confirm(title, text, { action = "OK", cancel = "Cancel", danger = false } = {}) {
  const paragraphs = [text].flat().filter(Boolean);
  const answer = await openDialog(title, (close) => [
    paragraphs.map((paragraph) => (paragraph instanceof Node ? paragraph : h("p", {}, paragraph))),
    h("div", { class: "dialog-actions" },
      button(cancel, () => close(false), { kind: "quiet", autofocus: danger }),
      button(action, () => close(true), { kind: danger ? "danger" : "primary", autofocus: !danger })),
  ]);
  return answer === true;
}

/** What went wrong, as a sentence. */
export function sentence(error) {
  const text = error?.message ? String(error.message) : String(error);
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

/** Calls `f` once things have rested for `delay` milliseconds; `.now()` does not wait,
 * `.cancel()` forgets it, and `.isWaiting()` says whether it is due. */
export function rested(f, delay) {
  let timer;
  let waiting = null;
  const now = () => {
    clearTimeout(timer);
    const given = waiting;
    waiting = null;
    if (given) f(...given);
  };
  const call = (...given) => {
    waiting = given;
    clearTimeout(timer);
    timer = setTimeout(now, delay);
  };
  call.now = now;
  call.isWaiting = () => waiting !== null;
  call.cancel = () => {
    clearTimeout(timer);
    waiting = null;
  };
  return call;
}

/** Calls `f` at most once for each frame that is drawn, however often it is asked to. */
export function onceAFrame(f) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    // A page in the background draws no frames, and still has to be right when it is looked at.
    const run = () => {
      asked = false;
      f();
    };
    if (document.hidden) setTimeout(run, 50); else requestAnimationFrame(run);
  };
}

/** Things to undo when a screen is left: `keep(off)` takes functions, `end()` calls them, the last one first. */
export function bag() {
  const held = [];
  return {
    keep(f) {
      held.push(f);
      return f;
    },
    listen(target, name, listener, options) {
      target.addEventListener(name, listener, options);
      held.push(() => target.removeEventListener(name, listener, options));
    },
    every(milliseconds, f) {
      const timer = setInterval(f, milliseconds);
      held.push(() => clearInterval(timer));
    },
    end() {
      for (const f of held.splice(0).reverse()) f();
    },
  };
}

/** Whether the person wants things not to move. */
export function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
