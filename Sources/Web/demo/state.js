// State: two people exchange pictures that neither sees before both have sent (docs/STATE.md). This is the overview in
// the colours of the phases, and what was revealed; the recorder is in state-recorder.js.
//
// | view      | leads to                                                                                     |
// |-----------|----------------------------------------------------------------------------------------------|
// | overview  | recorder: a person is chosen, or an answer; reveal: a revealed thread is opened               |
// | recorder  | overview: sent, or given up                                                                  |
// | reveal    | overview: back, or what was revealed has ended; recorder: another                             |

import { ServerClock } from "./server-clock.js";
import { nameOf, offlineNote, picker } from "./people.js";
import { Recorder } from "./state-recorder.js";
import { Reveal } from "./state-reveal.js";
import {
  announce, avatar, bag, button, confirm, count, duration, field, fill, fullTime, h, keyedList, sentence,
} from "./ui.js";

const recordingTimes = [5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000];
/** What needs me comes first. */
const urgency = ["received", "revealed", "sent", "expired", "idle"];

/** What a phase is called, and what it means for me. Colour alone says nothing to those who do not see it. */
const phases = {
  sent: { word: "Sealed", sign: "◔", text: (name) => `Yours is sealed. ${name} has not answered yet.` },
  received: { word: "Your turn", sign: "●", text: (name) => `${name} has sealed something for you. Answer to see it.` },
  revealed: { word: "Revealed", sign: "◉", text: (name) => `You and ${name} can see both.` },
  expired: { word: "Expired", sign: "○", text: () => "Nobody answered in time. Nobody ever sees what was sealed." },
  idle: { word: "Blocked", sign: "–", text: (name) => `You have blocked ${name}.` },
};

class StateApp {
  #held = bag();
  #view = "overview";
  #recorder = null;
  #reveal = null;

  constructor(root, session) {
    this.root = root;
    this.session = session;
    const { client } = session;
    this.threads = client.state.threads();
    this.events = client.state.events();
    this.clock = new ServerClock(session, () => this.#tick());
    this.#held.keep(this.clock.end);
    this.#build();
    this.#held.keep(this.threads.on("change", (change) => this.#changed(change)));
    this.#held.keep(this.threads.on("subscribed", () => this.#draw()));
    this.#held.keep(session.store.onChange(() => this.#draw()));
    this.#held.keep(this.events.on("publication", (event) => this.#heard(event)));
    session.news.isSeen = (event, user) => this.#isSeen(event, user);
    this.#held.keep(() => { session.news.isSeen = () => false; });
    this.#held.every(1000, () => this.#tick());
    this.#draw();
  }

  /** `#/state/ben` opens what there is with that person, the recorder otherwise. */
  route([user]) {
    if (user && user !== this.session.user) {
      this.threads.ready().then(() => {
        if (this.list.isConnected) this.#enter(user);
      }, () => {});
    }
  }

  unmount() {
    this.#recorder?.end();
    this.#reveal?.end();
    this.#held.end();
    fill(this.root);
  }

  #name(user) { return nameOf(this.session, user); }

  #build() {
    this.list = h("ul", { class: "state-list", "aria-label": "Your exchanges" });
    this.rows = keyedList(this.list, {
      key: (thread) => thread.with, make: (thread) => this.#makeRow(thread), update: (row, thread) => row.show(thread),
    });
    const find = this.picker = picker(this.session, {
      label: "Send a State to", verb: "Send a State to", choose: (user, name) => this.#enter(user, name),
    });
    this.#held.keep(() => find.end());
    const offline = offlineNote(this.session, "You are offline. This is how things stood; the times run on, on the "
      + "server. Nothing that was sealed is lost. To record, you need a connection.");
    this.#held.keep(() => offline.end());
    this.empty = this.#buildEmpty();
    this.overview = h("div", { class: "sided" },
      h("div", { class: "sided-side" }, h("div", { class: "card" }, find.element), this.#buildSettings(),
        this.clock.controls()),
      h("div", { class: "sided-main stack" }, offline.element, this.list, this.empty));
    this.detail = h("div", { class: "state-detail", hidden: true });
    this.title = h("h1", { tabindex: "-1" }, "State");
    fill(this.root, h("div", { class: "state-app stack" }, this.title, this.overview, this.detail));
  }

  /** How an exchange goes, for those who have none. */
  #buildEmpty() {
    const step = (sign, phase, title, text) => h("li", { class: "state-step", dataset: { phase } },
      h("span", { class: "state-step-sign", "aria-hidden": true }, sign), h("strong", {}, title),
      h("span", { class: "soft small" }, text));
    return h("section", { class: "card state-empty", hidden: true },
      h("h2", {}, "Nobody goes first"),
      h("p", { class: "soft" }, "Show somebody what you are doing right now. Neither of you sees anything before both "
        + "have sent."),
      h("ol", { class: "state-steps" },
        step("📸", "sent", "You record", "Two pictures, you and what you see, against the clock."),
        step("🔒", "received", "It is sealed", "The other has a day to answer, and knows nothing of what is in it."),
        step("✨", "revealed", "Both see both", "For a day. Then the pictures are deleted.")),
      h("div", { class: "row" }, button("Choose somebody", () => this.picker.input.focus(), { kind: "primary" })),
      h("p", { class: "soft small" }, "To try it by yourself, sign in with another name in a second window."));
  }

  #buildSettings() {
    const { client, toast } = this.session;
    const { element, input } = field("Your own time to record", {
      tag: "select", on: {
        change: async () => {
          try {
            await client.state.settings({ limit: Number(input.value) });
            toast("Your time to record is set, on all your devices.");
          } catch (error) {
            toast(sentence(error));
          }
        },
      },
      children: [0, ...recordingTimes].map((time) => h("option", { value: time },
        time === 0 ? "as the server has it" : duration(time))),
    }, "For your first pictures, and for answers where the other has not chosen a time.");
    const details = h("details", { class: "side-settings card", on: {
      toggle: async () => {
        if (!details.open) return;
        try {
          const { limit } = await client.state.settings();
          if ([...input.options].some(({ value }) => value === String(limit))) input.value = String(limit);
        } catch {
          // The choice is there without what holds now.
        }
      },
    } }, h("summary", {}, "Settings"), element);
    return details;
  }

  #makeRow(first) {
    const user = first.with;
    const picture = avatar(user, this.#name(user));
    const name = h("h2", { class: "state-name" });
    const badge = h("span", { class: "state-badge" });
    const text = h("p", { class: "state-text" });
    const left = h("p", { class: "state-left" });
    const actions = h("div", { class: "row state-actions" });
    const row = h("li", { class: "state-row" }, h("span", { class: "state-ring" }, picture),
      h("div", { class: "state-what" }, h("div", { class: "state-title" }, name, badge), text, left), actions);
    let drawn = "";
    row.tick = () => {
      const { phase, since, until } = row.thread;
      const rest = until - this.clock.now();
      const over = phase === "expired" || !until ? "" : rest <= 0 ? "ends at any moment" : `${duration(rest)} left`;
      if (left.textContent !== over) left.textContent = over;
      left.title = until ? `until ${fullTime(until)}` : "";
      // The ring around the picture is the time that is left.
      const share = phase === "expired" ? 1 : Math.min(1, Math.max(0, rest / Math.max(1, until - since)));
      row.style.setProperty("--left", `${Math.round(share * 360)}deg`);
    };
    row.show = (thread) => {
      row.thread = thread;
      const called = this.#name(user);
      const what = phases[thread.phase] ?? phases.idle;
      row.style.setProperty("--state", thread.colour);
      row.dataset.phase = thread.phase;
      this.session.store.showPicture(picture, user);
      picture.rename(called);
      name.textContent = called;
      badge.textContent = `${what.sign} ${what.word}${thread.unread ? ", new" : ""}`;
      const limit = thread.phase === "received" && thread.limit ? ` You will have ${duration(thread.limit)}.` : "";
      text.textContent = what.text(called) + limit;
      row.tick();
      const wanted = `${thread.phase} ${thread.unread} ${thread.blocked} ${called}`;
      if (wanted === drawn) return;
      const hadFocus = actions.contains(document.activeElement);
      drawn = wanted;
      fill(actions, this.#actions(thread, called));
      if (hadFocus) actions.querySelector("button")?.focus();
    };
    return row;
  }

  #actions(thread, name) {
    const user = thread.with;
    const { state } = this.session.client;
    const block = button("Block", () => this.#block(user), { kind: "quiet", label: `Block ${name}` });
    switch (thread.phase) {
      case "received":
        return [button("Record your answer", () => this.#record(user), { kind: "primary" }), block];
      case "revealed":
        return [button(thread.unread ? "Look at it" : "Look again", () => this.#look(user), {
          kind: thread.unread ? "primary" : "", label: `Look at what you and ${name} have sent`,
        }), block];
      case "expired":
        return [button("Try again", () => this.#record(user), { label: `Send ${name} another` }),
          button("Put away", () => this.#do(() => state.seen(user)), { kind: "quiet", label: `Put ${name} away` })];
      case "sent": return [block];
      default:
        return thread.blocked ? [button("Unblock", () => this.#unblock(user), { label: `Unblock ${name}` })] : [];
    }
  }

  async #do(f) {
    try {
      await f();
    } catch (error) {
      this.session.toast(sentence(error));
    }
  }

  async #block(user) {
    const name = this.#name(user);
    const { state, clique } = this.session.client;
    const isSure = await confirm(`Block ${name}?`, [
      `What is open between you is over at once, and yours is destroyed. Nothing of ${name} reaches you any more, `
      + "here and in Clique.",
      `${name} is not told: for them it looks as if you did not answer. You can unblock at any time.`,
    ], { action: "Block", danger: true });
    if (!isSure) return;
    await this.#do(() => Promise.all([state.block(user), clique.block(user)]));
    this.session.toast(`${name} is blocked.`, { undo: () => this.#unblock(user) });
  }

  #unblock(user) {
    const { state, clique } = this.session.client;
    return this.#do(() => Promise.all([state.unblock(user), clique.unblock(user)]));
  }

  /** A person was chosen: what is open decides what comes. */
  #enter(user, name) {
    const thread = this.threads.view.get(user);
    if (thread?.phase === "revealed" && thread.unread) return this.#look(user);
    if (thread?.phase === "sent") {
      return this.session.toast(`Yours is sealed. ${this.#name(user)} answers next, or it expires.`);
    }
    if (thread?.blocked) return this.session.toast(`You have blocked ${this.#name(user)}. Unblock first.`);
    this.#record(user, name);
  }

  #record(user, name = this.#name(user)) {
    const thread = this.threads.view.get(user);
    this.#endDetail();
    this.#show("recorder");
    this.#recorder = new Recorder(this.detail, {
      session: this.session, to: user, name, limit: thread?.phase === "received" ? thread.limit : undefined,
      isAnswer: thread?.phase === "received", learn: (now) => this.clock.told(now),
      close: (text, phase) => {
        this.#recorder = null;
        if (phase === "revealed") this.told = { user, time: Date.now() };
        this.#back(user);
        if (phase === "revealed") this.#revealSoon(user);
        if (phase) announce(text); else if (text) this.session.toast(text);
      },
    });
  }

  /** Who has answered sees at once what it was for. */
  #revealSoon(user) {
    if (this.threads.view.get(user)?.phase === "revealed") return this.#look(user);
    const off = this.threads.on("change", ({ key, data }) => {
      if (key !== user) return;
      off();
      if (data?.phase === "revealed" && this.#view === "overview") this.#look(user);
    });
    this.#held.keep(off);
  }

  #show(view) {
    this.#view = view;
    this.overview.hidden = view !== "overview";
    this.title.hidden = view !== "overview";
    this.detail.hidden = view === "overview";
    if (view === "overview") fill(this.detail);
    scrollTo(0, 0);
  }

  #endDetail() {
    this.#recorder?.end();
    this.#reveal?.end();
    this.#recorder = this.#reveal = null;
  }

  #back(user = this.#reveal?.user) {
    this.#endDetail();
    this.#show("overview");
    // The same person can be chosen by an address again.
    if (location.hash.startsWith("#/state/")) history.replaceState(null, "", "#/state");
    this.#draw();
    (user && this.rows.rows.get(user)?.querySelector("button") || this.title).focus();
  }

  #look(user) {
    const thread = this.threads.view.get(user);
    if (thread?.phase !== "revealed" || !thread.mine || !thread.theirs) return;
    this.#endDetail();
    this.#show("reveal");
    this.#reveal = new Reveal(this.detail, {
      session: this.session, thread, name: this.#name(user), now: () => this.clock.now(), back: () => this.#back(),
      again: () => this.#record(user),
    });
  }

  #changed({ key, data }) {
    this.clock.ask();
    if (this.#reveal?.user === key) {
      if (this.#reveal.isOf(data)) {
        this.#reveal.draw(data);
      } else {
        this.vanished = { user: key, time: Date.now() };
        this.#back();
      }
    }
    this.#draw();
  }

  #heard({ data, time }) {
    this.clock.heard(time);
    if (data?.event === "ended" && this.#reveal?.user === data.with) this.#back();
  }

  /** Whether what has happened is on the screen, or was told already by the recorder. */
  #isSeen(event, user) {
    if (event === "reacted") return this.#reveal?.user === user;
    const isJust = (what) => what?.user === user && Date.now() - what.time < 5000;
    // What vanishes while one looks at it needs a word.
    if (event === "ended") return this.#view === "overview" && !isJust(this.vanished);
    if (event === "revealed" && isJust(this.told)) return true;
    return this.#view === "overview" || this.#recorder?.to === user;
  }

  #draw() {
    const threads = [...this.threads.view.values()]
      .sort((a, b) => urgency.indexOf(a.phase) - urgency.indexOf(b.phase) || b.since - a.since);
    this.rows.show(threads);
    this.empty.hidden = threads.length > 0 || this.threads.state !== "subscribed";
    const waiting = threads.filter(({ phase }) => phase === "received").length;
    const text = waiting ? `${count(waiting, "exchange")} ${waiting === 1 ? "waits" : "wait"} for your answer` : "";
    if (text !== this.lastWaiting && text) announce(text);
    this.lastWaiting = text;
  }

  #tick() {
    for (const row of this.rows.rows.values()) row.tick();
    this.#reveal?.tick();
  }
}

/** Shows State in `root`. */
export function mount(root, session) {
  const app = new StateApp(root, session);
  return { unmount: () => app.unmount(), route: (parts) => app.route(parts) };
}
