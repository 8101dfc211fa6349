// Users and clients: who is looked for, for whom most waits, who is suspended; one user, one connection (people.js).

import { addressOf } from "./address.js";
import { button, fill, h, timeTag } from "./ui.js";
import { revokeToken, unsuspend } from "./actions.js";
import { mountClient, mountUser } from "./people.js";
import { bytes, number } from "./format.js";
import { live } from "./live.js";
import { heading, lookForm, problemBox } from "./parts.js";
import { call } from "./server.js";
import { table } from "./table.js";

/** Ids of connections look like this; everything else is taken for a user. */
const clientId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;

function clientColumns(last) {
  return [
    { id: "user", name: "User", isHead: true, get: (one) => one.user, show: (one) => one.user || "without a user",
      href: (one) => (one.user ? addressOf(["users", one.user]) : addressOf(["clients", one.client])) },
    { id: "client", name: "Client", mono: true, wide: true, get: (one) => one.client,
      show: (one) => one.client.slice(0, 8), title: (one) => one.client, href: (one) => addressOf(["clients",
        one.client]) },
    { id: "address", name: "Address", wide: true, get: (one) => one.address },
    last,
  ];
}

function busyTables() {
  const slowest = table({
    caption: "For whom most waits", key: (one) => one.client, pageSize: 10, columns: clientColumns({
      id: "waiting", name: "Waits", number: true, get: (one) => one.waiting_bytes,
        show: (one) => bytes(one.waiting_bytes) }),
    empty: () => [h("p", { class: "strong" }, "Nobody lags."),
      h("p", { class: "soft" }, "All clients read what they are sent as it comes.")],
  });
  const busiest = table({
    caption: "With most subscriptions", key: (one) => one.client, pageSize: 10, columns: clientColumns({
      id: "subscriptions", name: "Subscriptions", number: true, get: (one) => one.subscriptions,
      show: (one) => number(one.subscriptions) }),
    empty: () => [h("p", { class: "strong" }, "Nobody is connected."),
      h("p", { class: "soft" }, "Open the demo, or connect a client with a token of ",
        h("code", {}, "fanfare token ada"), ".")],
  });
  return {
    element: h("div", { class: "halves" }, slowest.element, busiest.element),
    draw() {
      slowest.show(live.last.slowest.filter((one) => one.waiting_bytes > 0));
      busiest.show(live.last.busiest);
    },
  };
}

function suspensionsBox(context) {
  const problem = problemBox(() => load());
  const more = h("p", { class: "small soft" });
  const rows = table({
    caption: "Suspended", isTitled: true, key: (one) => one.user, pageSize: 10, columns: [
      { id: "user", name: "User", isHead: true, get: (one) => one.user, href: (one) => addressOf(["users", one.user]) },
      { id: "until", name: "Until", get: (one) => one.expire_at, stamp: (one) => one.expire_at ?? "",
        build: (one) => (one.expire_at ? timeTag(one.expire_at * 1000) : "it is lifted") },
      { id: "reason", name: "Reason", wide: true, get: (one) => one.reason ?? "" },
      { id: "actions", name: "", className: "actions", get: () => "",
        build: (one) => context.may("user_unsuspend") && button("Lift…", async () => {
        if (await unsuspend(context, one.user)) load();
      }, { kind: "quiet", "aria-label": `Lift the suspension of ${one.user}` }) },
    ],
    empty: () => [h("p", { class: "strong" }, "Nobody is suspended."),
      h("p", { class: "soft" }, "Look a user up to suspend them.")],
  });
  async function load() {
    try {
      const answer = await call("user_suspensions");
      problem.show(null);
      rows.show(answer.suspensions);
      more.textContent = answer.more > 0 ? `There are ${number(answer.more)} more.` : "";
    } catch (error) {
      problem.show(error);
    }
  }
  load();
  return h("section", { class: "stack-tight" }, h("h2", {}, "Suspensions"), problem.element, rows.element, more);
}

function mountSearch(root, context) {
  const busy = busyTables();
  const form = lookForm({
    label: "User, or id of a connection", placeholder: "ada", action: "Look up",
    onGo: (text) => context.go([clientId.test(text.trim()) ? "clients" : "users", text.trim()]),
  });
  root.append(
    heading("Users and clients", { actions: context.may("revoke_token") ? button("Revoke a token by its id…",
      () => revokeToken(context), { class: "button button-small" }) : [] }),
    form.element, h("section", { class: "stack-tight" }, h("h2", {}, "Now"), busy.element),
    context.may("user_suspensions") ? suspensionsBox(context) : "");
  const off = live.watch(() => busy.draw());
  return { unmount: off };
}

export function mount(root, context, page) {
  let shown = null;
  let name;
  return {
    route(parts) {
      if (shown && parts[0] === name) return;
      shown?.unmount();
      fill(root);
      name = parts[0];
      context.title(name ?? "Users and clients");
      if (name === undefined) shown = mountSearch(root, context);
      else shown = page === "clients" ? mountClient(root, context, name) : mountUser(root, context, name);
    },
    unmount() {
      shown?.unmount();
    },
  };
}
