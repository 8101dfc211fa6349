// Who crossed one's path: the campus, the people, and finding somebody by name.

import {
  announce, avatar, bag, button, count, duration, emptyState, field, fill, fromNow, h, keyedList, rested, sentence,
} from "./ui.js";
import { makeCampus, placeName } from "./clique-map.js";

/** Milliseconds below which the time together says nothing yet. */
export const brief = 5000;

/** How long two were together, and are: what the server counted goes on while they are. */
export function togetherFor(crossing, toldAt, now = Date.now()) {
  return crossing.total + (crossing.together ? Math.max(0, now - toldAt) : 0);
}

/** The screen; `end()` leaves it. */
export function makeHome(context) {
  const { client, session } = context;
  const held = bag();
  const crossed = client.clique.crossed();
  const toldAt = new Map();
  let order = "recent";
  const campus = makeCampus(session, { onMove: () => show() });
  held.keep(campus.end);

  const rows = h("ul", { class: "list" });
  const empty = h("div");
  const list = keyedList(rows, {
    key: (crossing) => crossing.user, make: (crossing) => makePerson(context, crossing.user),
    update: (row, crossing) => row.show(crossing, togetherFor(crossing, toldAt.get(crossing.user) ?? Date.now())),
  });

  const show = () => {
    const people = [...crossed.view.values()];
    campus.update(people);
    const total = (one) => togetherFor(one, toldAt.get(one.user) ?? Date.now());
    if (order === "time") people.sort((a, b) => total(b) - total(a));
    list.show(people);
    empty.hidden = people.length > 0;
    rows.hidden = people.length === 0;
    const isLoading = crossed.state !== "subscribed" && people.length === 0;
    if (empty.dataset.loading !== String(isLoading)) {
      empty.dataset.loading = String(isLoading);
      fill(empty, isLoading ? h("p", { class: "empty" }, "Looking who crossed your path…") : nobody());
    }
  };
  held.keep(crossed.on("change", ({ key, data, previous }) => {
    if (data) toldAt.set(key, Date.now()); else toldAt.delete(key);
    if (data?.together && !previous?.together) announce(`${context.store.nameOf(key)} is here too.`);
    show();
  }));
  held.keep(crossed.on("subscribed", show));
  held.keep(context.store.onChange(show));
  held.every(10_000, show);
  held.keep(() => crossed.unsubscribe());

  const orders = [["recent", "Recently"], ["time", "Most time together"]].map(([name, text]) =>
    button(text, (event) => {
      order = name;
      for (const one of orders) one.setAttribute("aria-pressed", String(one === event.currentTarget));
      show();
    }, { class: "button button-small", "aria-pressed": String(name === order) }));

  const element = h("div", { class: "home" },
    h("section", { class: "card stack", "aria-labelledby": "campus-title" },
      h("div", { class: "row row-between" }, h("h1", { id: "campus-title" }, "Where are you?"),
        invisibleSwitch(context, campus)), campus.element),
    h("section", { class: "card stack", "aria-labelledby": "crossed-title" },
      h("div", { class: "row row-between" }, h("h2", { id: "crossed-title" }, "Who crossed your path"),
        h("div", { class: "filters", role: "group", "aria-label": "Order" }, orders)), rows, empty),
    makeFinder(context, held));
  show();
  return { element, end: () => held.end() };
}

function nobody() {
  return emptyState("Nobody yet", "You cross paths by being in the same place. Open a second window, be somebody else "
    + "there, and walk both into the café.",
  h("a", { class: "button button-primary", href: location.pathname, target: "_blank", rel: "noopener" },
    "Open a second window"));
}

function makePerson({ store, user: me }, user) {
  const face = avatar(user, store.nameOf(user));
  const name = h("span", { class: "strong one-line" });
  const detail = h("span", { class: "soft small" });
  const chip = h("span", { class: "chip chip-good" }, "Here now");
  const write = h("a", { class: "button button-small", href: `#/clique/to/${encodeURIComponent(user)}` });
  const row = h("li", { class: "person-row" },
    h("a", { class: "list-row grow", href: `#/clique/person/${encodeURIComponent(user)}` }, face,
      h("span", { class: "stack-tight grow" }, h("span", { class: "row" }, name, chip), detail)),
    user === me ? null : write);
  const set = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };
  row.show = (crossing, together) => {
    const title = store.nameOf(user);
    set(name, title);
    set(write, store.entryWith(user) ? "Open chat" : "Write");
    write.setAttribute("aria-label", `${write.textContent}: ${title}`);
    face.rename(title);
    store.showPicture(face, user);
    if (!crossing) return;
    chip.hidden = !crossing.together;
    const last = crossing.latest?.[0];
    const where = last ? `${placeName(last.place)}, ` : "";
    const when = crossing.together ? "now" : fromNow(crossing.seen);
    set(detail, `${where}${when} · ${together < brief ? "just met" : `${duration(together)} together`}`);
  };
  return row;
}

function invisibleSwitch({ client, toast, user }, campus) {
  // The server does not say whether one is invisible, other than by the answer to coming in.
  const kept = `fanfare.demo.invisible.${user}`;
  const box = h("input", { type: "checkbox", role: "switch", checked: sessionStorage.getItem(kept) === "on", on: {
    change: async () => {
      const on = box.checked;
      try {
        await client.clique.invisible(on);
        if (on) sessionStorage.setItem(kept, "on"); else sessionStorage.removeItem(kept);
        toast(on ? "You are invisible: nobody meets you, and you meet nobody." : "You can be met again.");
        if (!on) campus.enterAgain();
      } catch (error) {
        box.checked = !on;
        toast(sentence(error));
      }
    },
  } });
  return h("label", { class: "check small" }, box, "Invisible");
}

/** Finds people by name among those that one may see, and lets one write to an id that one knows. */
function makeFinder(context, held) {
  const { client, navigate, store, user: me, toast } = context;
  const input = field("Find or write to somebody", {
    type: "search", autocomplete: "off", maxlength: 80, spellcheck: "false", placeholder: "Name",
  }, "Finds people you have met or talk with. Whoever else you know by name, you can ask.");
  const rows = h("ul", { class: "list", "aria-label": "People found" });
  const list = keyedList(rows, {
    key: (person) => person.user, make: (person) => makePerson(context, person.user),
    update: (row) => row.show(null, 0),
  });
  const ask = h("button", { type: "submit", class: "button" });
  let asked = 0;
  const find = rested(async (text) => {
    const mine = asked += 1;
    try {
      const people = text ? await client.clique.findPeople(text, { limit: 20 }) : [];
      if (mine !== asked) return;
      list.show(people.filter((person) => person.user !== me));
      if (text) announce(`${count(people.length, "person", "people")} found`);
    } catch (error) {
      if (mine === asked && text) toast(sentence(error));
    }
  }, 300);
  const show = () => {
    const text = input.input.value.trim();
    ask.hidden = !text;
    ask.textContent = `Write to “${text}”`;
    find(text);
  };
  input.input.addEventListener("input", show);
  held.keep(find.cancel);
  ask.hidden = true;
  return h("section", { class: "card", "aria-label": "Find people" }, h("form", { class: "stack", role: "search", on: {
    submit: (event) => {
      event.preventDefault();
      const user = input.input.value.trim().toLowerCase();
      if (!user) return;
      if (user === me) return void toast("That is you. Write the name of somebody else.");
      const known = [...store.people.view.values()].find((one) => one.name?.toLowerCase() === user);
      navigate(`#/clique/to/${encodeURIComponent(known?.user ?? user)}`);
    },
  } }, input.element, h("div", { class: "row" }, ask)), rows);
}
