// Webhooks: how each is doing, what was given up, and sending it again.

import { button, count, fromNow, fill, h, timeTag } from "./ui.js";
import { addressOf } from "./address.js";
import { bytes, number, pretty } from "./format.js";
import { ask, chip, factList, heading, jsonCell, problemBox } from "./parts.js";
import { call, poll } from "./server.js";
import { pagedList, table } from "./table.js";

const pageSize = 25;

function columns() {
  return [
    { id: "name", name: "Webhook", isHead: true, get: (one) => one.name, href: (one) => addressOf(["webhooks",
      one.name]) },
    { id: "state", name: "State", get: (one) => (one.failing_since ? 1 : 0),
      stamp: (one) => `${one.failing_since} ${one.given_up}`,
      build: (one) => stateChip(one) },
    { id: "waiting", name: "Waiting", number: true, get: (one) => one.waiting, show: (one) => number(one.waiting) },
    { id: "oldest", name: "Oldest", wide: true, className: "fit", get: (one) => one.oldest ?? 0,
      show: (one) => (one.oldest ? fromNow(one.oldest) : "–") },
    { id: "given", name: "Given up", number: true, get: (one) => one.given_up, show: (one) => number(one.given_up) },
    { id: "sent", name: "Sent", number: true, wide: true, get: (one) => one.sent_total,
      show: (one) => number(one.sent_total) },
    { id: "failed", name: "Failed", number: true, wide: true, get: (one) => one.failed_total,
      show: (one) => number(one.failed_total) },
    { id: "lost", name: "Lost", number: true, wide: true, get: (one) => one.lost_total,
      show: (one) => number(one.lost_total) },
  ];
}

function stateChip(one) {
  if (one.failing_since) return chip("failing", "bad");
  return one.given_up > 0 ? chip("events given up", "warn") : chip("in order", "good");
}

function mountList(root) {
  const problem = problemBox(() => asking.now());
  const rows = table({
    caption: "Webhooks", isTitled: true, note: "totals count since the broker began", columns: columns(),
      key: (one) => one.name, pageSize: 32,
    empty: () => [h("p", { class: "strong" }, "No webhook is configured."),
      h("p", { class: "soft" }, 
        "A webhook tells your backend who comes and goes and what is published. It stands in the configuration:"),
      h("pre", { class: "json" }, pretty({ webhooks: [{
        name: "orders", url: "https://example.com/fanfare", secret: "at least 32 random bytes", events: ["publication"],
      }] }))],
  });
  const errors = h("div", { class: "stack-tight" });
  rows.element.hidden = true;
  root.append(heading("Webhooks"), problem.element, rows.element, errors);
  let shown = "";
  const asking = poll(5, async (signal) => {
    try {
      const { webhooks } = await call("webhooks_list", {}, { signal });
      problem.show(null);
      rows.element.hidden = false;
      rows.show(webhooks);
      const failing = webhooks.filter((one) => one.last_error);
      const stamp = JSON.stringify(failing.map((one) => [one.name, one.last_error, one.failing_since]));
      if (stamp === shown) return;
      shown = stamp;
      fill(errors, failing.map((one) => h("p", { class: "note note-bad" }, h("b", {}, one.name), ": ", one.last_error,
        one.failing_since ? [", since ", timeTag(one.failing_since)] : "", ".")));
    } catch (error) {
      if (error.name !== "AbortError") problem.show(error);
    }
  });
  return { unmount: () => asking.stop() };
}

function resend(context, name, number) {
  return ask(context, {
    title: "Send them again?", action: "Send again", isDanger: false,
    text: [`Of ${count(number, "event")} that ${name} gave up, the oldest go back into its queue: up to 1,000 at once.`,
      "Your backend may get some of them for a second time; their ids are the same as before."],
    run: (key) => call("webhook_resend", { name, limit: 1000, idempotency_key: key }),
    done: ({ resent, left }) => {
      const rest = left > 0 ? `; ${count(left, "is", "are")} left` : "";
      return `${count(resent, "event")} of ${name} wait to be sent again${rest}.`;
    },
  });
}

function givenUpTable() {
  return table({
    caption: "Given up", isTitled: true, note: "the oldest first", key: (one) => one.position, pageSize,
      isStacked: true, columns: [
      { id: "type", name: "Event", isHead: true, get: (one) => one.event?.type ?? "" },
      { id: "at", name: "Given up", className: "fit", get: (one) => one.given_up_at, stamp: (one) => one.given_up_at,
        build: (one) => timeTag(one.given_up_at) },
      { id: "reason", name: "Why", className: "block", get: (one) => one.reason },
      { id: "event", name: "", get: () => "", build: (one) => jsonCell(one.event?.id ?? "event",
        () => pretty(one.event)) },
    ],
    empty: () => [h("p", { class: "strong" }, "Nothing was given up."),
      h("p", { class: "soft" },
        "Events that your backend has not taken for give_up_after stand here, until they are sent again.")],
  });
}

function mountOne(root, context, name) {
  const facts = factList();
  const problem = problemBox(() => asking.now());
  const state = h("div", { class: "stack-tight" });
  const rows = givenUpTable();
  const again = button("Send again…", async () => {
    if (!await resend(context, name, known?.given_up ?? 0)) return;
    asking.now();
    pages.restart();
  }, { class: "button button-small", hidden: true });
  let known = null;
  const pages = pagedList({
    label: "Pages of what was given up",
    async load(position) {
      const answer = await call("webhook_given_up", { name, limit: pageSize, ...(position ? { position } : {}) });
      return { items: answer.events, next: answer.left > 0 ? answer.events.at(-1)?.position : undefined };
    },
    show: (items) => rows.show(items),
    onError: (error) => problem.show(error),
  });
  root.append(heading(name, { crumb: { text: "Webhooks", href: "#/webhooks" } }), state, problem.element, facts.element,
    h("section", { class: "stack-tight" },
      h("div", { class: "row row-between" }, h("h2", {}, "What was given up"), again), rows.element, pages.element));
  const asking = poll(5, async (signal) => {
    try {
      const { webhooks } = await call("webhooks_list", {}, { signal });
      const wasGiven = known?.given_up;
      known = webhooks.find((one) => one.name === name);
      if (!known) return problem.show(new Error("No webhook of this name is configured."));
      problem.show(null);
      if (wasGiven !== undefined && wasGiven !== known.given_up && pages.isFirst) pages.reload();
      again.hidden = known.given_up === 0 || !context.may("webhook_resend");
      fill(state, h("div", {}, stateChip(known)),
        known.last_error ? h("p", { class: "note note-bad" }, known.last_error) : null);
      facts.show({
        Waiting: number(known.waiting), "In bytes": bytes(known.waiting_bytes),
        Oldest: known.oldest ? fromNow(known.oldest) : undefined, "Given up": number(known.given_up),
        "Failing since": known.failing_since ? new Date(known.failing_since).toLocaleString() : undefined,
        Sent: number(known.sent_total), Failed: number(known.failed_total),
          "Given up in all": number(known.given_up_total),
        Lost: number(known.lost_total),
      });
    } catch (error) {
      if (error.name !== "AbortError") problem.show(error);
    }
  });
  pages.restart();
  return { unmount: () => asking.stop() };
}

export function mount(root, context) {
  let shown = null;
  let name;
  return {
    route(parts) {
      if (shown && parts[0] === name) return;
      shown?.unmount();
      fill(root);
      name = parts[0];
      context.title(name ?? "Webhooks");
      shown = name === undefined ? mountList(root) : mountOne(root, context, name);
    },
    unmount() {
      shown?.unmount();
    },
  };
}
