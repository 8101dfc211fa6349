// A person's profile, and one's own.
//
//   Entry of the list     Buttons on the profile
//   none                  write
//   request_out           add a message, take back
//   request_in            accept, answer, decline or block
//   active                open, send a State, end
//   ended                 write again, clear away
//   any, unless blocked   block, report
//   blocked by me         unblock, report: nothing else, whatever the list says

import {
  announce, avatar, bag, button, confirm, duration, field, fill, fromNow, h, sentence, shortTime, timeTag,
} from "./ui.js";
import { newKey } from "../fanfare.js";
import { brief, togetherFor } from "./clique-home.js";
import { placeName } from "./clique-map.js";

const smallSide = 256;
const largeSide = 1024;
const mostSmallBytes = 65_536;
const mostFileBytes = 33_554_432;
const mostMeetings = 3;

/** Which buttons there are, by the state of the list's entry and the block. Pure. */
export function standing(entry, isBlocked) {
  if (isBlocked) return "blocked";
  return ["request_out", "request_in", "active", "ended"].includes(entry?.state) ? entry.state : "none";
}

/** The screen of a person's profile; one's own can be changed. `end()` leaves it. */
export function makeProfile(context, user) {
  return user === context.user ? makeOwn(context) : makeOther(context, user);
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Somebody else

const standings = {
  none: () => "Your first message is a request: they choose whether to talk with you.",
  request_out: (name) => `You have asked ${name}, and there is no answer yet.`,
  request_in: (name) => `${name} wants to talk with you. To answer is to accept.`,
  active: (name) => `You and ${name} talk with each other.`,
  ended: (name) => `The conversation with ${name} has ended. It can be read, and either of you may ask again.`,
  blocked: (name) => `You have blocked ${name}: nothing that they write reaches you, and they are not told.`,
};

function makeOther(context, user) {
  const { client, store } = context;
  const held = bag();
  const crossed = client.clique.crossed();
  const meetings = makeMeetings(store, user);
  const face = avatar(user, store.nameOf(user), "large");
  const name = h("h1", { tabindex: "-1" });
  const university = h("p", { class: "soft" });
  const known = h("p", { class: "soft small" });
  const chip = h("span", { class: "chip chip-good" }, "Here now");
  const state = h("p", {});
  const buttons = h("div", { class: "row" });
  let shown = "";

  const show = () => {
    const profile = store.profileOf(user);
    const title = store.nameOf(user);
    const isBlocked = store.isBlocked(user);
    setText(name, title);
    face.rename(title);
    store.showPicture(face, user, { large: true });
    setText(university, profile?.fields?.university ?? "");
    university.hidden = !university.textContent;
    setText(known, store.isReady() ? profile ? "" : "You see the rest of this profile once you have met, or talk."
      : "Opening the profile…");
    known.hidden = !known.textContent || isBlocked;
    const crossing = isBlocked ? undefined : crossed.view.get(user);
    chip.hidden = !crossing?.together;
    meetings.show(crossing, crossed.state === "subscribed", isBlocked);

    const entry = store.entryWith(user);
    const now = store.isReady() || entry || isBlocked ? standing(entry, isBlocked) : "";
    setText(state, now ? standings[now](title) : "");
    const drawn = JSON.stringify([now, entry?.conversation, title]);
    if (drawn === shown) return;
    shown = drawn;
    const hadFocus = buttons.contains(document.activeElement);
    fill(buttons, now ? buttonsOf(context, user, now, entry) : []);
    // The button that was pressed may be gone: the focus stays on the page's subject.
    if (hadFocus) name.focus({ preventScroll: true });
  };
  held.keep(crossed.on("change", ({ key, data }) => {
    if (key !== user) return;
    meetings.told(Boolean(data));
    show();
  }));
  held.keep(crossed.on("subscribed", show));
  held.keep(store.onChange(show));
  held.every(10_000, show);
  held.keep(() => crossed.unsubscribe());
  show();

  const element = h("div", { class: "profile" },
    h("section", { class: "card stack", "aria-label": "Profile" },
      h("div", { class: "profile-head" }, face,
        h("div", { class: "stack-tight grow" }, h("div", { class: "row" }, name, chip), university,
          h("p", { class: "soft small" }, "User ", h("code", {}, user)), known)),
      state, buttons),
    meetings.element);
  return { element, end: () => held.end() };
}

function buttonsOf(context, user, now, entry) {
  const { actions, store } = context;
  const id = encodeURIComponent(user);
  const chat = entry ? `#/clique/chat/${encodeURIComponent(entry.conversation)}` : `#/clique/to/${id}`;
  const link = (text, href, isFirst) => h("a", { class: `button ${isFirst ? "button-primary" : ""}`, href }, text);
  const act = (text, action, kind = "") => {
    const element = button(text, async () => {
      element.disabled = true;
      try {
        await action(user);
      } finally {
        element.disabled = false;
      }
    }, { kind });
    return element;
  };
  const report = act("Report…", () => actions.report(user, store.nameOf(user)), "quiet");
  const keepAway = [act("Block…", actions.block, "danger"), report];
  switch (now) {
    case "request_out":
      return [link("Add a message", chat, true), act("Take back", actions.takeBack), keepAway];
    case "request_in":
      return [act("Accept", actions.accept, "primary"), link("Answer", chat),
        act("Decline or block…", actions.decline), report];
    case "active": {
      const hasState = context.demo.apps.includes("state");
      return [link("Open the conversation", chat, true), hasState ? link("Send a State", `#/state/${id}`) : null,
        act("End…", actions.end), keepAway];
    }
    case "ended":
      return [link("Write again", `#/clique/to/${id}`, true), act("Clear away", actions.clearAway), keepAway];
    case "blocked":
      return [act("Unblock…", (person) => unblock(context, person), "primary"), report];
    default:
      return [link("Write", `#/clique/to/${id}`, true), keepAway];
  }
}

/** Asks before it unblocks: what was away does not come back by itself. */
export async function unblock({ actions, store }, person) {
  const name = store.nameOf(person);
  const isSure = await confirm(`Unblock ${name}?`, [
    `${name} is not told. From now on their messages reach you again, in Clique and in State.`,
    "What they wrote during the block never arrives. What stood between you before stands again: a conversation, or a "
    + "request whose time has not run out.",
    "You cross paths again from the next place on that one of you enters.",
  ], { action: "Unblock" });
  return isSure && actions.unblock(person);
}

function makeMeetings(store, user) {
  const rows = h("ol", { class: "list" });
  const note = h("p", { class: "soft" });
  const total = h("p", { class: "soft small" });
  let toldAt = Date.now();
  let shown = "";
  return {
    element: h("section", { class: "card stack", "aria-labelledby": "meetings-title" },
      h("h2", { id: "meetings-title" }, "Latest meetings"), rows, note, total),
    /** The server has counted until now. */
    told(isThere) {
      if (isThere) toldAt = Date.now();
    },
    show(crossing, isReady, isBlocked) {
      const latest = (crossing?.latest ?? []).slice(0, mostMeetings);
      const since = Math.max(0, Date.now() - toldAt);
      const isNow = (index) => index === 0 && Boolean(crossing?.together);
      const lengthOf = ({ minutes }, index) => minutes * 60_000 + (isNow(index) ? since : 0);
      const drawn = JSON.stringify(latest.map((meeting, index) =>
        [meeting, isNow(index), duration(lengthOf(meeting, index)), shortTime(meeting.time)]));
      if (drawn !== shown) {
        shown = drawn;
        fill(rows, latest.map((meeting, index) => h("li", { class: "meeting" },
          h("span", { class: "strong grow" }, placeName(meeting.place)),
          h("span", { class: "soft small" }, isNow(index) ? "now, since " : "", timeTag(meeting.time),
            lengthOf(meeting, index) < brief ? "" : ` · ${duration(lengthOf(meeting, index))}`))));
      }
      rows.hidden = latest.length === 0;
      note.hidden = latest.length > 0;
      setText(note, isBlocked ? "You see no meetings with people whom you have blocked."
        : isReady ? `You and ${store.nameOf(user)} have not crossed paths in the last 24 hours.`
          : "Looking when you met…");
      total.hidden = !crossing;
      if (!crossing) return setText(total, "");
      const together = togetherFor(crossing, toldAt);
      setText(total, `${together < brief ? "Just met" : `${duration(together)} together in the last 24 hours`}, `
        + `last seen ${crossing.together ? "now" : fromNow(crossing.seen)}.`);
    },
  };
}

// One's own

/** What was typed and not saved, by client: whoever comes back finds it. */
const unsaved = new WeakMap();

function makeOwn(context) {
  const { client, store, user, toast, navigate } = context;
  const held = bag();
  const stop = new AbortController();
  held.keep(() => stop.abort());
  const draft = unsaved.get(client) ?? {};
  unsaved.delete(client);
  const face = avatar(user, store.nameOf(user), "large");
  const name = field("Name", { maxlength: 80, autocomplete: "off", spellcheck: "false" }, "As others see it.");
  const university = field("University", { maxlength: 100, autocomplete: "off" }, "Optional.");
  const problem = h("p", { class: "field-error", role: "alert" });
  const progress = h("p", { class: "soft small" });
  const inputs = { name: name.input, university: university.input };
  let preview = "";
  let isSaving = false;

  const saved = () => {
    const profile = store.profileOf(user);
    return { name: profile?.name ?? "", university: profile?.fields?.university ?? "", picture: profile?.picture };
  };
  const isChanged = () => Object.keys(draft).length > 0;
  const showPicture = () => {
    if (preview) URL.revokeObjectURL(preview);
    preview = draft.picture ? URL.createObjectURL(draft.picture.small) : "";
    delete face.dataset.picture;
    face.replaceChildren();
    if (preview) face.show(preview); else face.rename(saved().name || user);
    show();
  };
  const show = () => {
    const now = saved();
    // What another device has saved appears, but not over what is being typed here.
    for (const [key, input] of Object.entries(inputs)) {
      const text = draft[key] ?? now[key];
      if (input.value !== text) input.value = text;
    }
    if (!("picture" in draft)) store.showPicture(face, user, { large: true });
    face.rename(inputs.name.value || user);
    const hasPicture = "picture" in draft ? Boolean(draft.picture) : Boolean(now.picture);
    take.hidden = !hasPicture;
    choose.textContent = hasPicture ? "Another picture…" : "Choose a picture…";
    save.disabled = isSaving;
    save.textContent = isSaving ? "Saving…" : "Save";
    choose.disabled = take.disabled = isSaving;
    discard.hidden = isSaving || !isChanged();
  };
  for (const [key, input] of Object.entries(inputs)) {
    input.addEventListener("input", () => {
      if (input.value === saved()[key]) delete draft[key]; else draft[key] = input.value;
      show();
    });
  }

  const file = h("input", { type: "file", accept: "image/*", hidden: true, on: { change: async () => {
    const [chosen] = file.files;
    file.value = "";
    if (!chosen) return;
    problem.textContent = "";
    try {
      draft.picture = await preparePicture(chosen);
      if (stop.signal.aborted) return;
      showPicture();
      announce("The picture is chosen. Save to show it to others.");
    } catch (error) {
      problem.textContent = sentence(error);
    }
  } } });
  const choose = button("Choose a picture…", () => file.click(), { class: "button button-small" });
  const take = button("Remove it", () => {
    if (saved().picture) draft.picture = null; else delete draft.picture;
    showPicture();
    choose.focus();
  }, { class: "button button-small button-quiet" });
  const discard = button("Discard changes", () => {
    for (const key of Object.keys(draft)) delete draft[key];
    problem.textContent = "";
    showPicture();
    inputs.name.focus();
  }, { kind: "quiet" });
  const save = h("button", { type: "submit", class: "button button-primary" }, "Save");

  const submit = async (event) => {
    event.preventDefault();
    if (isSaving) return;
    problem.textContent = "";
    if (!inputs.name.value.trim()) {
      problem.textContent = "Write a name: others see it in place of your user id.";
      return inputs.name.focus();
    }
    if (!isChanged()) return toast("Nothing has changed: your profile is as others see it.");
    isSaving = true;
    show();
    const given = { ...draft };
    try {
      if (given.picture) await uploadPicture(context, given.picture, progress, stop.signal);
      await client.clique.setProfile(changeOf(given));
      // What was typed while this was on its way is still to be saved.
      for (const key of Object.keys(given)) if (draft[key] === given[key]) delete draft[key];
      toast("Saved. Others see it within a moment.");
    } catch (error) {
      if (!stop.signal.aborted) problem.textContent = `Not saved: ${sentence(error)}`;
    }
    progress.textContent = "";
    isSaving = false;
    if (!stop.signal.aborted) show();
  };
  held.keep(store.onChange(show));
  showPicture();

  const element = h("div", { class: "profile" },
    h("section", { class: "card", "aria-labelledby": "own-title" },
      h("form", { class: "stack", novalidate: true, on: { submit } },
        h("h1", { id: "own-title" }, "My profile"),
        h("div", { class: "profile-head" }, face,
          h("div", { class: "stack-tight grow" }, h("div", { class: "row" }, choose, take, file),
            h("p", { class: "soft small" }, "A square of it is shown. Where and when it was taken is not sent."))),
        name.element, university.element,
        h("p", { class: "note" }, "Your profile is seen by the people who cross your path, whom you talk with or ask, "
          + "and who share a group with you. Whom you block keeps seeing it as it is at that moment."),
        problem, progress, h("div", { class: "row" }, save, discard))));
  return {
    element,
    end() {
      held.end();
      if (preview) URL.revokeObjectURL(preview);
      if (!isChanged()) return;
      unsaved.set(client, draft);
      toast("What you changed in your profile is not saved yet.", {
        label: "Go back", undo: () => navigate(`#/clique/person/${encodeURIComponent(user)}`),
      });
    },
  };
}

/** What `setProfile` is told of these changes. Pure. */
export function changeOf({ name, university, picture }) {
  const change = {};
  if (name !== undefined) change.name = name.trim();
  if (university !== undefined) change.fields = { university: university.trim() || null };
  if (picture !== undefined) change.picture = picture && { id: picture.id, small: picture.smallId };
  return change;
}

/** Both sizes of a file, drawn anew: nothing but the pixels is left of it. Throws with what to do. */
async function preparePicture(blob) {
  if (blob.size > mostFileBytes) throw new Error("This file is larger than 32 MB: choose a smaller picture.");
  let image;
  try {
    image = await createImageBitmap(blob);
  } catch {
    throw new Error("This file cannot be shown as a picture: choose a JPEG, PNG or WebP.");
  }
  try {
    const side = Math.min(image.width, image.height);
    const large = await draw(image, Math.min(side, largeSide), 0.88);
    return { large, small: await drawSmall(image), id: newKey(), smallId: newKey(), isSent: false };
  } finally {
    image.close();
  }
}

/** The picture for lists: 256 pixels, and less quality where that has more than 64 KiB. */
async function drawSmall(image) {
  const side = Math.min(smallSide, image.width, image.height);
  for (const quality of [0.85, 0.7, 0.5, 0.3]) {
    const blob = await draw(image, side, quality);
    if (blob.size <= mostSmallBytes) return blob;
  }
  throw new Error("This picture does not get small enough for lists: choose another one.");
}

/** The square in the middle, on white where the picture is transparent. */
function draw(image, side, quality) {
  const canvas = h("canvas", { width: side, height: side });
  const surface = canvas.getContext("2d");
  if (!surface) throw new Error("This browser cannot draw the picture now: close other pages, and try again.");
  const cut = Math.min(image.width, image.height);
  surface.fillStyle = "#ffffff";
  surface.fillRect(0, 0, side, side);
  surface.imageSmoothingQuality = "high";
  surface.drawImage(image, (image.width - cut) / 2, (image.height - cut) / 2, cut, cut, 0, 0, side, side);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob)
      : reject(new Error("The picture could not be drawn: try again, or choose another one."))), "image/jpeg", quality);
  });
}

/** Uploads both, once: a profile that could not be saved is saved again with the same ids. */
async function uploadPicture({ client, store }, picture, progress, signal) {
  if (picture.isSent) return;
  const total = picture.large.size + picture.small.size;
  const tell = (done) => {
    progress.textContent = `Sending the picture: ${Math.floor(done / total * 100)} %`;
  };
  const { pictures } = client.clique;
  await pictures.upload(picture.small, { id: picture.smallId, signal, onProgress: tell });
  await pictures.upload(picture.large, {
    id: picture.id, signal, onProgress: (done) => tell(picture.small.size + done),
  });
  picture.isSent = true;
  // One's own device need not fetch what it has.
  store.pictures.keep(picture.id, picture.large);
  store.pictures.keep(picture.smallId, picture.small);
}
