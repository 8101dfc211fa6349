// One site of Six to Eight on the screen: what was said there, what is said now, and a field to say something.
//
// | state       | what is seen                             | leads to                                             |
// |-------------|------------------------------------------|------------------------------------------------------|
// | subscribing | the last posts, if any, and that it loads | reading, refused                                    |
// | reading     | posts, newest first, as they come        | subscribing: another person is followed, or offline  |
// | refused     | why                                      | subscribing: another person is followed              |

import { filter, newKey } from "../fanfare.js";
import { avatar, bag, button, fill, h, keyedList, sentence, timeTag, uniqueId } from "./ui.js";

export const sites = {
  harbour: ["⚓", "The harbour"], library: ["📚", "The library"], market: ["🧺", "The market"],
  observatory: ["🔭", "The observatory"], garden: ["🌿", "The garden"], theatre: ["🎭", "The theatre"],
  workshop: ["🔧", "The workshop"], station: ["🚉", "The station"],
};
export const siteName = (site) => sites[site]?.[1] ?? site;
/** Within a sentence. */
export const siteIn = (site) => siteName(site).replace(/^The/u, "the");

/** Posts that are kept on the page, and read from the history. */
export const mostPosts = 200;

export class Column {
  #held = bag();
  #posts = new Map();
  #pending = new Map();
  #subscription = null;
  #isLoading = false;
  person = null;

  /** `app` has `session`, `nameOf`, `learnWriters`, `follow(site, person)`, `change(site)` and `remove(site)`. */
  constructor(app, site) {
    this.app = app;
    this.client = app.session.client;
    this.site = site;
    this.channel = `sites:${site}`;
    const name = siteName(site);
    this.whom = h("p", { class: "small" });
    this.note = h("p", { class: "soft small sites-note", role: "status" });
    const list = h("ol", { class: "sites-posts", tabindex: "0", "aria-label": `Posts of ${siteIn(site)}` });
    this.rows = keyedList(list, {
      key: ({ key, offset }) => key ?? offset,
      make: (post) => (post.key ? this.#makePending(post) : this.#makePost(post)),
    });
    const input = h("input", {
      class: "input", id: uniqueId("post"), maxlength: 1000, autocomplete: "off", placeholder: "Write here",
      "aria-label": `Write at ${siteIn(site)}`,
    });
    const form = h("form", { class: "sites-write", on: {
      submit: (event) => {
        event.preventDefault();
        this.#write(input);
      },
    } }, input, h("button", { type: "submit", class: "button" }, "Post"));
    this.element = h("li", { class: "sites-column card" }, h("div", { class: "sites-head" },
      h("span", { class: "sites-sign", "aria-hidden": true }, sites[site]?.[0] ?? "•"),
      h("div", { class: "grow" }, h("h2", {}, name), this.whom),
      button("✎", () => app.change(site), { kind: "icon", label: `Change what you read at ${siteIn(site)}` }),
      button("✕", () => app.remove(site), { kind: "icon", label: `Leave ${siteIn(site)}` })), form, this.note, list);
  }

  show(person) {
    if (this.person === person) return;
    this.person = person;
    fill(this.whom, person ? [h("span", { class: "chip" }, `Only ${this.app.nameOf(person)}`), " ",
      button("Everybody", () => this.app.follow(this.site, ""), { class: "sites-link", label: "Read everybody again" })]
      : h("span", { class: "soft" }, "Everybody"));
    this.#close();
    this.#posts.clear();
    this.#draw();
    const options = { recover: true, ...(person ? { filter: filter.eq("user", person) } : {}) };
    const there = this.client.subscription(this.channel);
    if (there && there.state !== "unsubscribed") there.unsubscribe();
    const mine = this.#subscription = this.client.subscribe(this.channel, options);
    this.#isLoading = true;
    this.#held.keep(mine.on("publication", (post) => this.#take([post])));
    this.#held.keep(mine.on("subscribed", ({ wasRecovering, recovered }) => {
      if (wasRecovering && recovered) this.#sayState(); else this.#load(mine);
    }));
    this.#held.keep(mine.on("subscribing", () => this.#sayState()));
    this.#held.keep(mine.on("unsubscribed", ({ reason }) => { this.note.textContent = `Not subscribed: ${reason}`; }));
    this.#held.keep(mine.on("error", ({ error }) => { this.note.textContent = sentence(error); }));
    this.#sayState();
  }

  #close() {
    this.#held.end();
    this.#subscription?.unsubscribe();
    this.#subscription = null;
  }

  end() {
    this.#close();
    this.element.remove();
  }

  async #load(mine) {
    try {
      // The history is not filtered: what others have written also says who writes here.
      const { publications } = await mine.history({ limit: mostPosts, reverse: true });
      if (mine !== this.#subscription) return;
      this.#isLoading = false;
      this.app.learnWriters(this.site, publications, true);
      this.#take(publications.filter(({ info }) => !this.person || info?.user === this.person));
    } catch (error) {
      if (mine === this.#subscription) this.note.textContent = sentence(error);
    }
  }

  #take(publications) {
    this.app.learnWriters(this.site, publications);
    for (const post of publications) {
      if (post.tags.deletes) this.#posts.delete(Number(post.tags.deletes));
      else if (!post.tags.edits && typeof post.data?.text === "string") this.#posts.set(post.offset, post);
    }
    const newest = [...this.#posts.values()].sort((a, b) => b.offset - a.offset).slice(0, mostPosts);
    this.#posts = new Map(newest.map((post) => [post.offset, post]));
    this.#draw();
  }

  #draw() {
    this.rows.show([...[...this.#pending.values()].reverse(), ...this.#posts.values()]);
    this.#sayState();
  }

  #sayState() {
    const isOn = this.#subscription?.state === "subscribed";
    const text = !isOn && this.client.connectionState !== "connected"
      ? "Offline. What others write meanwhile comes when you are back."
      : !isOn || this.#isLoading ? "Loading …" : this.#posts.size + this.#pending.size > 0 ? ""
        : this.person ? `${this.app.nameOf(this.person)} has not written here yet. What they write comes at once.`
          : "Nobody has written here yet. Be the first.";
    if (this.note.textContent !== text) this.note.textContent = text;
  }

  #makePost({ info, data, time }) {
    const user = info?.user ?? "";
    const name = this.app.nameOf(user);
    const picture = avatar(user, name, "small");
    this.app.session.store.showPicture(picture, user);
    picture.rename(name);
    const author = user === this.app.session.user || this.person ? h("strong", {}, name)
      : button(name, () => this.app.follow(this.site, user), {
        class: "sites-link", label: `${name}: follow only them at ${siteIn(this.site)}`, title: `Follow only ${name}`,
      });
    return h("li", { class: "sites-post" }, picture, h("div", { class: "grow" },
      h("div", { class: "row small" }, author, time ? timeTag(time, undefined, { class: "soft" }) : null),
      h("p", {}, data.text)));
  }

  #makePending({ text }) {
    const { user } = this.app.session;
    return h("li", { class: "sites-post is-pending" }, avatar(user, this.app.nameOf(user), "small"),
      h("div", { class: "grow" }, h("div", { class: "row small" }, h("strong", {}, this.app.nameOf(user)),
        h("span", { class: "soft" }, "waits to be sent")), h("p", {}, text)));
  }

  /** It waits in the client for the connection, and is published once however often it is said. */
  async #write(input) {
    const text = input.value.trim();
    if (!text) return;
    input.value = "";
    const key = newKey();
    const { session } = this.app;
    // What goes out at once is not shown as waiting: the post itself is there before one could read that.
    const timer = setTimeout(() => {
      this.#pending.set(key, { key, text });
      this.#draw();
    }, this.client.connectionState === "connected" ? 800 : 0);
    const sent = session.waits();
    try {
      await this.client.publish(this.channel, { text }, { key });
      if (this.person && this.person !== session.user) {
        session.toast(`Posted. You read only ${this.app.nameOf(this.person)} here, so you do not see it.`);
      }
    } catch (error) {
      if (!input.value) input.value = text;
      session.toast(`Not posted: ${sentence(error)}`);
    } finally {
      clearTimeout(timer);
      this.#pending.delete(key);
      this.#draw();
      sent();
    }
  }
}
