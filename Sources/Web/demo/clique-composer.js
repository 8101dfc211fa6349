// The field to write in: text, a picture, what is replied to or changed, and the draft that all devices share.

import { bag, button, fill, h, rested, sentence } from "./ui.js";

const mostCharacters = { none: 1000, request_out: 1000, ended: 1000 };
const largestSide = 2048;
const typingEvery = 3000;
const draftAfter = 3000;

const prompts = {
  none: (name) => `Your first message to ${name}`, request_out: (name) => `Add to your request to ${name}`,
  request_in: (name) => `Answer ${name}`, active: () => "Message", ended: (name) => `Ask ${name} again`,
};

/** Who of a group is meant by the text: those whose `@name` stands in it. Pure. */
export function mentionsIn(text, members, nameOf) {
  const lower = text.toLocaleLowerCase();
  return members.filter((user) => [nameOf(user), user].some((name) => {
    const at = lower.indexOf(`@${name.toLocaleLowerCase()}`);
    return at >= 0 && !/[\p{L}\p{N}]/u.test(lower.charAt(at + name.length + 1));
  }));
}

/** The field of a conversation in one mode; see clique-chat.js for what the modes are. */
export function makeComposer(context, { entry: first, conversation, person, mode, outbox, onSent, name }) {
  const { client, store, user: me, toast } = context;
  const held = bag();
  let entry = first;
  let replied = null;
  let edited = null;
  let picture = null;
  let lastTyping = 0;

  const input = h("textarea", {
    class: "input", rows: 1, maxlength: mostCharacters[mode] ?? 4000, "aria-label": prompts[mode](name()),
    placeholder: prompts[mode](name()), autocomplete: "off", enterkeyhint: "send",
  });
  const above = h("div", { class: "composer-above", hidden: true });
  const file = h("input", { type: "file", accept: "image/*", hidden: true, on: { change: () => choosePicture() } });
  const attach = button("🖼", () => file.click(), { kind: "icon", label: "Send a picture" });
  const send = h("button", { type: "submit", class: "button button-primary" }, "Send");
  const isOpen = mode === "active";

  const grow = () => {
    input.style.setProperty("height", "auto");
    input.style.setProperty("height", `${Math.min(input.scrollHeight + 2, 160)}px`);
  };

  const keepDraft = rested(() => {
    if (!entry || edited) return;
    const text = input.value.trim();
    const before = store.drafts.view.get(entry.conversation)?.text ?? "";
    if (text === before) return;
    client.clique.draft(entry.conversation, text, { reply: replied?.offset }).catch(() => {
      // A draft that could not be kept is still in the field.
    });
  }, draftAfter);

  const showAbove = () => {
    const cancel = (label, f) => button("✕", f, { kind: "icon", label });
    const parts = [];
    if (edited) {
      parts.push(h("div", { class: "composer-note" }, h("span", { class: "grow one-line small" },
        h("span", { class: "strong" }, "You change: "), edited.data.text),
      cancel("Leave the message as it is", stopEdit)));
    } else if (replied) {
      const who = replied.user === me ? "yourself" : store.nameOf(replied.user);
      parts.push(h("div", { class: "composer-note" }, h("span", { class: "grow one-line small" },
        h("span", { class: "strong" }, `You reply to ${who}: `), replied.data.text || "a picture"),
      cancel("Reply to nothing", () => setReply(null))));
    }
    if (picture) {
      parts.push(h("div", { class: "composer-note" }, h("img", { src: picture.address, alt: "The picture to send" }),
        h("span", { class: "grow small soft" }, "Where and when it was taken is not sent."),
        cancel("Send no picture", () => setPicture(null))));
    }
    fill(above, parts);
    above.hidden = parts.length === 0;
  };
  const setReply = (message) => {
    replied = message;
    showAbove();
    input.focus();
  };
  const stopEdit = () => {
    edited = null;
    input.value = "";
    send.textContent = "Send";
    grow();
    showAbove();
    input.focus();
  };
  const setPicture = (one) => {
    if (picture && picture !== one) URL.revokeObjectURL(picture.address);
    picture = one;
    showAbove();
    input.focus();
  };

  const choosePicture = async () => {
    const [chosen] = file.files;
    file.value = "";
    if (!chosen) return;
    try {
      setPicture(await preparePicture(chosen));
    } catch (error) {
      toast(sentence(error));
    }
  };

  const submit = async () => {
    const text = input.value.trim();
    if (!text && !picture) return input.focus();
    keepDraft.cancel();
    if (edited) {
      const { offset, data } = edited;
      stopEdit();
      if (text === data.text) return undefined;
      return client.clique.edit(conversation, offset, text).then(undefined, (error) => toast(sentence(error)));
    }
    const others = (entry?.members ?? []).filter((one) => one !== me);
    const mentions = isOpen && entry?.group ? mentionsIn(text, others, store.nameOf) : [];
    const to = isOpen ? { conversation } : { to: entry?.with ?? person };
    const sent = { text, to, picture, reply: isOpen ? replied?.offset : undefined };
    outbox.send({ ...sent, mentions: mentions.length ? mentions : undefined });
    if (picture) URL.revokeObjectURL(picture.address);
    picture = replied = null;
    input.value = "";
    lastTyping = 0;
    grow();
    showAbove();
    input.focus();
    onSent();
    return undefined;
  };

  const typed = () => {
    grow();
    if (!edited) keepDraft();
    const now = Date.now();
    if (!isOpen || edited || !input.value.trim() || now - lastTyping < typingEvery) return;
    lastTyping = now;
    client.clique.typing(conversation).catch(() => {});
  };

  held.listen(input, "input", typed);
  held.listen(input, "keydown", (event) => {
    // On a phone the key makes a new line; there is a button beside it.
    const isSending = event.key === "Enter" && !event.shiftKey && !event.isComposing
      && matchMedia("(pointer: fine)").matches;
    if (isSending) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && (edited || replied)) {
      if (edited) stopEdit(); else setReply(null);
    }
  });
  held.listen(input, "paste", (event) => {
    const pasted = [...event.clipboardData?.files ?? []].find((one) => one.type.startsWith("image/"));
    if (!pasted || !isOpen) return;
    event.preventDefault();
    preparePicture(pasted).then(setPicture, (error) => toast(sentence(error)));
  });
  const takeDraft = () => {
    const draft = entry && store.drafts.view.get(entry.conversation);
    if (edited || document.activeElement === input || keepDraft.isWaiting()) return;
    const text = draft?.text ?? "";
    if (input.value === text || (!draft && input.value)) return;
    input.value = text;
    grow();
  };

  const element = h("form", { class: "composer", on: {
    submit: (event) => {
      event.preventDefault();
      submit();
    },
  } }, above, h("div", { class: "composer-row" }, isOpen ? [attach, file] : null, input, send));
  takeDraft();
  requestAnimationFrame(grow);

  return {
    element,
    focus: () => input.focus({ preventScroll: true }),
    hasFocus: () => element.contains(document.activeElement),
    reply: (message) => setReply(message),
    edit(message) {
      keepDraft.now();
      edited = message;
      input.value = message.data.text;
      send.textContent = "Save";
      grow();
      showAbove();
      input.focus();
    },
    update(now) {
      entry = now ?? entry;
      takeDraft();
    },
    end() {
      if (!edited) keepDraft.now();
      held.end();
      if (picture) URL.revokeObjectURL(picture.address);
    },
  };
}

/** The picture drawn anew, at most 2,048 pixels a side: nothing but the pixels is left of the file. */
async function preparePicture(blob) {
  if (blob.size > 33_554_432) throw new Error("This file is larger than 32 MB: choose a smaller picture.");
  let image;
  try {
    image = await createImageBitmap(blob);
  } catch {
    throw new Error("This file cannot be shown as a picture: choose a JPEG, PNG or WebP.");
  }
  const scale = Math.min(1, largestSide / Math.max(image.width, image.height));
  const [width, height] = [image.width, image.height].map((side) => Math.max(1, Math.round(side * scale)));
  const canvas = h("canvas", { width, height });
  const surface = canvas.getContext("2d");
  surface.fillStyle = "#ffffff";
  surface.fillRect(0, 0, width, height);
  surface.drawImage(image, 0, 0, width, height);
  image.close();
  const drawn = await new Promise((resolve) => {
    canvas.toBlob(resolve, "image/jpeg", 0.86);
  });
  if (!drawn) throw new Error("The picture could not be drawn: try again, or choose another one.");
  return { blob: drawn, width, height, address: URL.createObjectURL(drawn) };
}
