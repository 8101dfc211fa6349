// One channel: what it is, how busy it is, and what one can look at and do there.

import { count, fill, h } from "./ui.js";
import { addressOf } from "./address.js";
import { mountEntries, mountHistory } from "./channel-history.js";
import { mountMembers } from "./channel-members.js";
import { mountPublish } from "./channel-publish.js";
import { mountTail } from "./channel-tail.js";
import { age, byteRate, bytes, number, rate, whole } from "./format.js";
import { busyChannels, live } from "./live.js";
import { chip, factList, heading, missingGateways, problemBox, views } from "./parts.js";
import { call, poll } from "./server.js";

const durabilities = { durable: "durable", relaxed: "relaxed", memory: "in memory" };

function sum(gateways, name) {
  return gateways.reduce((total, { found }) => total + (found?.[name] ?? 0), 0);
}

function factsOf({ broker, gateways }, busy) {
  const history = broker.history;
  const keeps = history?.size_limit > 0 || history?.publications > 0;
  return {
    Subscribers: number(sum(gateways, "subscribers")),
    Deliveries: busy ? rate(busy.deliveries) : undefined,
    Published: busy ? rate(busy.publications) : undefined,
    Bytes: busy ? byteRate(busy.bytes) : undefined,
    "Newest position": broker.offset === undefined ? undefined : whole(broker.offset),
    Keeps: keeps ? `${whole(history.publications)} of ${whole(history.size_limit)}` : history && "no history",
    "For up to": keeps && history.ttl_ms > 0 ? age(history.ttl_ms / 1000) : undefined,
    "In history": keeps ? bytes(history.bytes) : undefined,
    Behind: sum(gateways, "subscribers_behind") > 0 ? count(sum(gateways, "subscribers_behind"),
      "subscriber") : undefined,
    "Kept for them": sum(gateways, "kept_bytes") > 0 ? bytes(sum(gateways, "kept_bytes")) : undefined,
    "On gateways": number(broker.gateways ?? gateways.length),
    Epoch: broker.epoch,
  };
}

function chipsOf({ broker }) {
  return [
    broker.kind === "map" ? chip("map") : null,
    broker.durability ? chip(durabilities[broker.durability] ?? broker.durability) : null,
    broker.lane && broker.lane !== "publications" ? chip(`lane ${broker.lane}`) : null,
    broker.exists === false ? chip("nothing here yet", "warn") : null,
  ];
}

/** What the views share: the channel's name, and what the server said of it last. */
function makeViews(context, name, shared) {
  const isMap = () => shared.known?.broker.kind === "map";
  return {
    tail: { name: "Live tail", mount: (root) => mountTail(root, context, name) },
    history: { name: "History", mount: (root) => (
      isMap() ? mountEntries(root, context, name) : mountHistory(root, context, name)) },
    members: { name: "Members", mount: (root) => mountMembers(root, context, name) },
    publish: { name: "Publish", mount: (root) => mountPublish(root, context, name, shared) },
  };
}

export function mountChannel(root, context, name) {
  const shared = { known: null };
  const kinds = makeViews(context, name, shared);
  const facts = factList();
  const chips = h("div", { class: "row" });
  const problem = problemBox(() => asking.now());
  if (!context.may("publish")) delete kinds.publish;
  if (!context.may("presence")) delete kinds.members;
  const tabs = views("What to look at", Object.entries(kinds).map(([id, one]) => ({ id, name: one.name })));
  const place = h("div", { class: "stack" });
  let view = "";
  let open = null;
  let wanted = null;
  root.append(
    heading(name, { mono: true, crumb: { text: "Channels", href: "#/channels" }, actions: chips }),
     problem.element, facts.element, tabs.element, place);

  let chipsShown = "";
  const showChips = () => {
    const { kind, durability, lane, exists } = shared.known.broker;
    const stamp = JSON.stringify([kind, durability, lane, exists]);
    if (stamp === chipsShown) return;
    chipsShown = stamp;
    fill(chips, chipsOf(shared.known));
  };
  const show = () => {
    if (!shared.known) return;
    facts.show(factsOf(shared.known, busyChannels().find((one) => one.channel === name)));
  };
  function showView(query) {
    wanted = query;
    // Whether it is a map says what the history is.
    if (!shared.known && query.view === "history") return fill(place, h("p", { class: "soft" }, "Asking…"));
    const id = Object.hasOwn(kinds, query.view) ? query.view : "tail";
    if (id !== view) {
      open?.unmount?.();
      view = id;
      place.replaceChildren();
      open = kinds[id].mount(place);
      tabs.show(id, (other) => addressOf(["channels", name], { view: other === "tail" ? "" : other }));
    }
    open.route?.(query);
  }
  const asking = poll(4, async (signal) => {
    try {
      const isFirst = !shared.known;
      shared.known = await call("inspect_channel", { channel: name }, { signal });
      problem.show(missingGateways(shared.known));
      showChips();
      if (isFirst && shared.known.broker.kind === "map") tabs.rename("history", "Entries");
      show();
      if (isFirst && wanted) showView(wanted);
      open?.known?.();
    } catch (error) {
      if (error.name !== "AbortError") problem.show(error);
    }
  });
  const off = live.watch(show);
  return {
    route: showView,
    unmount() {
      off();
      asking.stop();
      open?.unmount?.();
    },
  };
}
