// One user and one connection: what the server knows of them, and what can be done.

import { button, count, fill, h, timeTag } from "./ui.js";
import { deleteUser, disconnect, revokeTokens, suspend, unsubscribe, unsuspend } from "./actions.js";
import { addressOf } from "./address.js";
import { bytes, number, whole } from "./format.js";
import { chip, factList, heading, missingGateways, note, problemBox } from "./parts.js";
import { call, poll } from "./server.js";
import { table } from "./table.js";

const words = {
  channels: "channels", publications: "publications", entries: "entries of maps", webhook_events: "events for webhooks",
};

function clientsOf({ gateways }) {
  return gateways.flatMap(({ uid, found }) =>
    (found?.clients ?? []).map((one) => ({ ...one, gateway: found.name || uid })));
}

function connectionTable(context, user, reload) {
  return table({
    caption: "Connections", isTitled: true, isStacked: true, key: (one) => one.client, pageSize: 10, columns: [
      { id: "client", name: "Client", isHead: true, mono: true, get: (one) => one.client,
        show: (one) => one.client.slice(0, 8), title: (one) => one.client,
        href: (one) => addressOf(["clients", one.client]) },
      { id: "since", name: "Since", className: "fit", get: (one) => one.since, stamp: (one) => one.since,
        build: (one) => timeTag(one.since * 1000) },
      { id: "address", name: "Address", wide: true, get: (one) => one.address },
      { id: "sdk", name: "SDK", wide: true, get: (one) => [one.sdk, one.format].filter(Boolean).join(", ") },
      { id: "subscriptions", name: "Subs.", number: true, get: (one) => one.num_subs,
        show: (one) => number(one.num_subs) },
      { id: "waiting", name: "Waits", number: true, get: (one) => one.waiting_bytes,
        show: (one) => bytes(one.waiting_bytes) },
      { id: "gateway", name: "Gateway", wide: true, get: (one) => one.gateway },
      { id: "actions", name: "", className: "actions", get: () => "",
        build: (one) => context.may("disconnect") && button("Disconnect…", async () => {
        if (await disconnect(context, { client: one.client }, `${user}, ${one.client.slice(0, 8)}`)) reload();
      }, { kind: "quiet", "aria-label": `Disconnect ${one.client}` }) },
    ],
    empty: () => [h("p", { class: "strong" }, "This user is not connected."),
      h("p", { class: "soft" }, "The server does not know who exists elsewhere: see that the id is right.")],
  });
}

function quotaTable() {
  return table({
    caption: "Quotas", isTitled: true, key: (one) => one.namespace, pageSize: 10, columns: [
      { id: "namespace", name: "Namespace", isHead: true, get: (one) => one.namespace || "without a namespace" },
      { id: "bytes", name: "Keeps", number: true, get: (one) => one.bytes,
        show: (one) => `${bytes(one.bytes)}${one.bytes_limit ? ` of ${bytes(one.bytes_limit)}` : ""}`,
        part: (one) => (one.bytes_limit ? one.bytes / one.bytes_limit : 0) },
      { id: "entries", name: "Entries", number: true, get: (one) => one.entries,
        show: (one) => `${whole(one.entries)}${one.entries_limit ? ` of ${whole(one.entries_limit)}` : ""}`,
        part: (one) => (one.entries_limit ? one.entries / one.entries_limit : 0) },
    ],
  });
}

/** What is kept, which goes through all there is: only when somebody asks. */
function keptBox(user) {
  const problem = problemBox(() => load());
  const state = h("p", { class: "small soft", role: "status" });
  const rows = table({
    caption: "Kept of this user", isTitled: true, key: (one) => `${one.kind} ${one.namespace ?? ""}`, pageSize: 20,
      columns: [
      { id: "kind", name: "Kind", isHead: true, get: (one) => words[one.kind] ?? one.kind },
      { id: "namespace", name: "Namespace", wide: true,
        get: (one) => (one.namespace === "" ? "without a namespace" : one.namespace ?? "") },
      { id: "count", name: "Count", number: true, get: (one) => one.count, show: (one) => whole(one.count) },
      { id: "bytes", name: "Bytes", number: true, get: (one) => one.bytes, show: (one) => bytes(one.bytes) },
    ],
    empty: () => h("p", { class: "strong" }, "Nothing is kept of this user."),
  });
  rows.element.hidden = true;
  async function load() {
    state.textContent = "Looking through all that is kept…";
    try {
      const answer = await call("user_data", { user });
      problem.show(null);
      rows.element.hidden = false;
      rows.show(answer.kept);
      state.textContent = `Present on ${count(answer.present, "channel")}; `
        + `${count(answer.revocations, "revocation")} named after the user.`;
    } catch (error) {
      state.textContent = "";
      problem.show(error);
    }
  }
  return h("section", { class: "stack-tight" },
    h("div", { class: "row row-between" }, h("h2", {}, "What is kept"),
      button("Count it", load, { class: "button button-small" })),
    state, problem.element, rows.element);
}

function revocationText(one) {
  const until = one.expire_at ? `, until ${new Date(one.expire_at * 1000).toLocaleString()}` : "";
  const which = one.channel ? `Subscription tokens for ${one.channel}` : "Tokens";
  return `${which} that were issued before ${new Date(one.issued_before * 1000).toLocaleString()} are revoked${until}.`;
}

function suspensionNote(suspended) {
  if (!suspended) return null;
  const { reason, expire_at: end } = suspended;
  const until = end ? `until ${new Date(end * 1000).toLocaleString()}` : "until it is lifted";
  return note(`Suspended ${until}${reason ? `: ${reason}` : ""}.`, "bad");
}

function standingOf({ broker }) {
  const { suspended, revocations = [] } = broker;
  return [
    suspended ? chip("suspended", "bad") : null,
    revocations.length > 0 ? chip(count(revocations.length, "revocation"), "warn") : null,
  ];
}

function lacksActions(context) {
  return ["disconnect", "invalidate_user_tokens", "user_suspend", "user_delete"].some((method) => !context.may(method));
}

function userActions(context, user, known, reload) {
  const act = (f) => async () => {
    if (await f(context, user)) reload();
  };
  const isSuspended = Boolean(known?.broker.suspended);
  return [
    ["disconnect", "Disconnect…", () => disconnect(context, { user }, user)],
    ["invalidate_user_tokens", "Revoke tokens…", revokeTokens],
    isSuspended ? ["user_unsuspend", "Lift the suspension…", unsuspend] : ["user_suspend", "Suspend…", suspend],
    ["user_delete", "Delete…", deleteUser],
  ].filter(([method]) => context.may(method)).map(([method, text, f]) => button(text, act(f), {
    class: `button button-small ${method === "user_delete" ? "button-danger" : ""}`,
  }));
}

export function mountUser(root, context, user) {
  const facts = factList();
  const chips = h("div", { class: "row" });
  const actions = h("div", { class: "row" });
  const standing = h("div", { class: "stack-tight" });
  const problem = problemBox(() => asking.now());
  const rows = connectionTable(context, user, () => asking.now());
  const quotas = quotaTable();
  const quotaBox = h("section", { class: "stack-tight", hidden: true }, h("h2", {}, "Quotas"), quotas.element);
  const connections = h("section", { class: "stack-tight", hidden: true }, h("h2", {}, "Connections"), rows.element);
  root.append(
    heading(user, { crumb: { text: "Users and clients", href: "#/users" }, actions }), chips, problem.element,
      facts.element,
    standing, connections, quotaBox, keptBox(user),
    lacksActions(context) ? h("p", { class: "small soft" }, "What the console may do to people is set with ",
      h("a", { href: addressOf(["settings"], { find: "console.allow" }) }, "console.allow"), ".") : "",
    h("p", { class: "row more" },
      h("a", { href: addressOf(["why"], { ask: "may", user }) }, "What may this user do?"),
      h("a", { href: addressOf(["why"], { user }) }, "Why did something not reach them?"),
      h("a", { href: addressOf(["apps"], { user }) }, "Clique and State")));
  fill(actions, userActions(context, user, null, () => asking.now()));
  let wasSuspended = false;
  const asking = poll(5, async (signal) => {
    try {
      const known = await call("inspect_user", { user }, { signal });
      const clients = clientsOf(known);
      problem.show(missingGateways(known));
      facts.show({
        Connections: number(clients.length),
        Subscriptions: number(clients.reduce((sum, one) => sum + (one.num_subs ?? 0), 0)),
        Waits: bytes(clients.reduce((sum, one) => sum + (one.waiting_bytes ?? 0), 0)),
        "Keys held": known.broker.idempotency_keys > 0 ? number(known.broker.idempotency_keys) : undefined,
      });
      fill(chips, standingOf(known));
      const revocations = (known.broker.revocations ?? []).slice(0, 5);
      fill(standing, suspensionNote(known.broker.suspended),
        revocations.map((one) => note(revocationText(one), "warn")));
      connections.hidden = false;
      rows.show(clients);
      const used = (known.broker.quotas ?? []).filter((one) => one.entries > 0 || one.bytes > 0);
      quotaBox.hidden = used.length === 0;
      quotas.show(used);
      if (Boolean(known.broker.suspended) === wasSuspended) return;
      wasSuspended = !wasSuspended;
      fill(actions, userActions(context, user, known, () => asking.now()));
    } catch (error) {
      if (error.name !== "AbortError") problem.show(error);
    }
  });
  return { unmount: () => asking.stop() };
}

export function mountClient(root, context, id) {
  const facts = factList();
  const user = h("p", {});
  const problem = problemBox(() => asking.now());
  const gone = h("div", {});
  const rows = table({
    caption: "Subscriptions", isStacked: true, key: (one) => one.channel, pageSize: 20,
    sort: { id: "channel", down: false }, columns: [
      { id: "channel", name: "Channel", isHead: true, mono: true, get: (one) => one.channel,
        href: (one) => addressOf(["channels", one.channel]) },
      { id: "behind", name: "Behind", number: true, get: (one) => one.behind_bytes,
        show: (one) => bytes(one.behind_bytes) },
      { id: "actions", name: "", className: "actions", get: () => "",
        build: (one) => context.may("unsubscribe") && button("Unsubscribe…", async () => {
        if (await unsubscribe(context, { client: id }, id.slice(0, 8), one.channel)) asking.now();
      }, { kind: "quiet", "aria-label": `Unsubscribe from ${one.channel}` }) },
    ],
    empty: () => h("p", { class: "strong" }, "This connection has no subscription."),
  });
  rows.element.hidden = true;
  root.append(heading(id, { mono: true, crumb: { text: "Users and clients", href: "#/users" },
    actions: context.may("disconnect") ? button("Disconnect…", async () => {
      if (await disconnect(context, { client: id }, id.slice(0, 8))) asking.now();
    }, { class: "button button-small button-danger" }) : [] }), user, problem.element, facts.element, gone,
      rows.element);
  const asking = poll(5, async (signal) => {
    try {
      const known = await call("inspect_client", { client: id }, { signal });
      problem.show(missingGateways(known));
      const [one] = clientsOf(known);
      rows.element.hidden = !one;
      fill(gone, one ? [] : note("No gateway has this connection: it has ended. Look its user up to find others.",
        "warn"));
      if (!one) return;
      if (!user.firstChild) {
        fill(user, one.user ? ["Signed in as ", h("a", { href: addressOf(["users", one.user]) }, one.user), "."]
          : "Signed in without a user.");
      }
      facts.show({
        Since: new Date(one.since * 1000).toLocaleString(), Address: one.address,
        SDK: [one.sdk, one.version, one.format].filter(Boolean).join(", "), Gateway: one.gateway,
        Subscriptions: number(one.num_subs), Waits: bytes(one.waiting_bytes), Asked: bytes(one.asked_bytes),
      });
      rows.show(one.subscriptions ?? []);
    } catch (error) {
      if (error.name !== "AbortError") problem.show(error);
    }
  });
  return { unmount: () => asking.stop() };
}
