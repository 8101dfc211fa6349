// Channels: those that are busy, those whose names begin with something, and one of them (channel.js).

import { button, count, fill, h } from "./ui.js";
import { addressOf } from "./address.js";
import { mountChannel } from "./channel.js";
import { byteRate, number, rate } from "./format.js";
import { busyChannels, live } from "./live.js";
import { heading, lookForm, problemBox } from "./parts.js";
import { call } from "./server.js";
import { table } from "./table.js";

/** With more channels than this, none are listed before somebody says which. */
const listedAtOnce = 2000;

function columns() {
  return [
    { id: "channel", name: "Channel", isHead: true, mono: true, get: (one) => one.channel, title: (one) => one.channel,
      href: (one) => addressOf(["channels", one.channel]) },
    { id: "subscribers", name: "Subscribers", number: true, get: (one) => one.subscribers,
      show: (one) => number(one.subscribers) },
    { id: "deliveries", name: "Deliveries", number: true, get: (one) => one.deliveries,
      show: (one) => rate(one.deliveries) },
    { id: "publications", name: "Published", number: true, wide: true, get: (one) => one.publications,
      show: (one) => rate(one.publications) },
    { id: "bytes", name: "Bytes", number: true, wide: true, get: (one) => one.bytes,
      show: (one) => byteRate(one.bytes) },
  ];
}

class ChannelList {
  #prefix = "";
  #found = null;
  #controller = new AbortController();
  #problem = problemBox(() => this.#load());
  #state = h("p", { class: "soft small", role: "status" });
  #form;
  #rows = table({
    caption: "Channels with subscribers", isTitled: true, columns: columns(), key: (one) => one.channel, pageSize: 25,
    sort: { id: "subscribers", down: true },
    note: "rates are known of the 50 channels to which most bytes go",
    empty: () => [h("p", { class: "strong" }, "No such channel has a subscriber."),
      h("p", { class: "soft" }, "A channel that nobody follows can be opened by its whole name.")],
  });
  #off;

  constructor(root, context) {
    this.#form = lookForm({
      label: "Names that begin with", placeholder: "chat:", action: "List", canBeEmpty: true,
      onGo: (text) => context.go(["channels"], { prefix: text, list: "1" }),
      more: button("Open this channel", () => {
        const { input } = this.#form;
        if (input.value) context.go(["channels", input.value]); else input.focus();
      }),
    });
    root.append(
      heading("Channels"), this.#form.element, this.#problem.element, this.#state, this.#rows.element);
    this.#rows.element.hidden = true;
    this.#off = live.watch(() => {
      this.#loadIfFew();
      this.#show();
    });
  }

  route(query) {
    const wanted = query.prefix ?? "";
    const { input } = this.#form;
    if (input.value !== wanted) input.value = wanted;
    if (query.list === undefined && !wanted) return;
    if (this.#found && wanted === this.#prefix) return;
    this.#prefix = wanted;
    this.#load();
  }

  unmount() {
    this.#off();
    this.#controller.abort();
  }

  #show() {
    if (!this.#found) return;
    const busy = new Map(busyChannels().map((one) => [one.channel, one]));
    this.#rows.element.hidden = false;
    this.#rows.show(this.#found.map((one) => ({ ...busy.get(one.channel), ...one })));
  }

  async #load() {
    this.#controller.abort();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    this.#found ??= [];
    this.#state.textContent = "Asking every gateway…";
    try {
      const { channels, partial } = await call("channels", this.#prefix ? { prefix: this.#prefix } : {}, { signal });
      this.#found = Object.entries(channels).map(([channel, one]) => ({ channel, subscribers: one.num_clients }));
      this.#problem.show(null);
      const more = partial ? ": there are more, or a gateway did not answer. Type more of the name."
        : this.#hasOthers() ? ". Others, as those of Clique and State, are not for this console to read." : ".";
      this.#state.textContent = `${count(this.#found.length, "channel")} with subscribers${more}`;
      this.#rows.first();
      this.#show();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#state.textContent = "";
      this.#problem.show(error);
    }
  }

  /** Whether the server has channels that are left out of the list by `console.channels`, and not by what was typed. */
  #hasOthers() {
    return !this.#prefix && live.last?.now.get("channels") > this.#found.length;
  }

  /** Where there are few, all of them are there at once. */
  #loadIfFew() {
    const channels = live.last?.now.get("channels");
    if (channels === undefined || this.#found) return;
    if (channels <= listedAtOnce) return this.#load();
    if (this.#state.textContent) return;
    fill(this.#state, `This server has ${count(channels, "channel")}: say how the names begin. `,
      "The busy ones stand in the ", h("a", { href: "#/overview" }, "overview"), ".");
  }
}

export function mount(root, context) {
  let shown = null;
  let name;
  return {
    route(parts, query) {
      const wanted = parts[0];
      if (!shown || wanted !== name) {
        shown?.unmount();
        root.replaceChildren();
        name = wanted;
        shown = name === undefined ? new ChannelList(root, context) : mountChannel(root, context, name);
        context.title(name ?? "Channels");
      }
      shown.route?.(query);
    },
    unmount() {
      shown?.unmount();
    },
  };
}
