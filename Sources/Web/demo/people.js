// What State, Six to Eight, Favorites and the journal share: what somebody is called, how one is found, and changes of
// a person's own maps that wait for the connection.

import { avatar, field, fill, h, rested, sentence, uniqueId } from "./ui.js";

const idLike = /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u;
const mostFound = 8;

/** The id that a name has here: in lower case, with `-` between its words. */
export const idOf = (name) => name.trim().toLocaleLowerCase().replace(/[\s']+/gu, "-");

/** An id as a name, where nobody has told a better one: "mary-ann" is "Mary Ann". */
export function readable(user) {
  return String(user).split("-").filter(Boolean)
    .map((word) => word.replace(/^./u, (letter) => letter.toLocaleUpperCase())).join(" ") || String(user);
}

/** What somebody is called: as Clique knows them, or else as the id reads. */
export function nameOf({ store }, user) {
  const name = store.nameOf(user);
  return name === user ? readable(user) : name;
}

/** People whose name or id has `text` in it: those of Clique first, and whoever else has exactly that name. */
async function find(session, text) {
  const { client, store, user: me } = session;
  const wanted = text.toLocaleLowerCase();
  const fits = ({ user, name = "" }) => `${name} ${user}`.toLocaleLowerCase().includes(wanted);
  let others = [];
  try {
    if (text && client.connectionState === "connected") {
      others = await client.clique.findPeople(text, { limit: mostFound });
    }
  } catch {
    // Those whom one knows, and the name as it was typed, are offered all the same.
  }
  const users = new Set([...[...store.people.view.values()].filter(fits), ...others].map(({ user }) => user));
  const id = idOf(text);
  if (text && idLike.test(id)) users.add(id);
  users.delete(me);
  return [...users];
}

/**
 * A field that finds people while one types: `choose(user, name)` is called with whom was chosen. `leaves(user)` says
 * whom to leave out. Gives `{ element, input, clear(), end() }`.
 */
export function picker(session, { label, help = "", verb, choose, leaves = () => false }) {
  const found = h("ul", { class: "picker-found", "aria-label": "People found", id: uniqueId("found") });
  const status = h("p", { class: "field-help", role: "status" });
  let asked = 0;
  const clear = () => {
    asked += 1;
    search.cancel();
    input.value = "";
    status.textContent = "";
    fill(found);
  };
  const run = async (text) => {
    const mine = asked += 1;
    const users = (await find(session, text)).filter((user) => !leaves(user)).slice(0, mostFound);
    if (mine !== asked || !element.isConnected) return;
    fill(found, users.map((user) => {
      const name = nameOf(session, user);
      const picture = avatar(user, name, "small");
      session.store.showPicture(picture, user);
      picture.rename(name);
      return h("li", {}, h("button", {
        type: "button", class: "picker-person", "aria-label": `${verb} ${name}`, on: {
          click: () => {
            clear();
            choose(user, name);
          },
        },
      }, picture, h("span", {}, name)));
    }));
    status.textContent = text && users.length === 0 ? "Nobody else is called that." : "";
  };
  const search = rested(run, 200);
  const look = () => search(input.value.trim());
  const { element: row, input } = field(label, {
    type: "search", autocomplete: "off", placeholder: "A name", spellcheck: "false", on: { input: look, focus: look },
  }, help);
  const element = h("form", { class: "picker", role: "search", "aria-label": label, on: {
    submit: async (event) => {
      event.preventDefault();
      if (!input.value.trim()) return input.focus();
      // Enter right after the last letter: what is typed is looked for first.
      search.cancel();
      await run(input.value.trim());
      found.querySelector("button")?.click();
    },
  } }, row, status, found);
  return { element, input, clear, end: () => search.cancel() };
}

/**
 * Calls a method that changes nothing when it is said twice, once there is a connection. `session.waits` counts it
 * while it waits; `later()` is called where it does. Throws what the server refused.
 */
export async function persist(session, method, data, later) {
  const { client } = session;
  if (client.connectionState !== "connected") later?.();
  const sent = session.waits();
  try {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await client.ready();
        return await client.rpc(method, data);
      } catch (error) {
        if (attempt >= 5 || (!error.temporary && client.connectionState === "connected")) throw error;
      }
    }
  } finally {
    sent();
  }
}

/** The map of a person's own, subscribed to once however often its app is opened. */
export function ownMap(client, channel, options) {
  const there = client.subscription(channel);
  return there && there.state !== "unsubscribed" ? there : client.map(channel, options);
}

/** Says in a toast why something was not done. */
export async function attempt(session, f, failed) {
  try {
    await f();
    return true;
  } catch (error) {
    session.toast(`${failed}: ${sentence(error)}`);
    return false;
  }
}

/** A card beside an app, open or closed, with a button that says so. */
export function settings(...children) {
  return h("details", { class: "card side-settings" }, h("summary", {}, "Settings"), children);
}

/** The bar that says what a lost connection means for this app; `show()` after each change of the connection. */
export function offlineNote(session, text) {
  const element = h("p", { class: "note note-warn", role: "status", hidden: true });
  const show = () => {
    const isOn = session.client.connectionState === "connected";
    element.hidden = isOn;
    const said = isOn ? "" : text;
    if (element.textContent !== said) element.textContent = said;
  };
  const offs = ["connected", "connecting", "disconnected"].map((name) => session.client.on(name, show));
  show();
  return { element, end: () => offs.forEach((off) => off()) };
}
