// What one may decide about a person or a conversation, with what it means said where it is chosen.

import { button, confirm, field, h, openDialog, sentence } from "./ui.js";

/** What a report may be about, and how it is said. */
export const reasons = {
  spam: "Advertising or spam", harassment: "Harassment", threat: "A threat", nudity: "Nudity",
  minor: "A child in danger", impersonation: "Pretends to be somebody else", other: "Something else",
};

export const disappearTimes = [
  [0, "Never: messages stay"], [60_000, "After 1 minute"], [3_600_000, "After 1 hour"], [86_400_000, "After 1 day"],
  [604_800_000, "After 1 week"],
];

/** How a time after which messages disappear is said. */
export function disappearText(after) {
  return disappearTimes.find(([time]) => time === after)?.[1] ?? `After ${Math.round(after / 60_000)} minutes`;
}

/** The decisions, as functions that ask, call, and tell what has become of it. Each gives whether it was done. */
export function makeActions(session) {
  const { client, toast, store } = session;
  const { clique, state } = client;
  const run = async (call, done) => {
    try {
      const answer = await call();
      if (done) toast(done);
      return answer ?? true;
    } catch (error) {
      toast(sentence(error));
      return false;
    }
  };
  const block = async (person) => {
    const isDone = await run(async () => {
      await clique.block({ person });
      await state.block(person);
    });
    if (isDone) toast(`${store.nameOf(person)} is blocked.`, { undo: () => unblock(person) });
    return isDone;
  };
  const unblock = (person) => run(async () => {
    await clique.unblock({ person });
    await state.unblock(person);
  }, `${store.nameOf(person)} is not blocked any more. What was sent meanwhile does not arrive.`);
  return {
    run, unblock,
    accept: (person) => run(() => clique.accept({ person }), `You and ${store.nameOf(person)} can talk now.`),
    decline: async (person) => {
      const choice = await askDecline(store.nameOf(person));
      if (choice === "block") return block(person);
      if (choice !== "decline") return false;
      return run(() => clique.decline({ person }), "Declined. Nobody is told.");
    },
    block: async (person) => await askBlock(store.nameOf(person)) && block(person),
    takeBack: (person) => run(() => clique.disconnect({ person }), "Your request is taken back."),
    clearAway: (person) => run(() => clique.disconnect({ person }), "The conversation is cleared away."),
    end: async (person) => {
      const name = store.nameOf(person);
      const text = `${name} sees that you have left, and can still read what was said. Either of you may ask again. `
        + "If you do not want to hear from them any more, block them: of that, nobody is told.";
      if (!await confirm(`End the conversation with ${name}?`, text, { action: "End it", danger: true })) return false;
      return run(() => clique.disconnect({ person }), `${name} is told that you have left.`);
    },
    report: (who, name, offset) => askReport(name, Boolean(offset)).then((what) => what
      && run(() => clique.report(who, { ...what, offset }), "Thank you. The moderators have it; nobody else is told.")),
    disappear: async (entry) => {
      const after = await askDisappear(store, entry);
      if (after === undefined) return false;
      const isAgreed = entry.group || entry.disappear_asked?.after === after;
      return run(() => clique.disappear(entry.conversation, after),
        isAgreed ? "It holds from now on, for what is sent next." : `${store.nameOf(entry.with)} is asked to agree.`);
    },
    keep: (conversation, what) => run(() => clique.keep(conversation, what)),
  };
}

function askDecline(name) {
  return openDialog(`Decline the request of ${name}?`, (close) => [
    h("div", { class: "choices" },
      choice("Decline", "Answers this one request.", [
        `${name} is not told: to them, it waits and then ends.`,
        "They may ask you again after 30 days.",
        "You may write to them at any time; that opens the conversation.",
        "It changes nothing else: you may still cross paths.",
      ], button("Decline", () => close("decline"), { kind: "primary" })),
      choice("Block", "Keeps the person away from you.", [
        `${name} is not told: to them, you are silent.`,
        "Nothing that they write reaches you, not even after you unblock them.",
        "You disappear from each other's crossings and searches.",
        "You undo it in your list of blocked people.",
      ], button("Block", () => close("block"), { kind: "danger" }))),
    h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet", autofocus: true })),
  ], { className: "dialog-wide" });
}

function choice(title, text, points, action) {
  return h("section", { class: "choice" }, h("h3", {}, title), h("p", { class: "soft small" }, text),
    h("ul", { class: "points" }, points.map((point) => h("li", {}, point))), action);
}

function askBlock(name) {
  return confirm(`Block ${name}?`, [
    `${name} is not told. To them it looks as if you were silent: they may go on writing, and nothing of `
    + "it reaches you, not even after the block.",
    "You see neither their messages nor their crossings. In groups that you share, neither gets what the other writes; "
    + "what others answer there may still tell of it.",
    "It holds in Clique and in State. You undo it in your list of blocked people.",
  ], { action: "Block", danger: true });
}

function askReport(name, isMessage) {
  const what = isMessage ? `this message of ${name}` : name;
  return openDialog(`Report ${what}?`, (close) => {
    const reason = field("Why?", { tag: "select", children: Object.entries(reasons).map(([value, text]) =>
      h("option", { value }, text)) });
    const text = field("What should the moderators know?", { tag: "textarea", rows: 3, maxlength: 1000 }, "Optional.");
    return h("form", { class: "stack", on: {
      submit: (event) => {
        event.preventDefault();
        close({ reason: reason.input.value, text: text.input.value.trim() || undefined });
      },
    } },
    h("p", { class: "soft small" }, `The moderators get the last messages of ${name} to you. ${name} is not told.`),
    reason.element, text.element,
    h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" }),
      h("button", { type: "submit", class: "button button-danger" }, "Report")));
  });
}

function askDisappear(store, entry) {
  const asked = entry.disappear_asked;
  const who = entry.group ? "It holds at once for all in this group."
    : `It holds when ${store.nameOf(entry.with)} chooses the same.`;
  return openDialog("Disappearing messages", (close) => [
    h("p", { class: "soft" }, `${who} Only what is sent from then on disappears. Whoever reads a message may copy it.`),
    asked ? h("p", { class: "note" }, asked.by === store.me ? "You have proposed: " : "Proposed to you: ",
      disappearText(asked.after)) : null,
    h("div", { class: "stack-tight" }, disappearTimes.map(([after, text]) => {
      const isNow = (entry.disappear ?? 0) === after;
      const words = isNow ? `${text} (as it is now)` : text;
      return button(words, () => close(after), { "aria-pressed": String(isNow) });
    })),
    h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" })),
  ]);
}
