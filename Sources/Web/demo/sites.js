// Six to Eight: a reader of many sites. A site is a channel in which everybody may write; who follows one person there
// has the server filter on the publisher. The choices of a person are a map channel, on all devices. Nothing waits for
// anything else: the form is ready at once, each column says by itself what it is doing.

import { attempt, idOf, nameOf, offlineNote, ownMap, persist } from "./people.js";
import { Column, mostPosts, siteIn, siteName, sites } from "./sites-column.js";
import { announce, bag, button, field, fill, h, uniqueId } from "./ui.js";

const nobody = "";
/** Writers of a site that are remembered, and those of them that are offered. */
const [mostWriters, mostOffered] = [200, 8];

/** Who is followed at another site: the same person where they write there, or where nobody knows whether they do. */
export const keptPerson = (person, writers) => (!writers || writers.has(person) ? person : nobody);

class Sites {
  #held = bag();
  #columns = new Map();
  /** By site, those whose posts have come; `known` where the site's history was read. */
  #writers = new Map();
  #known = new Set();
  #looked = new Set();
  /** Whom the person wants to follow, whatever site is chosen. */
  #wanted = nobody;

  constructor(root, session) {
    this.root = root;
    this.session = session;
    this.client = session.client;
    this.choiceChannel = `site-choice:#${session.user}`;
    this.choices = ownMap(this.client, this.choiceChannel, { order: "ascending" });
    this.#build();
    for (const name of ["change", "subscribed"]) this.#held.keep(this.choices.on(name, () => this.#later()));
    this.#draw();
  }

  unmount() {
    this.#held.end();
    for (const column of this.#columns.values()) column.end();
    this.#columns.clear();
    this.choices.unsubscribe();
    fill(this.root);
  }

  nameOf(user) { return nameOf(this.session, user); }

  /** `isAll`: these are all who are kept there, and not only who writes now. */
  learnWriters(site, publications, isAll = false) {
    const known = this.#writers.get(site) ?? new Set();
    const before = known.size;
    for (const { info } of publications) if (info?.user && known.size < mostWriters) known.add(info.user);
    this.#writers.set(site, known);
    const isNews = known.size > before || (isAll && !this.#known.has(site));
    if (isAll) this.#known.add(site);
    if (isNews && site === this.site.value) this.#suggest();
  }

  #build() {
    const site = field("Site", {
      tag: "select", children: Object.entries(sites).map(([value, [sign, text]]) => h("option", { value },
        `${sign} ${text}`)),
      on: { change: () => this.#switched() },
    });
    this.site = site.input;
    const list = h("datalist", { id: uniqueId("writers") });
    this.known = list;
    const person = field("Follow only (optional)", {
      list: list.id, autocomplete: "off", maxlength: 60, placeholder: "Everybody", spellcheck: "false",
      on: {
        input: () => {
          this.#wanted = idOf(this.person.value);
          this.#suggest();
        },
      },
    });
    this.person = person.input;
    this.writers = h("div", { class: "picker-found", role: "group", "aria-label": "Who writes there" });
    this.hint = h("p", { class: "field-help", role: "status" });
    this.columns = h("ul", { class: "sites-columns", "aria-label": "What you read" });
    this.empty = h("section", { class: "card sites-empty", hidden: true },
      h("h2", {}, "Everything worth reading, side by side"),
      h("p", { class: "soft" }, "Press Save and you read the first site at once, with everybody who writes there. Or "
        + "begin with one of these:"),
      h("div", { class: "row row-centre" }, Object.entries(sites).slice(0, 6).map(([value, [sign, text]]) =>
        button([h("span", { "aria-hidden": true }, sign), text], () => this.follow(value, nobody),
          { label: `Read ${text}` }))));
    const offline = offlineNote(this.session, "You are offline. What you save or post waits in this window, and goes "
      + "out as soon as you are back.");
    this.#held.keep(() => offline.end());
    fill(this.root, h("div", { class: "sites stack" }, h("h1", {}, "Six to Eight"), offline.element,
      h("div", { class: "sided" },
        h("div", { class: "sided-side" }, h("form", {
          class: "sites-form card stack", "aria-label": "What to read", on: {
            submit: (event) => {
              event.preventDefault();
              this.follow(this.site.value, idOf(this.person.value));
            },
          },
        }, site.element, h("div", { class: "stack-tight" }, person.element, list, this.hint, this.writers),
        h("button", { type: "submit", class: "button button-primary" }, "Save"))),
        h("div", { class: "sided-main stack" }, this.columns, this.empty))));
    this.#suggest();
  }

  /** What is known of who writes at the chosen site. */
  #suggest() {
    const site = this.site.value;
    const people = [...this.#writers.get(site) ?? []].filter((user) => user !== this.session.user);
    const chosen = idOf(this.person.value);
    fill(this.known, people.map((user) => h("option", { value: user }, this.nameOf(user))));
    const hadFocus = this.writers.contains(document.activeElement) ? document.activeElement.dataset.user : null;
    fill(this.writers, people.slice(0, mostOffered).map((user) => button(this.nameOf(user), () => {
      this.#wanted = this.person.value = chosen === user ? nobody : user;
      this.#suggest();
    }, {
      class: "button button-small", "aria-pressed": String(chosen === user), dataset: { user },
      label: `Follow only ${this.nameOf(user)}`,
    })));
    if (hadFocus) [...this.writers.children].find(({ dataset }) => dataset.user === hadFocus)?.focus();
    const text = people.length > 0 ? `Who writes at ${siteIn(site)}:`
      : this.#known.has(site) ? `Nobody else writes at ${siteIn(site)} yet.` : "";
    const left = this.#wanted && !chosen ? ` ${this.nameOf(this.#wanted)} does not: you would read everybody.` : "";
    if (this.hint.textContent !== text + left) this.hint.textContent = text + left;
  }

  #switched() {
    const site = this.site.value;
    const writers = this.#known.has(site) ? this.#writers.get(site) : undefined;
    this.person.value = keptPerson(this.#wanted, writers);
    this.#suggest();
    if (!writers) this.#look(site);
  }

  /** Reads who writes at a site that is not subscribed to. The form does not wait for it. */
  async #look(site) {
    const channel = `sites:${site}`;
    const there = this.client.subscription(channel);
    if (this.#looked.has(site) || (there && there.state !== "unsubscribed")) return;
    this.#looked.add(site);
    const wanted = this.#wanted;
    const glance = this.client.subscribe(channel, {});
    try {
      await glance.ready();
      const { publications } = await glance.history({ limit: mostPosts, reverse: true });
      this.learnWriters(site, publications, true);
      // Whoever has typed or saved meanwhile meant what they did.
      const isAsItWas = this.site.value === site && this.#wanted === wanted && idOf(this.person.value) === wanted;
      if (isAsItWas && this.columns.isConnected) {
        this.person.value = keptPerson(wanted, this.#writers.get(site));
        this.#suggest();
      }
    } catch {
      // The person stays, as where nobody knows whether they write there.
      this.#looked.delete(site);
    } finally {
      if (!this.#columns.has(site)) glance.unsubscribe();
    }
  }

  change(site) {
    this.site.value = site;
    this.#wanted = this.person.value = this.choices.view.get(site)?.person ?? nobody;
    this.#suggest();
    this.person.focus();
  }

  #say(method, rest, offline) {
    return persist(this.session, method, { channel: this.choiceChannel, ...rest }, () => this.session.toast(offline));
  }

  /** Reads the site, everybody there or one person. */
  follow(site, person) {
    const since = this.choices.view.get(site)?.since ?? Date.now();
    return attempt(this.session, async () => {
      await this.#say("map.set", { key: site, data: { person, since }, score: since },
        `You are offline. ${siteName(site)} is saved as soon as you are back.`);
      announce(`You read ${siteIn(site)}: ${person ? `only ${this.nameOf(person)}` : "everybody"}.`);
    }, "Not saved");
  }

  remove(site) {
    const before = this.choices.view.get(site);
    return attempt(this.session, async () => {
      await this.#say("map.remove", { key: site },
        `You are offline. You leave ${siteIn(site)} as soon as you are back.`);
      if (this.columns.isConnected) this.site.focus();
      this.session.toast(`You have left ${siteIn(site)}.`, { undo: () => before && attempt(this.session,
        () => this.#say("map.set", { key: site, data: before, score: before.since },
          "You are offline. It comes back as soon as you are."), "Not brought back") });
    }, "Not left");
  }

  /** Subscriptions begin outside of the client's events: within one, what is ended would still be there. */
  #later() { queueMicrotask(() => { if (this.columns.isConnected) this.#draw(); }); }

  #draw() {
    const { view } = this.choices;
    for (const [site, column] of this.#columns) {
      if (view.has(site)) continue;
      column.end();
      this.#columns.delete(site);
    }
    for (const [site, data] of view) {
      if (!this.#columns.has(site)) this.#columns.set(site, new Column(this, site));
      const column = this.#columns.get(site);
      if (!column.element.isConnected) this.columns.append(column.element);
      column.show(data?.person ?? nobody);
    }
    this.columns.hidden = view.size === 0;
    this.empty.hidden = view.size > 0 || this.choices.state !== "subscribed";
  }
}

/** Shows the sites in `root`. */
export function mount(root, session) {
  const app = new Sites(root, session);
  return { unmount: () => app.unmount() };
}
