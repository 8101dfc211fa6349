// The page of blocked people, and of what one has reported.

import {
  announce, avatar, bag, button, daysAgo, emptyState, fill, fromNow, h, keyedList, shortTime, timeTag,
} from "./ui.js";
import { reasons } from "./clique-actions.js";
import { setText, unblock } from "./clique-profile.js";

/** The screen of blocked people and one's reports. `end()` leaves it. */
export function makeSettings(context) {
  const held = bag();
  const element = h("div", { class: "profile" }, blockedPeople(context, held), ownReports(context, held));
  return { element, end: () => held.end() };
}

function blockedPeople(context, held) {
  const { store } = context;
  const title = h("h1", { id: "blocked-title", tabindex: "-1" }, "Blocked people");
  const rows = h("ul", { class: "list" });
  const empty = h("div");
  const list = keyedList(rows, { key: ({ user }) => user, make: ({ user }) => {
    const name = h("span", { class: "strong one-line" });
    const since = h("span", { class: "soft small" });
    const face = avatar(user, store.nameOf(user));
    const undo = button("Unblock…", async () => {
      if (await unblock(context, user)) title.focus({ preventScroll: true });
    }, { class: "button" });
    const row = h("li", { class: "person-row" },
      h("a", { class: "list-row grow", href: `#/clique/person/${encodeURIComponent(user)}` }, face,
        h("span", { class: "stack-tight grow" }, name, since)), undo);
    row.show = ({ time }) => {
      setText(name, store.nameOf(user));
      setText(since, daysAgo(time) > 0 ? `Blocked since ${shortTime(time)}` : `Blocked ${fromNow(time)}`);
      undo.setAttribute("aria-label", `Unblock ${name.textContent}`);
      face.rename(name.textContent);
    };
    return row;
  }, update: (row, person) => row.show(person) });
  const show = () => {
    const people = [...store.blocked.view].map(([user, data]) => ({ ...data, user }));
    list.show(people);
    showEmpty(empty, rows, people.length, store.blocked.state === "subscribed",
      ["You have blocked nobody", "Block somebody on their profile, when you do not want to hear from them. "
        + "They are not told."]);
  };
  held.keep(store.onChange(show));
  held.every(30_000, show);
  show();
  return h("section", { class: "card stack", "aria-labelledby": title.id }, title,
    h("p", { class: "soft" }, "Nothing that these people write reaches you, and neither of you meets or finds the "
      + "other. To them it looks as if you were silent. When you unblock somebody, what they write from then on "
      + "arrives; what they wrote before does not. Nobody is told of either."), rows, empty);
}

const reportStates = { open: "With the moderators", settled: "Settled" };

function ownReports({ client, store }, held) {
  const reports = client.clique.reports();
  const rows = h("ul", { class: "list" });
  const empty = h("div");
  const list = keyedList(rows, { key: ({ report }) => report, make: ({ user, offset, reason, text, time }) => {
    const name = h("span", { class: "strong" });
    const chip = h("span", { class: "chip" });
    const row = h("li", { class: "report-row stack-tight" }, h("div", { class: "row row-between" }, name, chip),
      h("p", { class: "soft small" }, reasons[reason] ?? reason, offset ? ", a message" : "", " · ", timeTag(time)),
      text ? h("p", { class: "small" }, text) : null);
    row.show = ({ state }) => {
      setText(name, store.nameOf(user));
      setText(chip, reportStates[state] ?? state);
      chip.classList.toggle("chip-good", state === "settled");
    };
    return row;
  }, update: (row, report) => row.show(report) });
  const show = () => {
    const all = [...reports.view.values()];
    list.show(all);
    showEmpty(empty, rows, all.length, reports.state === "subscribed",
      ["You have reported nobody", "A report goes to the moderators, from a profile or from a message."]);
  };
  held.keep(reports.on("change", ({ key, data, previous }) => {
    const isNews = data?.state === "settled" && previous?.state === "open";
    if (isNews) announce(`Your report of ${store.nameOf(reports.view.get(key)?.user ?? "")} is settled.`);
    show();
  }));
  held.keep(reports.on("subscribed", show));
  held.keep(store.onChange(show));
  held.keep(() => reports.unsubscribe());
  show();
  return h("section", { class: "card stack", "aria-labelledby": "reports-title" },
    h("h2", { id: "reports-title" }, "What you have reported"),
    h("p", { class: "soft" }, "Nobody who is reported is told. What the moderators decide is not said here, and a "
      + "report is forgotten after 90 days, or 30 days after it was settled. It blocks nobody: block them, too."), rows, empty);
}

/** What stands in place of a list without rows. */
function showEmpty(place, rows, number, isReady, [title, text]) {
  rows.hidden = number === 0;
  place.hidden = number > 0;
  const state = isReady ? "nothing" : "loading";
  if (place.dataset.state === state) return;
  place.dataset.state = state;
  fill(place, isReady ? emptyState(title, text) : h("p", { class: "empty" }, "Opening…"));
}
