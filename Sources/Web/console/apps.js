// Clique and State without their contents: reports, who hears nothing of whom and why, groups. No word and no picture
// of
// anybody is asked for here.

import { button, count, field, fill, h, timeTag } from "./ui.js";
import { addressOf } from "./address.js";
import { userLink } from "./channel-history.js";
import { byUnit, number } from "./format.js";
import { live } from "./live.js";
import { ask, chip, choice, factList, heading, note, problemBox, views } from "./parts.js";
import { call } from "./server.js";
import { pagedList, table } from "./table.js";

const pageSize = 20;
const outcomes = [["dismissed", "dismissed: nothing was wrong"], ["warned", "warned"], ["suspended", "suspended"],
  ["other", "something else"]];

// Reports

function settle(context, one) {
  const outcome = choice("What was found", outcomes);
  const text = field("Note", { tag: "textarea", rows: 3, maxlength: 1000 }, "For other moderators.");
  return ask(context, {
    title: `Settle report ${one.report}?`, action: "Settle", fields: [outcome, text], isDanger: false,
    text: ["It does nothing to anybody by itself: suspend the user on their page for that.",
      "Whoever has reported sees that it is settled, and not what was found."],
    run: (key) => call("clique_report_settle", {
      report: one.report, outcome: outcome.input.value, note: text.input.value || undefined, idempotency_key: key,
    }),
    done: () => `Report ${one.report} is settled.`,
  });
}

function reportColumns(context, reload) {
  return [
    { id: "report", name: "Report", isHead: true, get: (one) => one.report },
    { id: "user", name: "About", get: (one) => one.user, stamp: (one) => one.user, build: (one) => userLink(one.user) },
    { id: "by", name: "By", wide: true, get: (one) => one.by, stamp: (one) => one.by ?? "",
      build: (one) => userLink(one.by) },
    { id: "reason", name: "Reason", get: (one) => one.reason },
    { id: "time", name: "When", className: "fit", get: (one) => one.time, stamp: (one) => one.time,
      build: (one) => timeTag(one.time) },
    { id: "kept", name: "Messages kept", number: true, wide: true, get: (one) => one.kept,
      show: (one) => number(one.kept) },
    { id: "state", name: "State", get: (one) => one.state, stamp: (one) => `${one.state} ${one.outcome ?? ""}`,
      build: (one) => (one.state === "open" ? chip("waits", "warn") : chip(one.outcome ?? "settled", "good")) },
    { id: "actions", name: "", className: "actions", get: () => "", stamp: (one) => one.state,
      build: (one) => context.may("clique_report_settle") && button(
      one.state === "open" ? "Settle…" : "Settle anew…", async () => {
        if (await settle(context, one)) reload();
      }, { kind: "quiet", "aria-label": `Settle report ${one.report}` }) },
  ];
}

function reportsView(root, context) {
  const state = choice("Show", [["open", "those that wait"], ["settled", "settled ones"], ["all", "all"]]);
  const user = field("About the user", { class: "input mono", autocomplete: "off", spellcheck: "false" });
  const problem = problemBox(() => pages.reload());
  const summary = h("p", { class: "small soft", role: "status" });
  const rows = table({
    caption: "Reports", note: "in the order in which they came", columns: reportColumns(context, () => pages.reload()),
    key: (one) => one.report, pageSize: 50, isStacked: true,
    empty: () => [h("p", { class: "strong" }, "There are no such reports."),
      h("p", { class: "soft" }, "People report others, and single messages, in Clique.")],
  });
  const pages = pagedList({
    label: "Pages of reports",
    async load(cursor) {
      const answer = await call("clique_reports", {
        state: state.input.value, limit: pageSize, ...(user.input.value ? { user: user.input.value } : {}),
        ...(cursor ? { cursor } : {}),
      });
      return { items: answer.reports, next: answer.cursor, open: answer.open };
    },
    show(items, { open }) {
      problem.show(null);
      rows.show(items);
      summary.textContent = `${count(open, "report")} ${open === 1 ? "waits" : "wait"} for somebody to look.`;
    },
    onError: (error) => problem.show(error),
  });
  state.input.addEventListener("change", () => pages.restart());
  root.append(h("form", { class: "form", on: {
    submit: (event) => {
      event.preventDefault();
      pages.restart();
    },
  } }, state.element, user.element, h("button", { type: "submit", class: "button" }, "Show")),
  summary, problem.element, rows.element, pages.element,
  note(["What was reported is not shown here: ", h("code", {}, "fanfare report show 12"),
    " shows one, and has a line in the audit."]));
  pages.restart();
}

// Two people

const standings = {
  none: "They have no conversation.", requested: "A request waits to be answered.", active: "They have a conversation.",
  declined: "A request was declined.", ended: "The conversation has ended: one of them has left.",
};

function pairBox({ standing, by, silence, blocked_by: blocked = [], waiting, conversation }) {
  const facts = factList();
  facts.show({ Standing: standing, By: by, "What is silent": silence, "Waits to be seen": number(waiting),
    Conversation: conversation });
  return h("section", { class: "card stack-tight" }, h("h2", {}, "Clique"), h("p", {}, standings[standing] ?? ""),
    blocked.length > 0 ? note(`Blocked by ${blocked.join(" and ")}.`, "warn") : null, facts.element);
}

function threadBox(answer) {
  const facts = factList();
  const phases = Object.entries(answer.phases ?? {}).map(([user, phase]) => `${user}: ${phase}`).join(", ");
  facts.show({ Phases: phases, Pictures: answer.pictures, "Seen by": (answer.seen_by ?? []).join(", ") });
  const hidden = answer.hidden_from ?? [];
  const blocked = answer.blocked_by ?? [];
  return h("section", { class: "card stack-tight" }, h("h2", {}, "State"),
    hidden.length > 0 ? note(`What was sent is not shown to ${hidden.join(" and ")}: a block, or a limit.`,
      "warn") : null,
    blocked.length > 0 ? note(`Blocked by ${blocked.join(" and ")}.`, "warn") : null, facts.element);
}

async function showPair(context, place, user, other) {
  const apps = context.session?.apps ?? ["clique", "state"];
  const asked = [
    apps.includes("clique") ? call("clique_pair", { user, other }).then(pairBox) : null,
    apps.includes("state") ? call("state_thread", { user, other }).then(threadBox) : null,
  ].filter(Boolean);
  const boxes = await Promise.all(asked.map((one) => one.catch((error) => note(error.message, "bad"))));
  fill(place, h("div", { class: "halves" }, boxes));
}

function pairView(root, context, query) {
  const text = { class: "input mono", autocomplete: "off", spellcheck: "false", autocapitalize: "off", required: true };
  const user = field("Between", { ...text, value: query.user ?? "", placeholder: "ada" });
  const other = field("and", { ...text, value: query.other ?? "", placeholder: "ben" });
  const place = h("div", { role: "status" });
  const run = () => showPair(context, place, user.input.value, other.input.value);
  root.append(h("form", { class: "form", novalidate: true, on: {
    submit: (event) => {
      event.preventDefault();
      const missing = [user, other].find((one) => one.input.value === "");
      if (missing) return missing.input.focus();
      context.replace(["apps"], { view: "pair", user: user.input.value, other: other.input.value });
      run();
    },
  } }, user.element, other.element, h("button", { type: "submit", class: "button button-primary" }, "Look")),
  h("p", { class: "small soft" },
    "What stands here must not reach the two: a block and a declined request are what the apps hide."), place);
  if (query.user && query.other) run();
}

// Groups of one user

function membersText(members) {
  return `${members.length}: ${members.slice(0, 8).join(", ")}${members.length > 8 ? "…" : ""}`;
}

function groupsView(root, context, query) {
  const user = field("User", { class: "input mono", autocomplete: "off", spellcheck: "false", value: query.user ?? "",
    placeholder: "ada" });
  const problem = problemBox(() => load());
  const rows = table({
    caption: "Groups", key: (one) => one.conversation, pageSize: 20, columns: [
      { id: "conversation", name: "Group", isHead: true, mono: true, get: (one) => one.conversation.slice(0, 10),
        title: (one) => one.conversation },
      { id: "founder", name: "Founder", get: (one) => one.founder, stamp: (one) => one.founder ?? "",
        build: (one) => userLink(one.founder) },
      { id: "created", name: "Since", className: "fit", wide: true, get: (one) => one.created,
        stamp: (one) => one.created,
        build: (one) => timeTag(one.created) },
      { id: "members", name: "Members", get: (one) => one.members.length,
        show: (one) => membersText(one.members) },
      { id: "blocks", name: "Blocks", number: true, get: (one) => one.blocks.length,
        show: (one) => number(one.blocks.length) },
      { id: "links", name: "Links", number: true, wide: true, get: (one) => one.links,
        show: (one) => number(one.links) },
    ],
    empty: () => h("p", { class: "strong" }, "This user is in no group."),
  });
  rows.element.hidden = true;
  async function load() {
    try {
      const { groups } = await call("clique_groups", { user: user.input.value });
      problem.show(null);
      rows.element.hidden = false;
      rows.show(groups);
    } catch (error) {
      problem.show(error);
    }
  }
  root.append(h("form", { class: "form", on: {
    submit: (event) => {
      event.preventDefault();
      if (!user.input.value) return user.input.focus();
      context.replace(["apps"], { view: "groups", user: user.input.value });
      load();
    },
  } }, user.element, h("button", { type: "submit", class: "button button-primary" }, "Look")), problem.element,
    rows.element);
  if (user.input.value) load();
}

// Limits of the apps

function limitsView(root) {
  const rows = table({
    caption: "Limits of the apps", note: "hit in the last two minutes", key: (one) => one.name, pageSize: 20, columns: [
      { id: "name", name: "Limit", isHead: true, mono: true, get: (one) => one.name },
      { id: "now", name: "At most", number: true, get: (one) => one.most, show: (one) => byUnit(one.most, one.unit) },
    ],
    empty: () => [h("p", { class: "strong" }, "No limit of Clique or State was hit in the last two minutes."),
      h("p", { class: "soft" }, h("a", { href: "#/limits" }, "All limits"))],
  });
  root.append(rows.element);
  return live.watch(() => {
    const found = new Map();
    for (const frame of live.history) {
      for (const [name, value] of frame.limits) {
        if (!name.startsWith("app ")) continue;
        const most = Math.max(value, found.get(name)?.most ?? 0);
        found.set(name, { name: name.slice(4), most, unit: frame.limitUnits.get(name) });
      }
    }
    rows.show([...found.values()]);
  });
}

const kinds = {
  reports: { name: "Reports", mount: reportsView }, pair: { name: "Two people", mount: pairView },
  groups: { name: "Groups", mount: groupsView }, limits: { name: "Limits hit", mount: limitsView },
};

export function mount(root, context) {
  const tabs = views("What to look at", Object.entries(kinds).map(([id, { name }]) => ({ id, name })));
  const place = h("div", { class: "stack" });
  let view = "";
  let off = null;
  root.append(heading("Clique and State", {
    lead: "What the apps keep about people, without a word or picture of theirs.",
  }), tabs.element, place);
  const apps = context.session?.apps;
  if (apps && !apps.includes("clique") && !apps.includes("state")) {
    tabs.element.hidden = true;
    place.append(h("div", { class: "nothing" }, h("p", { class: "strong" }, "Neither of the two is on."),
      h("p", { class: "soft" }, "They are switched on with ", h("code", {}, "clique.enabled"), " and ",
        h("code", {}, "state.enabled"), ".")));
    return { unmount() {} };
  }
  return {
    route(parts, query) {
      const wanted = query.view ?? (query.user ? "groups" : "reports");
      const id = Object.hasOwn(kinds, wanted) ? wanted : "reports";
      tabs.show(id, (other) => addressOf(["apps"], { view: other === "reports" ? "" : other }));
      if (id === view) return;
      off?.();
      view = id;
      place.replaceChildren();
      off = kinds[id].mount(place, context, query) ?? null;
    },
    unmount() {
      off?.();
    },
  };
}
