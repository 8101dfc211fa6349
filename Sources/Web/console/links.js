// The processes behind the server: gateways, the broker, and what stands between them.

import { h } from "./ui.js";
import { addressOf } from "./address.js";
import { age, bytes, byteRate, number, rate, seconds, whole } from "./format.js";
import { hopTimes, live } from "./live.js";
import { factList, heading, missingGateways, note, problemBox } from "./parts.js";
import { plot } from "./plot.js";
import { call, poll } from "./server.js";
import { table } from "./table.js";

function gatewayTable() {
  return table({
    caption: "Gateways", isTitled: true, key: (one) => one.uid, pageSize: 20, sort: { id: "clients", down: true },
      columns: [
      { id: "name", name: "Gateway", isHead: true, get: (one) => one.name, title: (one) => one.uid },
      { id: "clients", name: "Clients", number: true, get: (one) => one.num_clients,
        show: (one) => number(one.num_clients) },
      { id: "users", name: "Users", number: true, wide: true, get: (one) => one.num_users,
        show: (one) => number(one.num_users) },
      { id: "subs", name: "Subscriptions", number: true, get: (one) => one.num_subs,
        show: (one) => number(one.num_subs) },
      { id: "channels", name: "Channels", number: true, wide: true, get: (one) => one.num_channels,
        show: (one) => number(one.num_channels) },
      { id: "uptime", name: "Runs for", number: true, get: (one) => one.uptime, show: (one) => age(one.uptime) },
      { id: "version", name: "Version", wide: true, get: (one) => one.version },
    ],
    empty: () => [h("p", { class: "strong" }, "No gateway is linked to the broker."),
      h("p", { class: "soft" }, "Clients have nowhere to connect to. Start one with ", h("code", {}, "fanfare gateway"),
        ", or see in its log why the link does not open.")],
  });
}

/** What does not fit together, as sentences. */
export function oddities({ nodes, broker, unanswered = 0 }) {
  const found = [missingGateways({ unanswered })?.message].filter(Boolean);
  const versions = new Set([...nodes.map((one) => one.version), broker.version]);
  if (versions.size > 1) found.push(`Processes of different versions run together: ${[...versions].join(", ")}.`);
  return found;
}

function linkPlots() {
  const hop = (name) => (frame) => frame.latencies.get(name)?.p99_seconds;
  return [
    plot({ title: "Links, 99 %", format: seconds, log: true, series: [
      { name: "to the broker", colour: 1, get: hop("link_in") },
      { name: "to the gateways", colour: 2, get: hop("link_out") }] }),
    plot({ title: "Log", format: seconds, log: true, series: [
      { name: "commit median", colour: 1, get: (frame) => frame.latencies.get("(commit)")?.p50_seconds },
      { name: "commit 99 %", colour: 3, get: (frame) => frame.latencies.get("(commit)")?.p99_seconds }] }),
    plot({ title: "Waits for the disk", format: bytes, isBytes: true, series: [
      { name: "in the broker", colour: 3, get: (frame) => frame.now.get("waits for the disk") }] }),
  ];
}

function liveFacts(frame) {
  const commit = hopTimes().get("(commit)");
  return {
    "Published now": rate(frame.rates.get("publications")),
    Commits: rate(frame.rates.get("commits")),
    "A commit takes": commit ? seconds(commit.median) : undefined,
    "Written to the log": byteRate(frame.rates.get("written to the log")),
    "Waits for the disk": bytes(frame.now.get("waits for the disk")),
    "Memory for channels": bytes(frame.now.get("memory of the broker")),
    Recoveries: rate(frame.rates.get("recoveries")),
  };
}

export function mount(root) {
  const problem = problemBox(() => asking.now());
  const notes = h("div", { class: "stack-tight", role: "status" });
  const gateways = gatewayTable();
  const facts = factList();
  const drawn = linkPlots();
  gateways.element.hidden = true;
  root.append(
    heading("Links and broker"), problem.element, notes,
    h("section", { class: "stack-tight" }, h("h2", {}, "Gateways"), gateways.element),
    h("section", { class: "stack-tight" }, h("h2", {}, "Broker"), facts.element),
    h("div", { class: "plots" }, drawn.map(({ element }) => element)),
    h("p", { class: "small" }, h("a", { href: addressOf(["settings"], { find: "backbone" }) }, "How they are linked"),
      " stands in the configuration."));
  let shown = "";
  const showNotes = (found) => {
    const stamp = JSON.stringify(found);
    if (stamp === shown) return;
    shown = stamp;
    notes.replaceChildren(...found.map((text) => note(text, "warn")));
  };
  let odd = [];
  const asking = poll(5, async (signal) => {
    try {
      const answer = await call("info", {}, { signal });
      problem.show(null);
      gateways.element.hidden = false;
      gateways.show(answer.nodes);
      facts.show({
        Version: answer.broker.version, "Runs for": age(answer.broker.uptime),
        "Channels in memory": whole(answer.broker.num_channels),
        "Published since it began": whole(answer.broker.num_publications),
      });
      odd = oddities(answer);
      showNotes([...odd, ...(live.last?.troubles ?? [])]);
    } catch (error) {
      if (error.name !== "AbortError") problem.show(error);
    }
  });
  const off = live.watch(() => {
    facts.show(liveFacts(live.last));
    for (const one of drawn) one.draw();
    showNotes([...odd, ...live.last.troubles]);
  });
  return {
    unmount() {
      off();
      asking.stop();
      for (const one of drawn) one.end();
    },
  };
}
