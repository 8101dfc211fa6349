// What is published on a channel as it comes: a sample of it, which says what it leaves out. A filter is tried out here
// against what really comes.

import { button, count, fill, h, sentence, timeTag } from "./ui.js";
import { dataLine, wholePublication } from "./channel-history.js";
import { FilterForm } from "./filter.js";
import { clockTime, rate } from "./format.js";
import { keepStream } from "./server.js";

/** Rows that stay on the page; older ones go. */
const mostRows = 100;
/** Seconds over which it is counted how much comes. */
const counted = 10;

function row(one) {
  const full = h("pre", { class: "json", tabindex: "0" });
  const line = dataLine(one);
  return h("details", { class: "tail-row", on: {
    toggle: (event) => {
      if (event.target.open && full.textContent === "") full.textContent = wholePublication(one);
    },
  } },
  h("summary", {},
    h("span", { class: "mono" }, one.offset ?? ""),
    h("span", { class: "soft" }, one.time ? timeTag(one.time, clockTime(one.time)) : ""),
    h("span", {}, one.info?.user ?? ""),
    h("span", { class: "mono" }, line)),
  full);
}

/** How much came in the last seconds, shown or left out. */
function counter() {
  let seen = [];
  return {
    add(number) {
      seen.push({ at: Date.now(), number });
    },
    clear() {
      seen = [];
    },
    get perSecond() {
      const since = Date.now() - counted * 1000;
      seen = seen.filter(({ at }) => at >= since);
      const first = seen[0]?.at;
      if (first === undefined) return 0;
      return seen.reduce((sum, { number }) => sum + number, 0) / Math.max(1, (Date.now() - first) / 1000);
    },
  };
}

function rows() {
  const element = h("div", { class: "tail", role: "log", "aria-live": "off", "aria-label": "Publications as they come",
    tabindex: "0" });
  const empty = h("div", { class: "nothing" });
  let waiting = [];
  let isHeld = false;
  const put = (node) => {
    element.prepend(node);
    while (element.children.length > mostRows) element.lastElementChild.remove();
  };
  return {
    element: h("div", {}, empty, element),
    /** What comes while it is held waits, no more of it than is shown. */
    hold(wanted) {
      isHeld = wanted;
      if (!isHeld) for (const node of waiting.splice(0)) put(node);
    },
    add(node) {
      if (isHeld) {
        waiting = [...waiting.slice(1 - mostRows), node];
      } else {
        put(node);
      }
    },
    clear() {
      waiting = [];
      element.replaceChildren();
    },
    say(text) {
      element.hidden = element.children.length === 0;
      empty.hidden = !element.hidden;
      if (empty.textContent !== text) fill(empty, h("p", { class: "soft" }, text));
    },
    get waiting() {
      return waiting.length;
    },
  };
}

const words = {
  opening: "Listening…", paused: "Nothing is read while the page is not looked at.",
  lost: "No connection. It is tried again.",
};

class Tail {
  #channel;
  #context;
  #list = rows();
  #passed = counter();
  #heldBack = counter();
  #state = h("p", { class: "small soft grow", role: "status" });
  #form = new FilterForm((filter) => this.#try(filter));
  #details;
  #hold = button("Hold", () => this.#toggle(), { class: "button button-small", "aria-pressed": "false" });
  #stream = null;
  #filter;
  #shown;
  #isHeld = false;
  #name = "opening";
  #refusal = "";
  #timer;

  constructor(root, context, channel) {
    this.#channel = channel;
    this.#context = context;
    this.#details = h("details", { class: "card" }, h("summary", { class: "strong" }, "Try a filter"),
      h("p", { class: "soft small" },
        "The same filters that subscriptions have, on the tags of publications; user is always the publishing user."),
      this.#form.element);
    const clear = button("Clear", () => {
      this.#list.clear();
      this.#tell();
    }, { class: "button button-small button-quiet" });
    root.append(this.#details, h("div", { class: "row" }, this.#state, this.#hold, clear), this.#list.element);
    this.#timer = setInterval(() => {
      if (!document.hidden) this.#tell();
    }, 1000);
  }

  route(query) {
    if (this.#stream && query.filter === this.#shown) return;
    this.#shown = query.filter;
    let filter;
    try {
      filter = query.filter ? JSON.parse(query.filter) : undefined;
    } catch {
      this.#context.toast("The filter in the address cannot be read. It is left out.", { isBad: true });
    }
    if (this.#stream && JSON.stringify(filter) === JSON.stringify(this.#filter)) return;
    this.#form.set(filter);
    this.#details.open = Boolean(filter);
    this.#open(filter);
  }

  unmount() {
    clearInterval(this.#timer);
    this.#stream?.stop();
  }

  #try(filter) {
    this.#shown = filter && JSON.stringify(filter);
    this.#context.replace(["channels", this.#channel], { filter: this.#shown });
    this.#open(filter);
  }

  #toggle() {
    this.#isHeld = !this.#isHeld;
    this.#list.hold(this.#isHeld);
    this.#hold.setAttribute("aria-pressed", String(this.#isHeld));
    this.#tell();
  }

  #open(filter) {
    this.#stream?.stop();
    this.#list.clear();
    this.#passed.clear();
    this.#heldBack.clear();
    this.#filter = filter;
    const given = filter ? { filter: JSON.stringify(filter) } : {};
    this.#stream = keepStream(`tail?${new URLSearchParams({ channel: this.#channel, ...given })}`, {
      onMessage: (message) => this.#take(message),
      onState: (name, { error }) => this.#become(name, error),
    });
  }

  #become(name, error) {
    this.#name = name;
    if (name === "refused") {
      this.#refusal = this.#filter ? "The tail is not open: the filter was refused." : sentence(error);
      if (this.#filter) this.#form.fail(sentence(error));
      this.#details.open ||= Boolean(this.#filter);
    }
    this.#tell();
  }

  #take(message) {
    if (message.filtered > 0) this.#heldBack.add(message.filtered);
    if (message.skipped > 0) {
      this.#passed.add(message.skipped);
      this.#list.add(h("p", { class: "tail-skip" },
        `${count(message.skipped, "publication")} left out here: this is a sample.`));
    }
    if (message.offset === undefined && message.data === undefined) return;
    this.#passed.add(1);
    this.#list.add(row(message));
  }

  #tell() {
    const passed = this.#passed.perSecond;
    const all = passed + this.#heldBack.perSecond;
    const share = all > passed ? ` of ${rate(all)}` : "";
    const what = `${this.#filter ? "Passes the filter" : "Comes now"}: ${rate(passed)}${share}.`;
    const held = this.#isHeld ? ` Held; ${count(this.#list.waiting, "row")} wait.` : "";
    const closed = this.#name === "refused" ? this.#refusal : words[this.#name];
    const text = closed ?? `${what}${held}`;
    if (this.#state.textContent !== text) this.#state.textContent = text;
    const nothing = this.#filter ? "Nothing has passed the filter yet."
      : "Listening. What is published from now on appears here.";
    this.#list.say(closed ?? nothing);
  }
}

export function mountTail(root, context, channel) {
  return new Tail(root, context, channel);
}
