// The messages of an open conversation: history, what comes, changes, ticks, reactions, and what waits to be sent.

import { announce, bag, button, dayName, fill, h, keyedList, onceAFrame, sentence } from "./ui.js";
import { isOver } from "../fanfare.js";
import { eventText, makeMessage } from "./clique-message.js";

const pageSize = 50;
const mostPages = 40;
const nothing = { view: new Map(), on: () => () => {}, unsubscribe() {} };

/**
 * What a chat's publication does to the messages that are known, by offset. Pure but for `messages`.
 *
 *   tag or data              effect
 *   `edits`                  the message at that offset has the new text
 *   `deletes`                the message at that offset is gone
 *   `deleted`, or no data    nothing stands at this offset any more
 *   anything else            a message, or an event of the conversation
 */
export function apply(messages, { offset, data, info, tags, time }) {
  if (tags.edits) {
    const message = messages.get(Number(tags.edits));
    if (!message || !data) return;
    return void messages.set(message.offset, { ...message, data: { ...message.data, ...data }, isEdited: true });
  }
  if (tags.deletes) return void messages.delete(Number(tags.deletes));
  if (tags.deleted || !data) return void messages.delete(offset);
  messages.set(offset, {
    offset, data, user: data.from ?? info?.user ?? "", time: data.sent ?? time, isEdited: Boolean(tags.edited), tags,
  });
}

/** The log of a conversation. `start()` subscribes, `end()` leaves; `goTo(offset)` shows a message. */
export function makeLog(context, conversation, { onReply, onEdit, isOpen }) {
  const { client, store } = context;
  const held = bag();
  const log = {
    messages: new Map(), isWhole: false, isLoading: false, epoch: "", lowest: 0, hasOpened: false, said: 0, target: 0,
    /** Whose message has come since they were said to type: it is sent. */
    written: new Set(),
  };
  // Where the conversation has ended, nobody is told of receipts and typing any more.
  const maps = {
    receipts: isOpen ? client.clique.receipts(conversation) : nothing, reactions: client.clique.reactions(conversation),
    typists: isOpen ? client.clique.typists(conversation) : nothing,
  };
  const chat = store.chats.open(conversation);
  const rows = h("ol", { class: "log-rows" });
  const earlier = button("Earlier messages", () => loadEarlier(), { class: "button button-small" });
  const typing = h("p", { class: "typing soft small", "aria-live": "off" });
  const element = h("div", { class: "log", tabindex: "0", role: "region", "aria-label": "Messages" },
    h("div", { class: "row row-centre" }, earlier), rows, typing);
  const list = keyedList(rows, {
    key: (item) => item.key, update: (row, item) => row.show(item),
    make: (item) => (item.day ? makeDay() : makeMessage(context, conversation, log, maps, { onReply, onEdit, goTo })),
  });

  const isAtEnd = () => element.scrollHeight - element.scrollTop - element.clientHeight < 80;
  const show = () => {
    const wasAtEnd = !log.hasOpened || isAtEnd();
    for (const message of log.messages.values()) if (isOver(message.data)) log.messages.delete(message.offset);
    list.show(itemsOf(log.messages, store.pending.get(conversation), store.me));
    earlier.hidden = log.isWhole || log.messages.size === 0;
    typing.textContent = typistsText(maps.typists.view, log.written, store);
    if (wasAtEnd && !log.target) element.scrollTop = element.scrollHeight;
    markRead();
  };
  const draw = onceAFrame(show);

  const markRead = () => {
    const newest = Math.max(0, ...log.messages.keys());
    if (!isOpen || !log.hasOpened || newest <= log.said || document.hidden || !isAtEnd()) return;
    const before = log.said;
    log.said = newest;
    client.clique.read(conversation, newest).catch(() => {
      // Said again with the next message, or when the screen is looked at again.
      log.said = before;
    });
  };

  const load = async (since) => {
    if (log.isLoading) return false;
    log.isLoading = true;
    try {
      const page = await chat.history({ limit: pageSize, reverse: true, since });
      // A position is of an epoch: another one means that the channel began anew.
      if (log.epoch && page.epoch !== log.epoch) log.messages.clear();
      log.epoch = page.epoch;
      for (const publication of page.publications) {
        if (publication.tags.edits || publication.tags.deletes) continue;
        if (!log.messages.has(publication.offset)) apply(log.messages, publication);
      }
      log.lowest = page.publications.at(-1)?.offset ?? 0;
      log.isWhole = page.publications.length === 0 || log.lowest <= 1;
      return true;
    } finally {
      log.isLoading = false;
    }
  };

  const loadEarlier = async () => {
    const height = element.scrollHeight - element.scrollTop;
    try {
      if (!await load({ epoch: log.epoch, offset: log.lowest })) return;
      show();
      // What was on the screen stays where it was.
      element.scrollTop = element.scrollHeight - height;
    } catch (error) {
      context.toast(sentence(error));
    }
  };

  const open = async () => {
    try {
      await load(undefined);
      log.hasOpened = true;
      show();
      if (log.target) await goTo(log.target); else element.scrollTop = element.scrollHeight;
      markRead();
    } catch (error) {
      context.toast(sentence(error));
    }
  };

  const goTo = async (offset) => {
    log.target = offset;
    try {
      for (let pages = 0; log.hasOpened && !log.isWhole && log.lowest > offset && pages < mostPages; pages += 1) {
        if (!await load({ epoch: log.epoch, offset: log.lowest })) break;
      }
      if (!log.hasOpened) return;
      show();
      const row = rows.querySelector(`[data-offset="${offset}"]`);
      if (!row) return context.toast("That message is not there any more.");
      row.scrollIntoView({ block: "center" });
      row.classList.add("is-target");
      row.focus({ preventScroll: true });
      setTimeout(() => row.classList.remove("is-target"), 2500);
    } catch (error) {
      context.toast(sentence(error));
    } finally {
      if (log.hasOpened) log.target = 0;
    }
  };

  const receive = (publication) => {
    forgetPending(store, conversation, publication);
    apply(log.messages, publication);
    const message = log.messages.get(publication.offset);
    if (message && message.user !== store.me) {
      const text = message.data.event ? eventText(message, store) : message.data.text || "a picture";
      log.written.add(message.user);
      announce(message.data.event ? text : `${store.nameOf(message.user)}: ${text}`);
      if (isOpen) client.clique.delivered(conversation, publication.offset).catch(() => {});
    }
    draw();
  };

  return {
    element, draw,
    goTo: (offset) => (log.hasOpened ? goTo(offset) : void (log.target = offset)),
    start() {
      held.keep(chat.on("publication", receive));
      held.keep(chat.on("subscribed", ({ wasRecovering, recovered }) => {
        // What is missing is read anew, from the end.
        if (wasRecovering && !recovered) log.messages.clear();
        if (!log.hasOpened || (wasRecovering && !recovered)) open();
      }));
      for (const map of Object.values(maps)) held.keep(map.on("change", draw));
      held.keep(maps.typists.on("change", ({ key }) => log.written.delete(key)));
      held.keep(store.onChange(draw));
      held.every(1000, () => {
        if ([...log.messages.values()].some((message) => isOver(message.data))) draw();
      });
      held.listen(document, "visibilitychange", markRead);
      held.listen(element, "scroll", onceAFrame(markRead));
      if (chat.state === "subscribed") open();
      draw();
    },
    scrollToEnd() {
      element.scrollTop = element.scrollHeight;
    },
    end() {
      held.end();
      for (const map of Object.values(maps)) map.unsubscribe();
      store.chats.close(conversation, chat);
    },
  };
}

/** What waits is struck out once it stands in the chat. */
function forgetPending(store, conversation, { data, info }) {
  if (data?.key && (data.from ?? info?.user) === store.me) store.pending.get(conversation)?.delete(data.key);
}

/** Rows in their order: a line for each day, the messages, and behind them what waits. */
function itemsOf(messages, pending, me) {
  const items = [];
  let day = "";
  let before = null;
  for (const message of [...messages.values()].sort((a, b) => a.offset - b.offset)) {
    const name = dayName(message.time);
    if (name !== day) items.push({ key: `day-${message.offset}`, day: name });
    const isNear = before && name === day && before.user === message.user && !before.data.event
      && message.time - before.time < 300_000;
    day = name;
    before = message;
    items.push({ key: `m-${message.offset}`, message, isFollowing: Boolean(isNear) });
  }
  const known = new Set([...messages.values()].map((message) => message.data.key));
  for (const [key, waiting] of pending ?? []) {
    if (known.has(key)) continue;
    const message = { offset: 0, user: me, time: waiting.time, data: waiting.data, tags: {} };
    items.push({ key: `p-${key}`, message, waiting, isFollowing: false });
  }
  return items;
}

function makeDay() {
  const row = h("li", { class: "day soft small" });
  row.show = ({ day }) => {
    if (row.textContent !== day) fill(row, day);
  };
  return row;
}

function typistsText(view, written, store) {
  const names = [...view.keys()].filter((user) => user !== store.me && !written.has(user)).map(store.nameOf);
  if (names.length === 0) return "";
  return names.length === 1 ? `${names[0]} is typing…` : `${names.slice(0, 3).join(", ")} are typing…`;
}
