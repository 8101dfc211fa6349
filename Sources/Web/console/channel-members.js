// Who is on a channel: how many at once, their names when that is asked for.

import { button, count, h } from "./ui.js";
import { disconnect, unsubscribe } from "./actions.js";
import { addressOf } from "./address.js";
import { oneLine, whole } from "./format.js";
import { factList, problemBox } from "./parts.js";
import { call } from "./server.js";
import { table } from "./table.js";

/** With more members than this, their names come when somebody asks for them: the answer is large. */
const namedAtOnce = 300;

function columns(context, channel, reload) {
  const act = (f) => async () => {
    if (await f()) reload();
  };
  return [
    { id: "user", name: "User", isHead: true, get: (one) => one.user, show: (one) => one.user || "without a user",
      href: (one) => (one.user ? addressOf(["users", one.user]) : addressOf(["clients", one.client])) },
    { id: "client", name: "Client", mono: true, wide: true, get: (one) => one.client,
      href: (one) => addressOf(["clients", one.client]) },
    { id: "info", name: "Info", wide: true, mono: true, get: (one) => oneLine(one.conn_info ?? one.chan_info ?? "",
      120),
      show: (one) => [one.conn_info, one.chan_info].filter((part) => part !== undefined)
        .map((part) => oneLine(part, 120)).join(" ") },
    { id: "actions", name: "", className: "actions", get: () => "", build: (one) => [
      context.may("unsubscribe") && button("Unsubscribe…", act(() => unsubscribe(context, { client: one.client },
        one.user || one.client, channel)),
        { kind: "quiet", "aria-label": `Unsubscribe ${one.user || one.client}` }),
      context.may("disconnect") && button("Disconnect…", act(() => disconnect(context, { client: one.client },
        one.user || one.client)),
        { kind: "quiet", "aria-label": `Disconnect ${one.user || one.client}` })] },
  ];
}

export function mountMembers(root, context, channel) {
  const controller = new AbortController();
  const facts = factList();
  const problem = problemBox(() => load());
  const more = h("p", { class: "row", hidden: true });
  const rows = table({
    caption: "Members", isTitled: true, isStacked: true, columns: columns(context, channel, () => loadNames()),
      key: (one) => one.client, pageSize: 25,
    sort: { id: "user", down: false },
    empty: () => [h("p", { class: "strong" }, "Presence shows nobody here."),
      h("p", { class: "soft" }, "It is kept where the namespace has presence on: ",
        h("a", { href: addressOf(["settings"], { find: "presence" }) }, "see the configuration"),
        ". How many subscribe is known all the same, and stands above.")],
  });
  rows.element.hidden = true;
  root.append(
    h("div", { class: "row row-between" }, facts.element,
      button("Ask again", () => load(), { class: "button button-small" })),
    problem.element, more, rows.element);

  async function loadNames() {
    more.hidden = true;
    try {
      const { presence, partial } = await call("presence", { channel }, { signal: controller.signal });
      problem.show(null);
      rows.element.hidden = false;
      rows.show(Object.values(presence));
      if (partial) {
        more.hidden = false;
        more.replaceChildren("These are the first 10,000; there are more.");
      }
    } catch (error) {
      if (error.name !== "AbortError") problem.show(error);
    }
  }
  async function load() {
    try {
      const stats = await call("presence_stats", { channel }, { signal: controller.signal });
      problem.show(null);
      facts.show({ "Clients present": whole(stats.num_clients), "Different users": whole(stats.num_users) });
      if (stats.num_clients <= namedAtOnce) return loadNames();
      more.hidden = false;
      more.replaceChildren(`${count(stats.num_clients, "client")}. `,
        button("List them by name", loadNames, { class: "button button-small" }));
    } catch (error) {
      if (error.name !== "AbortError") problem.show(error);
    }
  }
  load();
  return {
    unmount() {
      controller.abort();
    },
  };
}
