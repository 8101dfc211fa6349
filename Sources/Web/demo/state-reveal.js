// What two people have shown each other in State: both pictures of both, captions, and one reaction of each.

import { button, duration, fill, fullTime, h, sentence, shortTime } from "./ui.js";

const reactions = [["🔥", "fire"], ["❤️", "heart"], ["😂", "laughing"], ["😮", "astonished"], ["👏", "applause"]];

/** Shows a revealed thread in `root`. `now()` is the server's time; `back()` and `again()` leave. */
export class Reveal {
  #addresses = new Map();
  #isOver = false;

  constructor(root, { session, thread, name, now, back, again }) {
    Object.assign(this, { session, user: thread.with, name, now, thread });
    this.front = thread.theirs.front;
    this.heading = h("h2", { tabindex: "-1" }, `You and ${name}`);
    this.left = h("p", { class: "state-left" });
    this.theirs = this.#side(thread.theirs, name);
    this.mine = this.#side(thread.mine, "You");
    this.status = h("p", { class: "visually-hidden", role: "status" });
    this.buttons = reactions.map(([sign, word]) => h("button", {
      type: "button", class: "button state-reaction", "aria-pressed": "false", "aria-label": word, title: word,
      dataset: { sign }, on: { click: (event) => this.#react(event.currentTarget) },
    }, sign));
    fill(root, h("section", { class: "state-reveal", "aria-label": `Revealed: you and ${name}` },
      h("div", { class: "state-reveal-head" },
        button("←", back, { kind: "icon", label: "All exchanges" }),
        h("div", { class: "grow" }, this.heading, this.left),
        button(`Send ${name} another`, again)),
      h("div", { class: "state-sides" }, this.theirs.element, this.mine.element),
      h("div", { class: "state-reactions", role: "group", "aria-label": `React to ${name}` }, this.buttons),
      this.status));
    this.draw(thread);
    this.tick();
    this.heading.focus();
    this.#load();
  }

  async #load() {
    const loaded = await Promise.all([this.theirs.load(), this.mine.load()]);
    // Looked at is what was on the screen: not what could not be fetched, and not what was left before.
    if (loaded[0] && !this.#isOver && this.thread.unread) {
      this.session.client.state.seen(this.user).catch((error) => this.session.toast(sentence(error)));
    }
  }

  /** One person's two pictures: one large, the other in its corner; a click exchanges them. */
  #side(sealed, name) {
    const note = h("p", { class: "state-note", role: "status" }, "Fetching …");
    const images = {
      front: h("img", { alt: `${name}, front camera` }), rear: h("img", { alt: `${name}, rear camera` }),
    };
    const sticker = h("span", { class: "state-sticker", "aria-hidden": true });
    const frame = h("button", {
      type: "button", class: "state-frame", "aria-label": `${name}: exchange the large and the small picture`,
      on: { click: () => frame.classList.toggle("is-turned") },
    }, images.rear, images.front);
    const retry = button("Try again", () => load(), { hidden: true });
    const element = h("figure", { class: "state-side" }, h("div", { class: "state-stage" }, frame, sticker,
      h("figcaption", {}, h("strong", {}, name), sealed.caption ? h("span", {}, sealed.caption) : null)), note, retry);
    const load = async () => {
      retry.hidden = true;
      note.textContent = "Fetching …";
      try {
        for (const side of ["rear", "front"]) {
          const { bytes, type } = await this.session.client.state.pictures.download(sealed[side]);
          if (this.#isOver) return false;
          const before = this.#addresses.get(sealed[side]);
          if (before) URL.revokeObjectURL(before);
          const address = URL.createObjectURL(new Blob([bytes], { type }));
          this.#addresses.set(sealed[side], address);
          images[side].src = address;
        }
        note.textContent = "";
        return true;
      } catch (error) {
        note.textContent = error.status === 404 ? "These pictures are gone." : sentence(error);
        retry.hidden = error.status === 404;
        return false;
      }
    };
    return { element, load, sticker };
  }

  async #react(pressed) {
    const isMine = pressed.getAttribute("aria-pressed") === "true";
    try {
      await this.session.client.state.react(this.user, isMine ? undefined : pressed.dataset.sign);
    } catch (error) {
      this.session.toast(sentence(error));
    }
  }

  /** Whether this is still what is shown: another exchange with the same person is another reveal. */
  isOf(thread) { return thread?.phase === "revealed" && thread.theirs?.front === this.front; }

  draw(thread) {
    this.thread = thread;
    for (const each of this.buttons) {
      each.setAttribute("aria-pressed", String(each.dataset.sign === thread.mine?.reaction));
    }
    // What the other thinks of my pictures is on mine, and mine on theirs.
    this.mine.sticker.textContent = thread.theirs?.reaction ?? "";
    this.theirs.sticker.textContent = thread.mine?.reaction ?? "";
    const text = thread.theirs?.reaction ? `${this.name} has reacted: ${thread.theirs.reaction}` : "";
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  tick() {
    const { until } = this.thread;
    const text = `${duration(until - this.now())} left, until ${shortTime(until)}. Then both are deleted.`;
    if (this.left.textContent !== text) this.left.textContent = text;
    this.left.title = fullTime(until);
  }

  end() {
    this.#isOver = true;
    for (const address of this.#addresses.values()) URL.revokeObjectURL(address);
    this.#addresses.clear();
  }
}
