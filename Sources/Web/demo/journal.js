// Idealic: a private journal. Entries are kept in a map channel that nobody else can subscribe to, newest first.
//
// | view  | leads to                                                        |
// |-------|-----------------------------------------------------------------|
// | list  | write: new; read: an entry is chosen                            |
// | read  | list; write: change; list: deleted, which can be undone         |
// | write | read: saved; list or read: left, where what was written is kept |

import { newKey } from "../fanfare.js";
import { nameOf, offlineNote, ownMap, persist } from "./people.js";
import {
  announce, bag, button, count, dayName, emptyState, field, fill, h, keyedList, sentence, timeOfDay, timeTag,
} from "./ui.js";

const longestTitle = 120;
/** Characters; a message of the client has room for four bytes for each. */
const longestText = 12_000;

/** Milliseconds within which a change has come back on its map. */
const heard = 400;

const month = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const today = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

const greeting = (hour) => (hour < 5 ? "Good night" : hour < 12 ? "Good morning" : hour < 18 ? "Good afternoon"
  : "Good evening");

const outboxes = new WeakMap();

/** What was saved and is not on the server yet: one for each session, whichever app is open; kept in this window. */
function outboxOf(session, channel) {
  const there = outboxes.get(session.client);
  if (there) return there;
  const name = `fanfare.demo.journal.waits.${session.user}`;
  const entries = new Map();
  const outbox = { entries, changed: () => {}, refused: () => {} };
  const keep = () => {
    if (entries.size > 0) sessionStorage.setItem(name, JSON.stringify([...entries]));
    else sessionStorage.removeItem(name);
    outbox.changed();
  };
  outbox.send = async (key, data) => {
    entries.set(key, data);
    keep();
    try {
      await persist(session, "map.set", { channel, key, data });
    } catch (error) {
      if (entries.get(key) === data) outbox.refused(key, data, error);
    }
    // The map may hear of it a moment after the answer. What was written over meanwhile is still to go out.
    setTimeout(() => {
      if (entries.get(key) === data) outbox.forget(key);
    }, heard);
  };
  outbox.forget = (key) => {
    entries.delete(key);
    keep();
  };
  outboxes.set(session.client, outbox);
  try {
    for (const [key, data] of JSON.parse(sessionStorage.getItem(name) ?? "[]")) outbox.send(key, data);
  } catch {
    sessionStorage.removeItem(name);
  }
  return outbox;
}

class Journal {
  #held = bag();
  #view = "list";
  #open = null;
  /** What is being written: { key, title, text, created, isNew }. Kept in this window until it is saved. */
  #draft = null;

  constructor(root, session) {
    this.root = root;
    this.session = session;
    this.draftName = `fanfare.demo.journal.${session.user}`;
    const channel = `journal:#${session.user}`;
    this.map = ownMap(session.client, channel, { order: "descending" });
    this.outbox = outboxOf(session, channel);
    this.outbox.changed = () => this.#draw();
    this.outbox.refused = (key, data, error) => this.#refused(key, data, error);
    this.#held.keep(() => { this.outbox.changed = () => {}; });
    this.#build();
    this.#held.keep(this.map.on("change", ({ key, removed }) => {
      if (removed && this.#view === "read" && this.#open === key) this.#showList("heading");
      else if (this.#view === "read" && this.#open === key) this.#showEntry(key, false);
      this.#draw();
    }));
    for (const name of ["subscribed", "unsubscribed", "error"]) this.#held.keep(this.map.on(name, () => this.#draw()));
    for (const name of ["connected", "connecting", "disconnected"]) {
      this.#held.keep(session.client.on(name, () => this.#draw()));
    }
    this.#held.keep(session.store.onChange(() => this.#draw()));
    this.#held.listen(window, "beforeunload", () => this.#keepDraft());
    this.#draft = this.#keptDraft();
    this.#showList();
  }

  unmount() {
    this.#keepDraft();
    this.map.unsubscribe();
    this.#held.end();
    fill(this.root);
  }

  #keptDraft() {
    try {
      const draft = JSON.parse(sessionStorage.getItem(this.draftName) ?? "null");
      return typeof draft?.key === "string" ? draft : null;
    } catch {
      return null;
    }
  }

  #keepDraft() {
    if (this.#draft && (this.#draft.title || this.#draft.text)) {
      sessionStorage.setItem(this.draftName, JSON.stringify(this.#draft));
    } else sessionStorage.removeItem(this.draftName);
  }

  #build() {
    this.date = h("p", { class: "journal-date" });
    this.heading = h("h1", { tabindex: "-1" });
    this.sum = h("p", { class: "soft" });
    const offline = offlineNote(this.session, "You are offline. You can read and write; what you save waits in this "
      + "window, and goes out as soon as you are back.");
    this.#held.keep(() => offline.end());
    this.goOn = button("Go on writing", () => this.#write(this.#draft), { hidden: true });
    this.new = button("New entry", () => this.#write(null), { kind: "primary" });
    this.list = h("ul", { class: "journal-list", "aria-label": "Entries, newest first" });
    this.rows = keyedList(this.list, {
      key: ({ key }) => key, make: (item) => (item.month ? this.#makeMonth(item) : this.#makeRow(item)),
      update: (row, entry) => row.show(entry),
    });
    this.empty = h("div", { class: "card journal-empty", hidden: true }, h("span", { class: "journal-leaf",
      "aria-hidden": true }, "📔"), emptyState("A page that only you can read",
      "What did you notice today? Write a line or a page. It is there on all your devices, and for nobody else.",
      button("Write the first entry", () => this.#write(null), { kind: "primary" })));
    this.home = h("div", { class: "stack" },
      h("div", { class: "row row-between journal-head" }, h("div", {}, this.date, this.heading, this.sum),
        h("div", { class: "row" }, this.goOn, this.new)), this.list, this.empty);
    this.page = h("div", { hidden: true });
    fill(this.root, h("div", { class: "journal stack" }, offline.element, this.home, this.page));
  }

  #makeMonth({ month: name }) {
    const row = h("li", { class: "journal-month" }, h("h2", {}, name));
    row.show = () => {};
    return row;
  }

  #makeRow({ key }) {
    const title = h("span", { class: "strong one-line" });
    const text = h("span", { class: "soft small journal-excerpt" });
    const [day, name] = [h("span", { class: "journal-number" }), h("span", { class: "small" })];
    const row = h("li", {}, h("button", {
      type: "button", class: "list-row", on: { click: () => this.#showEntry(key, true) },
    }, h("span", { class: "journal-day" }, day, name), h("span", { class: "journal-what grow" }, title, text)));
    row.show = ({ data }) => {
      const created = data?.created ?? 0;
      title.textContent = data?.title || "Without a title";
      const waits = this.outbox.entries.has(key) && this.session.client.connectionState !== "connected";
      text.textContent = `${waits ? "Waits to be sent. " : ""}${String(data?.text ?? "").slice(0, 240)}`;
      day.textContent = created ? String(new Date(created).getDate()) : "–";
      name.textContent = created ? weekday.format(created) : "";
    };
    return row;
  }

  /** An entry as it was written last, here or on another device. */
  #entry(key) { return this.outbox.entries.get(key) ?? this.map.view.get(key); }

  /** All entries by the day of writing, newest first: what was brought back has another place in the map. */
  #entries() {
    const all = new Map(this.map.view.entries());
    for (const [key, data] of this.outbox.entries) all.set(key, data);
    return [...all].map(([key, data]) => ({ key, data }))
      .sort((a, b) => (b.data?.created ?? 0) - (a.data?.created ?? 0));
  }

  #draw() {
    const { user } = this.session;
    this.date.textContent = today.format(Date.now());
    this.heading.textContent = `${greeting(new Date().getHours())}, ${nameOf(this.session, user)}`;
    const entries = this.#entries();
    this.sum.textContent = entries.length ? `${count(entries.length, "entry", "entries")}, for your eyes only` : "";
    const items = [];
    let last = "";
    for (const entry of entries) {
      const name = month.format(entry.data?.created ?? 0);
      if (name !== last) items.push({ key: `month ${name}`, month: name });
      last = name;
      items.push(entry);
    }
    this.rows.show(items);
    this.empty.hidden = entries.length > 0 || this.map.state !== "subscribed";
    // Until the map has come, nobody knows which of the two buttons is the right one: neither jumps away from a click.
    const isComing = entries.length === 0 && this.map.state === "subscribing"
      && this.session.client.connectionState === "connected";
    this.new.hidden = isComing || !this.empty.hidden;
    const hasDraft = this.#draft !== null && Boolean(this.#draft.title || this.#draft.text);
    this.goOn.hidden = !hasDraft;
  }

  #show(view) {
    this.#view = view;
    this.home.hidden = view !== "list";
    this.page.hidden = view === "list";
    if (view === "list") fill(this.page);
  }

  #showList(key) {
    this.#keepDraft();
    this.#open = null;
    this.#show("list");
    this.#draw();
    if (key) (this.rows.rows.get(key)?.querySelector("button") ?? this.heading).focus();
  }

  #showEntry(key, moves) {
    const data = this.#entry(key);
    if (!data) return;
    this.#open = key;
    this.#show("read");
    const heading = h("h1", { tabindex: "-1" }, data.title || "Without a title");
    const created = data.created ?? 0;
    const when = created ? `${dayName(created)}, ${timeOfDay(created)}` : "";
    fill(this.page, h("article", { class: "journal-entry card stack" },
      h("div", { class: "row row-between" }, button("← All entries", () => this.#showList(key), { kind: "quiet" }),
        h("div", { class: "row" }, button("Change", () => this.#write({ key, ...data, isNew: false })),
          button("Delete", () => this.#remove(key), { kind: "danger" }))),
      h("div", { class: "journal-paper stack" },
        h("p", { class: "soft small" }, created ? timeTag(created, when) : null,
          data.changed ? `, changed ${dayName(data.changed).toLocaleLowerCase()}` : null),
        heading, h("div", { class: "journal-text" }, String(data.text ?? "")))));
    if (moves) heading.focus();
  }

  #write(given) {
    // One draft at a time: what was begun is gone on with before another is.
    const begun = this.#draft && (this.#draft.title || this.#draft.text) ? this.#draft : null;
    if (begun && given?.key !== begun.key) announce("Here is what you had begun to write.");
    const draft = begun ?? { key: newKey(), title: "", text: "", isNew: true, ...given };
    this.#draft = draft;
    this.#show("write");
    const problem = h("p", { class: "field-error", role: "alert" });
    const typed = (part, value) => {
      draft[part] = value;
      // What was missing is there now.
      problem.textContent = "";
    };
    const title = field("Title", {
      maxlength: longestTitle, value: draft.title ?? "", autocomplete: "off",
      on: { input: ({ target }) => typed("title", target.value) },
    });
    const text = field("Text", {
      tag: "textarea", rows: 12, maxlength: longestText, value: draft.text ?? "",
      on: { input: ({ target }) => typed("text", target.value) },
    }, "Ctrl+Enter or ⌘+Enter saves. What you write stays in this window until it is saved.");
    const form = h("form", { class: "card stack journal-form", on: {
      submit: (event) => {
        event.preventDefault();
        this.#save(draft, problem, text.input);
      },
      keydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
      },
    } }, h("h1", {}, draft.isNew ? "New entry" : "Change the entry"), title.element, text.element, problem,
    h("div", { class: "row" }, h("button", { type: "submit", class: "button button-primary" }, "Save"),
      button("Back", () => this.#leaveDraft(draft), { kind: "quiet" }),
      button("Throw away", () => this.#throwAway(draft), { kind: "quiet" })));
    fill(this.page, form);
    (draft.isNew && !draft.title ? title.input : text.input).focus();
  }

  #leaveDraft(draft) {
    const kept = this.#entry(draft.key);
    if (kept && kept.title === draft.title && kept.text === draft.text) this.#draft = null;
    this.#keepDraft();
    if (draft.isNew || !kept) this.#showList("heading"); else this.#showEntry(draft.key, true);
  }

  #throwAway(draft) {
    this.#draft = null;
    this.#showList("heading");
    if (!draft.title && !draft.text) return;
    this.session.toast("What you had begun is thrown away.", {
      undo: () => {
        this.#draft = draft;
        this.#keepDraft();
        if (this.home.isConnected) this.#write(draft);
      },
    });
  }

  #save(draft, problem, input) {
    if (!draft.title.trim() && !draft.text.trim()) {
      problem.textContent = "Write a title or a text first.";
      return input.focus();
    }
    const now = Date.now();
    const data = {
      title: draft.title.trim(), text: draft.text, created: draft.created ?? now,
      changed: draft.isNew ? undefined : now,
    };
    const isOn = this.session.client.connectionState === "connected";
    this.outbox.send(draft.key, data);
    this.#draft = null;
    this.#keepDraft();
    announce(isOn ? "Saved." : "Kept in this window. It goes out as soon as you are back.");
    this.#showList(draft.key);
  }

  /** What the server did not take is a draft again. */
  #refused(key, data, error) {
    this.session.toast(`“${data.title || "Without a title"}” is not saved: ${sentence(error)}`);
    if (this.#draft?.title || this.#draft?.text) return;
    this.#draft = { key, ...data, isNew: !this.map.view.has(key) };
    this.#keepDraft();
    this.#draw();
  }

  async #remove(key) {
    const data = this.#entry(key);
    if (!data) return;
    const { channel } = this.map;
    this.outbox.forget(key);
    try {
      await persist(this.session, "map.remove", { channel, key }, () => this.session.toast(
        "You are offline. It is deleted as soon as you are back."));
    } catch (error) {
      return this.session.toast(`Not deleted: ${sentence(error)}`);
    }
    if (this.#open === key) this.#showList("heading");
    this.session.toast(`“${data.title || "Without a title"}” is deleted.`,
      { undo: () => { this.outbox.send(key, data); } });
  }
}

/** Shows the journal in `root`. */
export function mount(root, session) {
  const app = new Journal(root, session);
  return { unmount: () => app.unmount() };
}
