// Favorites: a grid of people that grows from 2 × 2 to 4 × 4. A click does what was chosen for the person, a double
// click (or the button with the dots, or the menu key) shows everything else. The grid is a map
// channel: score is the place.
//
// | mode  | a tile's click               | dragging           | keys                                          |
// |-------|------------------------------|--------------------|-----------------------------------------------|
// | use   | after the interval: default  | with a mouse       | Enter: default; menu key: all actions         |
// | use   | twice within it: all actions |                    |                                               |
// | edit  | all actions and the default  | with anything      | arrows move the tile; Delete takes it out     |

import { attempt, nameOf, offlineNote, ownMap, persist, picker, readable } from "./people.js";
import { announce, avatar, bag, button, calm, field, fill, h, keyedList, openDialog } from "./ui.js";

const most = 16;
/** Between the scores of two neighbours, so that one can go between them. */
const gap = 1_000_000;
/** How far a pointer goes before it drags, in pixels. */
const threshold = 8;
const intervals = [[200, "quick (0.2 s)"], [300, "usual (0.3 s)"], [500, "slow (0.5 s)"], [900, "very slow (0.9 s)"]];
const actions = { write: "Write a message", state: "Send a State", profile: "See the profile" };

/** How many columns `count` tiles take: the grid is a square, and no bigger than it has to be. */
export const columns = (count) => Math.min(4, Math.max(2, Math.ceil(Math.sqrt(count))));

/** The score for a place between two neighbours (undefined at an end); null where there is no room any more. */
export function between(before, after) {
  if (before === undefined && after === undefined) return gap;
  if (before === undefined) return after - gap;
  if (after === undefined) return before + gap;
  const middle = Math.floor((before + after) / 2);
  return middle > before && middle < after ? middle : null;
}

class Favorites {
  #held = bag();
  #editing = false;
  #drag = null;
  #click = null;
  /** What was changed here and has not come back yet: places, and whom to leave out. */
  #scores = new Map();
  #leaving = new Set();

  constructor(root, session) {
    this.root = root;
    this.session = session;
    this.channel = `favorites:#${session.user}`;
    this.map = ownMap(session.client, this.channel, { order: "ascending" });
    this.intervalName = "fanfare.demo.favorites.interval";
    const kept = Number(localStorage.getItem(this.intervalName));
    this.interval = intervals.some(([time]) => time === kept) ? kept : 300;
    this.#build();
    this.#held.keep(this.map.on("change", ({ key, entry }) => {
      if (entry.removed || entry.score === this.#scores.get(key)) this.#scores.delete(key);
      this.#draw();
    }));
    for (const name of ["subscribed", "unsubscribed"]) this.#held.keep(this.map.on(name, () => this.#draw()));
    this.#held.keep(session.store.onChange(() => this.#draw()));
    this.#held.keep(() => this.#forgetClick());
    this.#draw();
  }

  unmount() {
    this.#held.end();
    this.map.unsubscribe();
    fill(this.root);
  }

  /** What Clique calls them, what they were called when they were added, or what the id says. */
  #name(user) {
    const name = nameOf(this.session, user);
    return name === readable(user) ? this.map.view.get(user)?.name || name : name;
  }

  #score(user) { return this.#scores.get(user) ?? this.map.view.entry(user)?.score; }

  /** The people in their order, with what is on its way. */
  #keys() {
    return [...this.map.view.keys()].filter((user) => !this.#leaving.has(user))
      .sort((a, b) => this.#score(a) - this.#score(b));
  }

  #build() {
    this.grid = h("ul", { class: "favorites-grid", "aria-label": "Favorites" });
    this.rows = keyedList(this.grid, {
      key: (user) => user, make: (user) => (user.startsWith("+") ? this.#makeGap() : this.#makeTile(user)),
      update: (tile) => tile.show(),
    });
    this.edit = button("Edit", () => this.#setEditing(!this.#editing), { "aria-pressed": "false" });
    this.hint = h("p", { class: "soft small grow" });
    this.picker = picker(this.session, {
      label: "Add somebody", verb: "Add", choose: (user, name) => this.#add(user, name),
      leaves: (user) => this.map.view.has(user) && !this.#leaving.has(user),
    });
    this.#held.keep(() => this.picker.end());
    const offline = offlineNote(this.session,
      "You are offline. Your favorites are here, and what you change goes out as soon as you are back.");
    this.#held.keep(() => offline.end());
    this.adding = h("div", { class: "card" }, this.picker.element);
    this.empty = h("section", { class: "favorites-empty", hidden: true },
      h("h2", {}, "Your favorite people, one touch away"),
      h("p", { class: "soft" }, "Add somebody, and the grid begins with four places. It grows to sixteen by itself. "
        + "Click a person to write to them, double click for everything else, and drag them to where you want them."));
    const interval = field("Double click", {
      tag: "select", children: intervals.map(([time, text]) => h("option", { value: time }, text)),
      on: {
        change: ({ target }) => {
          this.interval = Number(target.value);
          localStorage.setItem(this.intervalName, target.value);
        },
      },
    }, "How long a second click may take. A single click waits as long.");
    interval.input.value = String(this.interval);
    fill(this.root, h("div", { class: "favorites stack" },
      h("div", { class: "row row-between" }, h("h1", {}, "Favorites"), this.edit), offline.element,
      h("div", { class: "sided" },
        h("div", { class: "sided-side" }, this.adding,
          h("details", { class: "card side-settings" }, h("summary", {}, "Settings"), interval.element)),
        h("div", { class: "sided-main favorites-main-side stack" }, this.empty, this.grid, this.hint))));
  }

  #do(f, failed) { return attempt(this.session, f, failed); }

  /** `later` is said where it waits for the connection; without it, what is on the screen says enough. */
  #say(method, rest, later) {
    return persist(this.session, method, { channel: this.channel, ...rest }, () => later && this.session.toast(later));
  }

  #set(user, data, score, later = `You are offline. ${this.#name(user)} is saved as soon as you are back.`) {
    return this.#say("map.set", { key: user, data, score }, later);
  }

  async #add(user, name) {
    const keys = this.#keys();
    if (keys.length >= most) return this.session.toast(`The grid is full: it holds ${most}. Take somebody out first.`);
    this.picker.input.focus();
    const score = between(this.#score(keys.at(-1)), undefined);
    if (!await this.#do(() => this.#set(user, { name, action: "write" }, score,
      `You are offline. ${name} is added as soon as you are back.`), `${name} was not added`)) return;
    announce(`${name} is added.`);
  }

  async #remove(user) {
    const entry = this.map.view.entry(user);
    if (!entry || this.#leaving.has(user)) return;
    // Where it was put last may be on its way still.
    const score = this.#score(user);
    const keys = this.#keys();
    const next = keys[keys.indexOf(user) + 1] ?? keys[keys.indexOf(user) - 1];
    const name = this.#name(user);
    this.#leaving.add(user);
    this.#draw();
    (this.rows.rows.get(next)?.querySelector("button") ?? this.picker.input).focus();
    const isOut = await this.#do(() => this.#say("map.remove", { key: user },
      `You are offline. ${name} is taken out as soon as you are back.`), `${name} is still there`);
    this.#leaving.delete(user);
    this.#draw();
    if (!isOut) return;
    this.session.toast(`${name} is taken out.`, {
      undo: () => this.#do(() => this.#set(user, entry.data, score), `${name} was not brought back`),
    });
  }

  #setEditing(on) {
    this.#editing = on;
    this.edit.setAttribute("aria-pressed", String(on));
    this.edit.textContent = on ? "Done" : "Edit";
    announce(on ? "Editing. Arrow keys move a person, Delete takes them out." : "Done editing.");
    this.#draw();
  }

  /** A place for one more: how many there are says how far the grid has grown. */
  #makeGap() {
    const tile = h("li", {
      class: "favorites-gap", "aria-hidden": true, on: { click: () => this.picker.input.focus() },
    }, "+");
    tile.show = () => {};
    return tile;
  }

  #makeTile(user) {
    const picture = avatar(user, this.#name(user), "large");
    const name = h("span", { class: "favorites-name one-line" });
    const what = h("span", { class: "soft small one-line" });
    const main = h("button", {
      type: "button", class: "favorites-main", on: {
        click: (event) => this.#clicked(user, event),
        keydown: (event) => this.#key(user, event),
        contextmenu: (event) => {
          event.preventDefault();
          this.#menu(user);
        },
      },
    }, picture, name, what);
    const more = h("button", { type: "button", class: "favorites-more", on: { click: () => this.#menu(user) } }, "⋯");
    const out = h("button", { type: "button", class: "favorites-out", on: { click: () => this.#remove(user) } }, "✕");
    const tile = h("li", { class: "favorites-tile" }, main, more, out);
    tile.dataset.user = user;
    tile.addEventListener("pointerdown", (event) => this.#grab(user, tile, event));
    tile.addEventListener("dragstart", (event) => event.preventDefault());
    tile.show = () => {
      const called = this.#name(user);
      this.session.store.showPicture(picture, user);
      picture.rename(called);
      name.textContent = called;
      const action = actions[this.map.view.get(user)?.action] ? this.map.view.get(user).action : "write";
      what.textContent = actions[action];
      more.setAttribute("aria-label", `Everything for ${called}`);
      out.setAttribute("aria-label", `Take ${called} out`);
      out.hidden = !this.#editing;
      more.hidden = this.#editing;
    };
    return tile;
  }

  #forgetClick() {
    clearTimeout(this.#click?.timer);
    this.#click = null;
  }

  #clicked(user, event) {
    if (this.#drag?.isMoving || this.justDropped) return;
    if (this.#editing) return this.#menu(user);
    // A key cannot be meant twice: its clicks have no number.
    if (event.detail === 0) return this.#act(user, this.map.view.get(user)?.action);
    if (this.#click?.user === user) {
      this.#forgetClick();
      return this.#menu(user);
    }
    this.#forgetClick();
    this.#click = { user, timer: setTimeout(() => {
      this.#click = null;
      this.#act(user, this.map.view.get(user)?.action);
    }, this.interval) };
  }

  #act(user, action) {
    const id = encodeURIComponent(user);
    const conversation = this.session.store?.entryWith(user)?.conversation;
    if (action === "state") this.session.navigate(`#/state/${id}`);
    else if (action !== "profile" && conversation) {
      this.session.navigate(`#/clique/chat/${encodeURIComponent(conversation)}`);
    } else this.session.navigate(`#/clique/person/${id}`);
  }

  async #menu(user) {
    this.#forgetClick();
    const name = this.#name(user);
    const data = this.map.view.get(user);
    if (!data) return;
    const chosen = await openDialog(name, (close) => [
      h("div", { class: "stack-tight" },
        Object.entries(actions).map(([action, text]) => button(text, () => close({ action })))),
      this.#defaultChoice(user, data),
      h("div", { class: "dialog-actions" }, button("Take out", () => close({ out: true }), { kind: "danger" }),
        button("Close", () => close(), { kind: "quiet" })),
    ]);
    if (chosen?.action) this.#act(user, chosen.action);
    if (chosen?.out) this.#remove(user);
  }

  #defaultChoice(user, data) {
    const choice = field("A click does this", {
      tag: "select", children: Object.entries(actions).map(([value, text]) => h("option", { value }, text)),
      on: {
        change: ({ target }) => this.#do(
          () => this.#set(user, { ...data, action: target.value }, this.map.view.entry(user)?.score), "Not changed"),
      },
    });
    choice.input.value = actions[data.action] ? data.action : "write";
    return choice.element;
  }

  #key(user, event) {
    if (!this.#editing && !(event.altKey && event.key.startsWith("Arrow"))) return;
    const keys = this.#keys();
    const row = columns(keys.length);
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      return this.#remove(user);
    }
    if (step === undefined) return;
    event.preventDefault();
    const to = Math.min(keys.length - 1, Math.max(0, keys.indexOf(user) + step));
    if (to !== keys.indexOf(user)) this.#place(user, to);
  }

  /** Puts the tile at the place `to` among the others. */
  async #place(user, to) {
    const { view } = this.map;
    const others = this.#keys().filter((key) => key !== user);
    const score = between(this.#score(others[to - 1]), this.#score(others[to]));
    const order = [...others.slice(0, to), user, ...others.slice(to)];
    // Where the neighbours are too close by now, all get new places.
    const moved = score !== null ? [[user, score]] : order.map((key, index) => [key, (index + 1) * gap]);
    for (const [key, place] of moved) this.#scores.set(key, place);
    this.#draw();
    announce(`${this.#name(user)} is at place ${to + 1} of ${order.length}.`);
    const isDone = await this.#do(
      () => Promise.all(moved.map(([key, place]) => this.#set(key, view.get(key), place, ""))), "Not moved");
    if (isDone) return;
    for (const [key, place] of moved) if (this.#scores.get(key) === place) this.#scores.delete(key);
    this.#draw();
  }

  #grab(user, tile, event) {
    const isTouch = event.pointerType !== "mouse";
    if (event.button !== 0 || (isTouch && !this.#editing)) return;
    if (event.target.closest(".favorites-out, .favorites-more")) return;
    const drag = this.#drag = { user, tile, x: event.clientX, y: event.clientY, isMoving: false };
    const hold = bag();
    const finish = (drops) => {
      hold.end();
      this.#drag = null;
      if (!drag.isMoving) return;
      tile.classList.remove("is-dragged");
      tile.style.removeProperty("translate");
      for (const each of this.grid.children) each.style.removeProperty("order");
      // The click that ends a drag is none.
      this.justDropped = true;
      setTimeout(() => { this.justDropped = false; });
      if (drops && drag.to !== drag.from) this.#place(user, drag.to); else this.#draw();
    };
    hold.listen(window, "pointermove", (moved) => this.#move(drag, moved));
    hold.listen(window, "pointerup", () => finish(true));
    hold.listen(window, "pointercancel", () => finish(false));
    hold.listen(window, "keydown", (pressed) => {
      if (pressed.key === "Escape") finish(false);
    });
  }

  /** The places of the tiles, from the grid's corner: they stay while one is dragged, only who has which changes. */
  #lift(drag) {
    drag.isMoving = true;
    this.#forgetClick();
    const corner = this.grid.getBoundingClientRect();
    drag.keys = this.#keys();
    drag.slots = drag.keys.map((key) => {
      const box = this.rows.rows.get(key).getBoundingClientRect();
      return { x: box.x - corner.x, y: box.y - corner.y, width: box.width, height: box.height };
    });
    drag.from = drag.to = drag.keys.indexOf(drag.user);
    drag.hand = { x: drag.x - corner.x - drag.slots[drag.from].x, y: drag.y - corner.y - drag.slots[drag.from].y };
    drag.tile.classList.add("is-dragged");
  }

  #move(drag, { clientX, clientY }) {
    if (!drag.isMoving) {
      if (Math.hypot(clientX - drag.x, clientY - drag.y) < threshold || !this.map.view.has(drag.user)) return;
      this.#lift(drag);
    }
    const corner = this.grid.getBoundingClientRect();
    const [x, y] = [clientX - corner.x - drag.hand.x, clientY - corner.y - drag.hand.y];
    const far = drag.slots.map((slot) => Math.hypot(slot.x - x, slot.y - y));
    const to = far.indexOf(Math.min(...far));
    if (to !== drag.to) {
      this.#makeRoom(drag, to);
      drag.to = to;
    }
    drag.tile.style.setProperty("translate", `${x - drag.slots[to].x}px ${y - drag.slots[to].y}px`);
  }

  /** The others go aside. Only their places on the screen change: the list is put in order at the end. */
  #makeRoom(drag, to) {
    const others = drag.keys.filter((key) => key !== drag.user);
    const arranged = (place) => [...others.slice(0, place), drag.user, ...others.slice(place)];
    const [before, after] = [arranged(drag.to), arranged(to)];
    after.forEach((key, index) => {
      const tile = this.rows.rows.get(key);
      tile.style.setProperty("order", String(index - most));
      const [was, is] = [drag.slots[before.indexOf(key)], drag.slots[index]];
      if (key === drag.user || was === is || calm()) return;
      tile.animate([{ translate: `${was.x - is.x}px ${was.y - is.y}px` }, { translate: "0 0" }],
        { duration: 160, easing: "ease-out" });
    });
  }

  #draw() {
    // What comes from another device meanwhile is shown when the tile is let go.
    if (this.#drag?.isMoving) return;
    const keys = this.#keys();
    const across = columns(keys.length);
    const gaps = Array.from({ length: across * across - keys.length }, (_, index) => `+${index}`);
    this.rows.show([...keys, ...(this.#editing ? [] : gaps)]);
    this.grid.dataset.columns = String(across);
    this.grid.classList.toggle("is-editing", this.#editing);
    const isThere = this.map.state === "subscribed" || keys.length > 0;
    this.grid.hidden = !isThere;
    this.empty.hidden = keys.length > 0 || !isThere;
    this.edit.hidden = keys.length === 0;
    if (keys.length === 0 && this.#editing) this.#setEditing(false);
    this.adding.hidden = keys.length >= most;
    this.hint.textContent = keys.length === 0 ? "" : this.#editing
      ? "Drag, or use the arrow keys, to arrange. ✕ or Delete takes out."
      : "Click for what stands below the name, double click for the rest, drag to arrange. With the keyboard, Alt and "
        + "arrow keys move.";
  }
}

/** Shows the favorites in `root`. */
export function mount(root, session) {
  const app = new Favorites(root, session);
  return { unmount: () => app.unmount() };
}
