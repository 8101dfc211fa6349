// An open conversation: who it is with, what may be decided, the messages, and the field to write in.
//
//   Entry of the list     Messages shown               Above the field               The field
//   none                  nothing yet                  what a request is             writes a request
//   request_out           those of the request         take back                     adds to the request
//   request_in            those of the request         accept, decline or block      answers, which accepts
//   active                the chat                     what is proposed, if any      writes, with pictures and replies
//   ended                 the chat, to be read         who has left, clear away      writes a new request
//   blocked               none                         unblock                       none
//   gone                  back to the list

import { announce, avatar, bag, button, fill, fromNow, h, openDialog, timeOfDay, fullTime } from "./ui.js";
import { disappearText } from "./clique-actions.js";
import { makeComposer } from "./clique-composer.js";
import { openGroup } from "./clique-group.js";
import { makeLog } from "./clique-log.js";
import { placeName } from "./clique-map.js";
import { waitingLine } from "./clique-message.js";
import { makeOutbox } from "./clique-outbox.js";

/** What the screen is for, by the list's entry. Pure. */
export function modeOf(entry, isBlocked) {
  if (isBlocked || entry?.state === "blocked") return "blocked";
  return entry?.state ?? "none";
}

/** The screen; `start()` once it is on the page, `end()` leaves it, `goTo(offset)` shows a message. */
export function makeChat(context, { conversation, person, offset, leave }) {
  const { store } = context;
  const held = bag();
  const outbox = makeOutbox(context, { conversation, person });
  const header = makeHeader(context, leave);
  const notice = h("div", { class: "chat-notice", hidden: true });
  const place = h("div", { class: "chat-log" });
  const below = h("div");
  const element = h("div", { class: "chat card" }, header.element, notice, place, below);
  let body = null;
  let composer = null;
  let mode = "";
  let wanted = offset;

  const entryOf = () => (conversation ? store.list.view.get(conversation) : store.entryWith(person));

  const build = (entry) => {
    body?.end();
    const hadFocus = composer?.hasFocus() ?? false;
    composer?.end();
    const hooks = {
      onReply: (message) => composer?.reply(message), onEdit: (message) => composer?.edit(message),
    };
    const isChat = mode === "active" || mode === "ended";
    body = isChat ? makeLog(context, conversation, { ...hooks, isOpen: mode === "active" })
      : makeRequest(context, outbox, mode);
    composer = mode === "blocked" ? null : makeComposer(context, {
      entry, conversation, person, mode, outbox, onSent: () => body?.scrollToEnd(),
      name: () => nameOf(context, entryOf(), person),
    });
    fill(place, body.element);
    fill(below, composer?.element);
    body.start();
    if (isChat && wanted > 0) body.goTo(wanted);
    wanted = 0;
    if (hadFocus) composer?.focus();
  };

  const show = () => {
    const entry = entryOf();
    // The list has been read, and this is not in it: taken back, cleared away, left, or ended by this person.
    if (conversation && !entry) {
      if (store.list.state === "subscribed" && mode) leave();
      return;
    }
    const now = modeOf(entry, store.isBlocked(entry?.with ?? person));
    const before = mode;
    mode = now;
    header.show(entry, person, mode);
    if (now !== before) {
      build(entry);
      if (before) announce(changeText(now, nameOf(context, entry, person)));
    }
    showNotice(context, notice, mode, entry, person);
    body?.update?.(entry);
    composer?.update(entry);
  };

  return {
    element,
    goTo(target) {
      if (mode === "active" || mode === "ended") body.goTo(target); else wanted = target;
    },
    start() {
      held.keep(store.onChange(show));
      held.every(30_000, show);
      show();
      // A phone's keyboard would hide what one came to read.
      if (matchMedia("(pointer: fine)").matches) composer?.focus();
    },
    end() {
      held.end();
      composer?.end();
      body?.end();
    },
  };
}

function nameOf({ store }, entry, person) {
  return entry ? store.titleOf(entry) : store.nameOf(person);
}

function changeText(mode, name) {
  switch (mode) {
    case "active": return `You and ${name} can talk now.`;
    case "ended": return `${name} has left the conversation.`;
    case "request_in": return `${name} wants to talk with you.`;
    case "request_out": return `Your message waits for ${name} to accept.`;
    default: return "";
  }
}

// The top

function makeHeader(context, leave) {
  const { store, user } = context;
  const back = button("←", leave, { kind: "icon", label: "Back to the messages" });
  back.classList.add("chat-back");
  const name = h("span", { class: "strong one-line" });
  const detail = h("span", { class: "soft small one-line" });
  const words = h("span", { class: "stack-tight grow" }, name, detail);
  const who = h("span", { class: "chat-who row no-wrap grow" });
  const more = button("⋯", () => openMore(context, shown), {
    kind: "icon", label: "What to do with this conversation", "aria-haspopup": "dialog",
  });
  let shown = null;
  let face = null;
  let link = null;
  const element = h("header", { class: "chat-head" }, back, who, more);
  const build = (entry, person) => {
    const id = entry?.with ?? person;
    face = avatar(id || entry.conversation, store.titleOf(entry ?? { with: person }));
    link = entry?.group
      ? h("button", { type: "button", class: "chat-link", on: { click: () => openGroup(context, shown) } }, face, words)
      : h("a", { class: "chat-link", href: `#/clique/person/${encodeURIComponent(id)}` }, face, words);
    fill(who, link);
  };
  return {
    element,
    show(entry, person, mode) {
      if (!link) build(entry, person);
      shown = entry;
      const title = nameOf(context, entry, person);
      if (name.textContent !== title) name.textContent = title;
      face.rename(title);
      if (!entry?.group) store.showPicture(face, entry?.with ?? person);
      const text = detailOf(entry, mode, store, user);
      if (detail.textContent !== text) detail.textContent = text;
      link.setAttribute("aria-label", entry?.group ? `${title}: members and more` : `Profile of ${title}`);
      more.hidden = !entry || mode === "blocked";
    },
  };
}

function detailOf(entry, mode, store, me) {
  if (entry?.group) {
    const names = entry.members.map((one) => (one === me ? "you" : store.nameOf(one)));
    return names.join(", ");
  }
  const signs = [];
  if (entry?.crossing) signs.push(`crossed at ${placeName(entry.crossing.place)}, ${fromNow(entry.crossing.time)}`);
  if (entry?.disappear) signs.push(`messages disappear ${disappearText(entry.disappear).toLowerCase()}`);
  if (signs.length === 0 && mode === "none") signs.push("nothing said yet");
  const text = signs.join(" · ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

async function openMore(context, entry) {
  if (!entry) return;
  const { actions } = context;
  const { conversation } = entry;
  const isTalk = entry.state === "active" || entry.state === "ended";
  const choices = [
    isTalk ? ["Mute", "Unmute"][entry.muted ? 1 : 0] : null, isTalk ? ["Pin", "Unpin"][entry.pinned ? 1 : 0] : null,
    isTalk ? ["Archive", "Bring back from the archive"][entry.archived ? 1 : 0] : null,
    entry.state === "active" && mayDisappear(entry, context.user) ? "Disappearing messages…" : null,
    entry.group ? "Members and more…" : null,
  ].filter(Boolean);
  const dangers = entry.group ? [] : [
    entry.state === "active" ? "End the conversation…" : null, entry.state === "ended" ? "Clear away" : null, "Block…",
    "Report…",
  ].filter(Boolean);
  const choice = await openDialog("This conversation", (close) => [
    h("div", { class: "stack-tight" }, choices.map((text) => button(text, () => close(text))),
      dangers.map((text) => button(text, () => close(text), { kind: text === "Clear away" ? "" : "danger" }))),
    h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" })),
  ]);
  switch (choice) {
    case "Mute": case "Unmute": return actions.keep(conversation, { muted: !entry.muted });
    case "Pin": case "Unpin": return actions.keep(conversation, { pinned: !entry.pinned });
    case "Archive": case "Bring back from the archive":
      return actions.keep(conversation, { archived: !entry.archived });
    case "Disappearing messages…": return actions.disappear(entry);
    case "Members and more…": return openGroup(context, entry);
    case "End the conversation…": return actions.end(entry.with);
    case "Clear away": return actions.clearAway(entry.with);
    case "Block…": return actions.block(entry.with);
    case "Report…": return actions.report({ person: entry.with }, context.store.nameOf(entry.with));
    default: return undefined;
  }
}

function mayDisappear(entry, me) {
  return !entry.group || (entry.admins ?? []).includes(me);
}

// Between the top and the messages

function showNotice(context, notice, mode, entry, person) {
  const { actions, store, user: me } = context;
  const name = nameOf(context, entry, person);
  const asked = mode === "active" && !entry.group ? entry.disappear_asked : null;
  const drawn = JSON.stringify([mode, name, asked, entry?.disappear]);
  if (notice.dataset.drawn === drawn) return;
  notice.dataset.drawn = drawn;
  const say = (text, ...buttons) => [h("p", {}, text), buttons.length ? h("div", { class: "row" }, buttons) : null];
  const small = (text, action, kind = "") => button(text, action, {
    class: `button button-small ${kind ? `button-${kind}` : ""}`,
  });
  const who = entry?.with ?? person;
  const parts = {
    none: () => say(`Your first message to ${name} is a request: they choose whether to talk with you.`),
    request_out: () => say(`Waits for ${name} to accept. You may add to it, three messages in all.`,
      small("Take back", () => actions.takeBack(who))),
    request_in: () => say(`${name} wants to talk with you. If you answer, you accept.`,
      small("Accept", () => actions.accept(who), "primary"), small("Decline or block…", () => actions.decline(who)),
      small("Report…", () => actions.report({ person: who }, name))),
    ended: () => say(`${name} has left the conversation. You can still read it; what you write is a new request.`,
      small("Clear away", () => actions.clearAway(who))),
    blocked: () => say(`You have blocked ${name}: nothing that they write reaches you, and they are not told.`,
      small("Unblock", () => actions.unblock(who))),
    active: () => (asked ? proposal(context, entry, asked, name, me, small, say) : []),
  }[mode]?.() ?? [];
  fill(notice, parts);
  notice.hidden = parts.length === 0;
}

function proposal(context, entry, asked, name, me, small, say) {
  const { actions, client } = context;
  const set = (after, done) => actions.run(() => client.clique.disappear(entry.conversation, after), done);
  const time = disappearText(asked.after).toLowerCase();
  const what = asked.after === 0 ? "that messages stay" : `that messages disappear ${time}`;
  if (asked.by === me) {
    return say(`You have proposed ${what}. It holds when ${name} agrees.`,
      small("Take it back", () => set(entry.disappear ?? 0, "Taken back.")));
  }
  return say(`${name} proposes ${what}, for what is sent from then on.`,
    small("Agree", () => set(asked.after, "Agreed: it holds from now on."), "primary"),
    small("Leave it as it is", () => set(entry.disappear ?? 0, "It stays as it is.")));
}

// A request has its messages in the list's entry, and no chat yet

function makeRequest(context, outbox, mode) {
  const { client, user: me } = context;
  const rows = h("ol", { class: "log-rows" });
  const element = h("div", { class: "log", tabindex: "0", role: "region", "aria-label": "Messages" }, rows);
  const held = bag();
  let latest = null;
  let said = 0;
  let drawn = "";

  const show = () => {
    const messages = latest?.messages ?? [];
    const known = new Set(messages.map((message) => message.key).filter(Boolean));
    const waiting = mode === "request_in" ? [] : outbox.waiting().filter(([key]) => !known.has(key));
    const now = JSON.stringify([messages, waiting.map(([key, one]) => [key, one.state, one.problem])]);
    if (now === drawn) return;
    drawn = now;
    const isMine = mode !== "request_in";
    fill(rows, messages.map((message) => bubble(message, isMine, null, context, latest)),
      waiting.map(([, one]) => bubble({ text: one.data.text, time: one.time }, true, one, context, latest)));
    element.scrollTop = element.scrollHeight;
  };

  const read = () => {
    const number = latest?.messages?.length ?? 0;
    if (mode !== "request_in" || number <= said || document.hidden) return;
    said = number;
    client.clique.read(latest.conversation, number).catch(() => {
      said = 0;
    });
  };

  return {
    element,
    goTo() {},
    update(entry) {
      latest = entry?.with && entry.with !== me ? entry : latest;
      show();
      read();
    },
    start() {
      held.keep(outbox.onChange(show));
      held.listen(document, "visibilitychange", read);
      show();
    },
    scrollToEnd() {
      element.scrollTop = element.scrollHeight;
    },
    end: () => held.end(),
  };
}

function bubble(message, isMine, waiting, { store }, entry) {
  const who = isMine ? "You" : store.nameOf(entry?.with ?? "");
  return h("li", { class: `message ${isMine ? "is-mine" : ""}` }, h("div", { class: "bubble" },
    h("span", { class: "visually-hidden" }, who), h("p", { class: "message-text" }, message.text),
    h("div", { class: "message-foot small" },
      h("time", { title: fullTime(message.time) }, timeOfDay(message.time)), waiting ? waitingLine(waiting) : null)));
}
