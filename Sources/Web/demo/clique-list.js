// The list of messages: one channel, and what of it each filter shows.

import {
  announce, avatar, bag, button, count, emptyState, field, fill, h, keyedList, openDialog, rested, sentence, shortTime,
  fullTime,
} from "./ui.js";
import { newKey } from "../fanfare.js";

/** The entries that a filter shows, in its order. Pure: `entries` is the channel's view, newest first. */
export function filtered(entries, filter) {
  const all = [...entries];
  if (filter === "requests") return all.filter((entry) => entry.state === "request_in");
  const isTalk = (entry) => ["active", "ended", "request_out"].includes(entry.state);
  if (filter === "archived") return all.filter((entry) => isTalk(entry) && entry.archived);
  const talks = all.filter((entry) => isTalk(entry) && !entry.archived);
  const pinned = talks.filter((entry) => entry.pinned).sort((a, b) => b.pinned - a.pinned);
  return [...pinned, ...talks.filter((entry) => !entry.pinned)];
}

const filterNames = { requests: "Requests", conversations: "Conversations", archived: "Archived" };

const nothing = {
  requests: ["No requests", "When somebody who crossed your path writes to you for the first time, it waits here."],
  conversations: ["No conversations yet", "Find somebody under People, and write. They choose whether to talk."],
  archived: ["Nothing archived", "What you archive comes here, until somebody writes again."],
};

/** What an entry says below its name. */
export function previewOf(entry, draft, me, nameOf) {
  if (draft) return `Draft: ${draft.text}`;
  if (entry.state === "ended") return "Has left the conversation";
  if (entry.state === "request_in") return entry.messages?.at(-1)?.text ?? "Wants to talk to you";
  if (entry.state === "request_out") return `Waiting for an answer: ${entry.messages?.at(-1)?.text ?? ""}`;
  if (entry.expires) return "A message that disappears";
  const text = entry.last || (entry.picture ? "A picture" : "");
  const sign = entry.picture && entry.last ? "🖼 " : "";
  if (!text) return "";
  if (entry.from === me) return `You: ${sign}${text}`;
  return entry.group && entry.from ? `${nameOf(entry.from)}: ${sign}${text}` : `${sign}${text}`;
}

/** The screen's left side; `select(conversation)` marks the one that is open. */
export function makeList(context) {
  const { store } = context;
  const held = bag();
  let filter = "";
  let hasChosen = false;
  let selected = "";
  const rows = h("ul", { class: "list" });
  const empty = h("div");
  const list = keyedList(rows, {
    key: (entry) => entry.conversation, make: (entry) => makeRow(context, entry),
    update: (row, entry) => row.show(entry, entry.conversation === selected),
  });
  const tabs = Object.keys(filterNames).map((name) => {
    const badge = h("span", { class: "badge" });
    const element = button([filterNames[name], badge], () => {
      filter = name;
      hasChosen = true;
      show();
      announce(`${filterNames[name]}: ${rows.children.length}`);
    }, { class: "button button-small" });
    return { name, badge, element };
  });

  const show = () => {
    const entries = [...store.list.view.values()];
    const waiting = filtered(entries, "requests").length;
    const isReady = store.list.state === "subscribed" || entries.length > 0;
    // Requests come first where one waits; the person's own choice stays, and so does the list beside an open chat.
    if (!hasChosen && !selected && isReady) filter = waiting > 0 ? "requests" : "conversations";
    for (const tab of tabs) {
      tab.element.setAttribute("aria-pressed", String(tab.name === filter));
      const number = tab.name === "requests" ? waiting
        : filtered(entries, tab.name).filter((entry) => entry.unread && !entry.muted).length;
      const text = number > 0 ? String(number) : "";
      if (tab.badge.textContent !== text) tab.badge.textContent = text;
    }
    const shown = filtered(entries, filter || "conversations");
    list.show(shown);
    rows.hidden = shown.length === 0;
    const state = shown.length > 0 ? "" : isReady ? filter : "loading";
    if (empty.dataset.state !== state) {
      empty.dataset.state = state;
      fill(empty, state === "loading" ? h("p", { class: "empty" }, "Opening your messages…")
        : state ? emptyState(...nothing[state]) : []);
    }
  };
  held.keep(store.onChange(show));
  held.every(30_000, show);

  const search = makeSearch(context, (isSearching) => {
    body.hidden = isSearching;
  });
  held.keep(search.end);
  const body = h("div", { class: "list-body" },
    h("div", { class: "filters", role: "group", "aria-label": "Show" }, tabs.map((tab) => tab.element)), rows, empty);
  const element = h("section", { class: "message-list card", "aria-label": "Messages" },
    h("div", { class: "row row-between" }, h("h1", {}, "Messages"),
      button("New group", () => newGroup(context), { class: "button button-small" })), search.element, body);
  show();
  return {
    element,
    select(conversation) {
      selected = conversation;
      // What is open is seen among the others of its kind.
      const entry = store.list.view.get(conversation);
      if (entry) filter = entry.state === "request_in" ? "requests" : entry.archived ? "archived" : "conversations";
      else if (!conversation) hasChosen = false;
      show();
    },
    end() {
      held.end();
    },
  };
}

function makeRow(context, first) {
  const { store, user: me, actions } = context;
  const face = avatar(first.with ?? first.conversation, store.titleOf(first));
  const name = h("span", { class: "strong one-line grow" });
  const time = h("time", { class: "soft small" });
  const text = h("span", { class: "soft small one-line grow" });
  const badge = h("span", { class: "badge", "aria-hidden": true });
  const signs = h("span", { class: "small", "aria-hidden": true });
  const said = h("span", { class: "visually-hidden" });
  const link = h("a", { class: "list-row grow", href: `#/clique/chat/${encodeURIComponent(first.conversation)}` }, face,
    h("span", { class: "stack-tight grow" }, h("span", { class: "row no-wrap" }, name, signs, time),
      h("span", { class: "row no-wrap" }, text, badge, said)));
  const answers = h("div", { class: "row request-answers" });
  const row = h("li", { class: "message-row" }, link, answers);
  const set = (element, value) => {
    if (element.textContent !== value) element.textContent = value;
  };
  row.show = (entry, isSelected) => {
    const title = store.titleOf(entry);
    set(name, title);
    face.rename(title);
    if (entry.with) store.showPicture(face, entry.with);
    if (isSelected) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    // In a group that was just founded nothing has been said yet.
    time.hidden = !entry.time;
    if (entry.time) {
      set(time, shortTime(entry.time));
      time.dateTime = new Date(entry.time).toISOString();
      time.title = fullTime(entry.time);
    }
    set(text, previewOf(entry, store.drafts.view.get(entry.conversation), me, store.nameOf));
    const unread = entry.unread ?? 0;
    set(badge, unread > 0 ? (unread >= 100 ? "100+" : String(unread)) : "");
    set(signs, `${entry.pinned ? "📌" : ""}${entry.muted ? "🔕" : ""}`);
    const words = [unread > 0 ? `${unread} unread` : "", entry.pinned ? "pinned" : "", entry.muted ? "muted" : ""];
    set(said, words.filter(Boolean).join(", "));
    const isRequest = entry.state === "request_in";
    if (isRequest === (answers.children.length > 0)) return;
    fill(answers, isRequest ? [
      button("Accept", async () => {
        const isDone = await actions.accept(entry.with);
        if (isDone) context.navigate(`#/clique/chat/${encodeURIComponent(entry.conversation)}`);
      }, { class: "button button-small button-primary", "aria-label": `Accept the request of ${title}` }),
      button("Decline or block…", () => actions.decline(entry.with),
        { class: "button button-small", "aria-label": `Decline or block ${title}` }),
    ] : []);
  };
  return row;
}

/** Search through all that one may read. `onChange(isSearching)`: the list makes room for what was found. */
function makeSearch(context, onChange) {
  const { client, store, user: me, toast } = context;
  const input = h("input", {
    type: "search", class: "input", placeholder: "Search messages", "aria-label": "Search messages", maxlength: 100,
  });
  const found = h("ul", { class: "list", "aria-label": "Messages found", hidden: true });
  let asked = 0;
  const run = rested(async (text) => {
    const mine = asked += 1;
    if (!text) return;
    try {
      const hits = await client.clique.search(text);
      if (mine !== asked) return;
      fill(found, hits.length > 0 ? hits.map((hit) => makeHit(hit, store, me))
        : h("li", { class: "empty" }, `Nothing with “${text}” in it.`));
      announce(`${count(hits.length, "message")} found`);
    } catch (error) {
      if (mine === asked) toast(sentence(error));
    }
  }, 300);
  input.addEventListener("input", () => {
    const text = input.value.trim();
    found.hidden = !text;
    onChange(text !== "");
    if (!text) found.replaceChildren();
    asked += 1;
    run(text);
  });
  return { element: h("div", { class: "stack-tight", role: "search" }, input, found), end: run.cancel };
}

function makeHit({ channel, offset, time, user, data }, store, me) {
  const conversation = channel.slice("clique.chat:".length);
  const entry = store.list.view.get(conversation);
  const where = entry ? store.titleOf(entry) : "A conversation";
  const who = user === me ? "You" : store.nameOf(user);
  return h("li", {}, h("a", { class: "list-row", href: `#/clique/chat/${encodeURIComponent(conversation)}/${offset}` },
    avatar(entry?.with ?? conversation, where),
    h("span", { class: "stack-tight grow" },
      h("span", { class: "row no-wrap" }, h("span", { class: "strong one-line grow" }, where),
        h("time", { class: "soft small", title: fullTime(time) }, shortTime(time))),
      h("span", { class: "soft small" }, `${who}: ${data?.text ?? ""}`))));
}

/** Asks for a name and members, who are people with whom one talks, and founds the group. */
async function newGroup(context) {
  const { store, client, navigate, actions } = context;
  const people = [...store.list.view.values()].filter((entry) => entry.state === "active" && entry.with);
  const key = newKey();
  const group = await openDialog("New group", (close) => groupForm(people, store, close));
  if (!group) return;
  const answer = await actions.run(() => client.clique.group.create({ ...group, key }));
  if (answer?.conversation) navigate(`#/clique/chat/${encodeURIComponent(answer.conversation)}`);
}

function groupForm(people, store, close) {
  const cancel = button("Cancel", () => close(undefined), { kind: "quiet" });
  if (people.length === 0) {
    return [h("p", { class: "soft" }, "A group is of people whom you talk with already. Accept a request, or have one "
      + "accepted, and come back."), h("div", { class: "dialog-actions" }, cancel)];
  }
  const name = field("Name of the group", { maxlength: 80, autocomplete: "off" }, "Optional.");
  const problem = h("p", { class: "field-error", role: "alert" });
  const boxes = people.map((entry) => h("input", { type: "checkbox", value: entry.with }));
  return h("form", { class: "stack", on: {
    submit: (event) => {
      event.preventDefault();
      const members = boxes.filter((box) => box.checked).map((box) => box.value);
      if (members.length === 0) {
        problem.textContent = "Choose somebody first.";
        return boxes[0].focus();
      }
      close({ members, name: name.input.value.trim() || undefined });
    },
  } }, name.element,
  h("fieldset", { class: "plain" }, h("legend", { class: "strong small" }, "Members"), people.map((entry, index) =>
    h("label", { class: "check" }, boxes[index], avatar(entry.with, store.nameOf(entry.with), "small"),
      store.nameOf(entry.with)))), problem,
  h("div", { class: "dialog-actions" }, cancel,
    h("button", { type: "submit", class: "button button-primary" }, "Create the group")));
}
