// One message: its text or picture, what it replies to, ticks, reactions, and what may be done with it.

import { avatar, button, confirm, count, fill, fullTime, h, openDialog, sentence, timeOfDay, duration } from "./ui.js";

const emoji = ["👍", "❤️", "😂", "😮", "😢", "🎉"];

/** What a change of the conversation is called. */
export function eventText({ data, tags }, store) {
  const who = data.user === store.me ? "You" : store.nameOf(data.user ?? "");
  const has = data.user === store.me ? "have" : "has";
  const by = tags?.actor ? ` by ${tags.actor === store.me ? "you" : store.nameOf(tags.actor)}` : "";
  switch (data.event) {
    case "added": return `${who} ${has} been added${by}.`;
    case "removed": return `${who} ${has} been removed${by}.`;
    case "appointed": return `${who} ${has} become an administrator.`;
    case "dismissed": return `${who} ${has} ceased to be an administrator.`;
    case "joined": return `${who} ${has} joined by a link.`;
    case "left": return `${who} ${has} left.`;
    case "renamed": return `${who} ${has} ${data.name ? `named the group “${data.name}”` : "removed the name"}.`;
    case "disappear": return data.after ? `Messages disappear after ${duration(data.after)} from now on.`
      : "Messages stay from now on.";
    default: return "The conversation has changed.";
  }
}

/** How far a message of one's own has come. Pure: `receipts` are the entries by user, `others` whom it is for. */
export function tickOf(offset, receipts, others) {
  const marks = others.map((user) => receipts.get(user) ?? {});
  if (marks.length === 0) return { text: "✓", said: "Sent" };
  const read = marks.filter((mark) => (mark.read ?? 0) >= offset).length;
  const delivered = marks.filter((mark) => (mark.delivered ?? 0) >= offset || (mark.read ?? 0) >= offset).length;
  if (read === marks.length) return { text: "✓✓", said: "Read", isRead: true };
  if (read > 0) return { text: "✓✓", said: `Read by ${read} of ${marks.length}` };
  return delivered > 0 ? { text: "✓✓", said: "Delivered" } : { text: "✓", said: "Sent" };
}

/** Reactions to a message: how many of each, and one's own. Pure: keys are `offset/user`. */
export function reactionsTo(offset, view, me) {
  const counts = new Map();
  let mine = "";
  for (const [key, data] of view) {
    const slash = key.indexOf("/");
    if (Number(key.slice(0, slash)) !== offset || !data?.reaction) continue;
    counts.set(data.reaction, (counts.get(data.reaction) ?? 0) + 1);
    if (key.slice(slash + 1) === me) mine = data.reaction;
  }
  return { counts, mine };
}

/** A row, drawn again only where what it shows has changed. */
export function makeMessage(context, conversation, log, maps, { onReply, onEdit, goTo }) {
  const { store } = context;
  const row = h("li", { class: "message", tabindex: "-1" });
  let drawn = "";
  row.show = ({ message, waiting, isFollowing }) => {
    const { offset, data, user } = message;
    const isMine = user === store.me;
    const entry = store.list.view.get(conversation);
    if (data.event) {
      const text = eventText(message, store);
      if (drawn !== text) fill(row, h("p", { class: "event soft small" }, text));
      row.className = "message is-event";
      drawn = text;
      return;
    }
    const others = (entry?.members ?? [entry?.with]).filter((one) => one && one !== store.me);
    const tick = isMine && !waiting && entry?.state === "active" ? tickOf(offset, maps.receipts.view, others) : null;
    const reactions = reactionsTo(offset, maps.reactions.view, store.me);
    const quoted = data.reply ? log.messages.get(data.reply) : null;
    const now = JSON.stringify([data, isFollowing, tick, [...reactions.counts], reactions.mine, message.isEdited,
      waiting?.state, waiting?.problem, quoted?.data.text, store.nameOf(user), entry?.state]);
    if (now === drawn) return;
    drawn = now;
    row.className = `message ${isMine ? "is-mine" : ""} ${isFollowing ? "is-following" : ""}`;
    row.dataset.offset = String(offset);
    const parts = { message, tick, reactions, quoted, waiting, entry, isMine, isFollowing };
    fill(row, bubble(context, conversation, parts, { onReply, onEdit, goTo }));
  };
  return row;
}

function bubble(context, conversation, parts, hooks) {
  const { store } = context;
  const { message, tick, reactions, quoted, waiting, entry, isMine, isFollowing } = parts;
  const { data, user, offset } = message;
  const name = isMine ? "You" : store.nameOf(user);
  const face = entry?.group && !isMine && !isFollowing ? avatar(user, name, "small") : null;
  if (face) store.showPicture(face, user);
  return [
    entry?.group && !isMine ? h("span", { class: "message-face" }, face) : null,
    h("div", { class: "bubble" },
      h("span", { class: entry?.group && !isMine && !isFollowing ? "small strong" : "visually-hidden" }, name),
      data.reply ? quote(quoted, data.reply, store, hooks.goTo) : null,
      data.picture ? picture(context, data.picture, waiting, `A picture from ${name}`) : null,
      data.text ? h("p", { class: "message-text" }, data.text) : null,
      h("div", { class: "message-foot small" },
        data.expires ? h("span", { title: `Disappears ${fullTime(data.expires)}` }, "⏳",
          h("span", { class: "visually-hidden" }, "disappears")) : null,
        message.isEdited ? h("span", {}, "edited") : null,
        h("time", { title: fullTime(message.time) }, timeOfDay(message.time)),
        tick ? h("span", { class: `tick ${tick.isRead ? "is-read" : ""}`, title: tick.said },
          h("span", { "aria-hidden": true }, tick.text), h("span", { class: "visually-hidden" }, tick.said)) : null,
        waiting ? waitingLine(waiting) : null),
      reactionRow(context, conversation, offset, reactions)),
    waiting || entry?.state !== "active" ? null : button("⋯", () => openMenu(context, conversation, parts, hooks), {
      kind: "icon", label: `What to do with the message of ${name} at ${timeOfDay(message.time)}`,
      "aria-haspopup": "dialog",
    }),
  ];
}

/** What stands in place of a tick while a message is not in its conversation. */
export function waitingLine(waiting) {
  if (waiting.state === "sent") return null;
  if (waiting.state !== "failed") return h("span", {}, h("span", { "aria-hidden": true }, "🕓 "), "waits to be sent");
  return h("span", { class: "row" }, h("span", { class: "field-error" }, waiting.problem),
    button("Try again", waiting.again, { class: "button button-small" }),
    button("Discard", waiting.discard, { class: "button button-small" }));
}

function quote(quoted, offset, store, goTo) {
  if (!quoted) return h("p", { class: "quote soft small" }, "An earlier message");
  const who = quoted.user === store.me ? "You" : store.nameOf(quoted.user);
  return h("button", { type: "button", class: "quote small", on: { click: () => goTo(offset) } },
    h("span", { class: "strong" }, who), " ", quoted.data.text || "A picture");
}

/** A picture takes the room that it will need, and is fetched when it comes near the screen. */
function picture(context, { id, width, height }, waiting, alt) {
  const image = h("img", { class: "message-picture", alt, width: width || 320, height: height || 240 });
  const note = h("span", { class: "soft small" }, "Picture…");
  const box = h("figure", { class: "picture-box" }, image, note);
  const fetchIt = async () => {
    try {
      image.src = waiting?.address ?? await context.store.pictures.address(id);
      note.remove();
    } catch (error) {
      note.textContent = error?.status === 404 ? "This picture is gone." : "The picture could not be fetched. ";
      if (error?.status !== 404) note.append(button("Try again", fetchIt, { class: "button button-small" }));
    }
  };
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    fetchIt();
  }, { rootMargin: "300px" });
  near.observe(box);
  return box;
}

function reactionRow(context, conversation, offset, { counts, mine }) {
  if (counts.size === 0) return null;
  return h("div", { class: "reactions", role: "group", "aria-label": "Reactions" }, [...counts].map(([sign, number]) =>
    button(`${sign} ${number}`, () => react(context, conversation, offset, sign === mine ? "" : sign), {
      class: "button reaction", "aria-pressed": String(sign === mine), label: `${sign}: ${count(number, "reaction")}`,
    })));
}

function react(context, conversation, offset, sign) {
  return context.actions.run(() => context.client.clique.react(conversation, offset, sign));
}

async function openMenu(context, conversation, { message, isMine, reactions, entry }, { onReply, onEdit }) {
  const { actions, client, store } = context;
  const { offset, data, user } = message;
  const choice = await openDialog("Message", (close) => [
    h("p", { class: "soft one-line" }, data.text || "A picture"),
    h("div", { class: "row", role: "group", "aria-label": "React" }, emoji.map((sign) => button(sign, () =>
      close({ sign }), {
      kind: "icon", label: `React with ${sign}`, "aria-pressed": String(sign === reactions.mine),
    }))),
    h("div", { class: "stack-tight" },
      button("Reply", () => close("reply")),
      data.text ? button("Copy the text", () => close("copy")) : null,
      isMine && data.text ? button("Change", () => close("edit")) : null,
      isMine ? button("Delete for everybody", () => close("delete"), { kind: "danger" }) : null,
      isMine ? null : button("Report", () => close("report"), { kind: "danger" })),
    h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" })),
  ]);
  if (choice?.sign) return react(context, conversation, offset, choice.sign === reactions.mine ? "" : choice.sign);
  if (choice === "reply") return onReply(message);
  if (choice === "edit") return onEdit(message);
  if (choice === "copy") {
    return navigator.clipboard?.writeText(data.text)
      .then(() => context.toast("Copied."), (error) => context.toast(sentence(error)));
  }
  if (choice === "report") {
    return actions.report(entry?.group ? { conversation } : { person: user }, store.nameOf(user), offset);
  }
  if (choice !== "delete") return undefined;
  const text = "It is gone for everybody, on all devices, with its reactions.";
  if (!await confirm("Delete this message?", text, { action: "Delete", danger: true })) return undefined;
  return actions.run(() => client.clique.remove(conversation, offset), "Deleted.");
}
