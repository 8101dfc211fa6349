// The page of a group: members, its name, links, and leaving it.

import { avatar, button, confirm, fill, h, openDialog, sentence } from "./ui.js";

const linkLifetime = 86_400_000;

/** Opens the page of the group whose entry this is; it follows the list while it is open. */
export function openGroup(context, first) {
  if (!first) return undefined;
  const { store } = context;
  return openDialog("Group", (close, dialog) => {
    const place = h("div", { class: "stack" });
    let drawn = "";
    const show = () => {
      const entry = store.list.view.get(first.conversation);
      if (!entry) return close(undefined);
      const now = JSON.stringify([entry.name, entry.members, entry.admins, entry.members.map(store.nameOf)]);
      if (now === drawn) return undefined;
      drawn = now;
      return fill(place, content(context, entry, close));
    };
    const off = store.onChange(show);
    dialog.addEventListener("close", off);
    show();
    return place;
  });
}

function content(context, entry, close) {
  const { user: me } = context;
  const isAdmin = (entry.admins ?? []).includes(me);
  return [
    isAdmin ? nameForm(context, entry) : h("p", { class: "strong" }, context.store.titleOf(entry)),
    h("ul", { class: "list", "aria-label": "Members" },
      entry.members.map((user) => member(context, entry, user, isAdmin))),
    isAdmin ? h("div", { class: "row" },
      button("Add people…", () => addPeople(context, entry), { class: "button button-small" }),
      button("Make a link", (event) => makeLink(context, entry, event.currentTarget), { class: "button button-small" }))
      : null,
    h("div", { class: "dialog-actions" },
      button("Leave the group…", () => leave(context, entry), { kind: "danger" }),
      button("Close", () => close(undefined), { kind: "primary" })),
  ];
}

function nameForm({ actions, client }, entry) {
  const input = h("input", {
    class: "input", value: entry.name ?? "", maxlength: 80, "aria-label": "Name of the group", placeholder: "No name",
  });
  return h("form", { class: "row no-wrap", on: {
    submit: (event) => {
      event.preventDefault();
      const name = input.value.trim();
      actions.run(() => client.clique.group.rename(entry.conversation, name), "The group has a new name.");
    },
  } }, h("div", { class: "grow" }, input), h("button", { type: "submit", class: "button" }, "Rename"));
}

function member({ actions, client, store, user: me }, entry, user, isAdmin) {
  const name = user === me ? "You" : store.nameOf(user);
  const face = avatar(user, name, "small");
  store.showPicture(face, user);
  const isTheirs = (entry.admins ?? []).includes(user);
  const { group } = client.clique;
  const small = (text, label, call, done) => button(text, () => actions.run(call, done), {
    class: "button button-small", "aria-label": label,
  });
  return h("li", { class: "member-row" }, face, h("span", { class: "grow one-line" }, name),
    isTheirs ? h("span", { class: "chip" }, "Administrator") : null,
    isAdmin && user !== me ? h("span", { class: "row" },
      isTheirs
        ? small("Dismiss", `${name} is no administrator any more`, () => group.dismiss(entry.conversation, user))
        : small("Appoint", `Make ${name} an administrator`, () => group.appoint(entry.conversation, user)),
      small("Remove", `Remove ${name} from the group`, () => group.remove(entry.conversation, user),
        `${name} is not in the group any more.`)) : null);
}

async function addPeople({ actions, client, store }, entry) {
  const people = [...store.list.view.values()]
    .filter((one) => one.state === "active" && one.with && !entry.members.includes(one.with));
  const chosen = await openDialog("Add people", (close) => {
    const boxes = people.map((one) => h("input", { type: "checkbox", value: one.with }));
    return h("form", { class: "stack", on: {
      submit: (event) => {
        event.preventDefault();
        close(boxes.filter((box) => box.checked).map((box) => box.value));
      },
    } },
    people.length === 0 ? h("p", { class: "soft" }, "Everybody whom you talk with is here already.")
      : h("fieldset", { class: "plain" }, h("legend", { class: "soft small" },
        "They read what is said from then on, and nothing from before."),
      people.map((one, index) => h("label", { class: "check" }, boxes[index],
        avatar(one.with, store.nameOf(one.with), "small"), store.nameOf(one.with)))),
    h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" }),
      people.length ? h("button", { type: "submit", class: "button button-primary" }, "Add") : null));
  });
  if (!chosen?.length) return;
  await actions.run(() => client.clique.group.add(entry.conversation, chosen));
}

async function makeLink(context, entry, place) {
  const { actions, client } = context;
  const answer = await actions.run(() => client.clique.group.link(entry.conversation, { lifetime: linkLifetime }));
  if (!answer?.link) return;
  const address = new URL(`#/clique/join/${encodeURIComponent(answer.link)}`, location.href).href;
  const input = h("input", { class: "input", readOnly: true, value: address, "aria-label": "Link into the group" });
  const copy = button("Copy", async () => {
    input.select();
    await navigator.clipboard?.writeText(address).then(() => context.toast("Copied."), (error) =>
      context.toast(sentence(error)));
  }, { class: "button button-small" });
  place.parentElement.after(h("div", { class: "stack-tight" }, h("div", { class: "row no-wrap" },
    h("div", { class: "grow" }, input), copy),
  h("p", { class: "soft small" }, "Whoever opens it within a day may join. It is shown this once.")));
  input.select();
}

async function leave({ actions, client, store }, entry) {
  const isSure = await confirm(`Leave ${store.titleOf(entry)}?`,
    "The others see that you have left. You lose what was said; an administrator can add you again.",
    { action: "Leave", danger: true });
  if (isSure) await actions.run(() => client.clique.group.leave(entry.conversation), "You have left the group.");
}

/** Asks whether to join by a link that somebody has sent, and opens the group. */
export async function joinByLink({ actions, client, navigate }, link) {
  const isSure = await confirm("Join this group?", "Its members see that you have come, and your profile.",
    { action: "Join" });
  const answer = isSure && await actions.run(() => client.clique.group.join(link));
  navigate(answer?.conversation ? `#/clique/chat/${encodeURIComponent(answer.conversation)}` : "#/clique/messages");
}
