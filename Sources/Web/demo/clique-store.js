// What of Clique is open all the time: lists, people, blocked people, totals and one's own profile; and the pictures
// that were fetched. One for each session, whichever app is on the screen.

import { onceAFrame } from "./ui.js";

const stores = new WeakMap();
const mostPictures = 80;

/** The store of this session's client. */
export function storeOf(session) {
  if (!stores.has(session.client)) stores.set(session.client, makeStore(session));
  return stores.get(session.client);
}

function makeStore({ client, user: me, name: ownName }) {
  const { clique } = client;
  const [list, people, blocked] = [clique.list(), clique.people(), clique.blocked()];
  const [badge, profile, drafts] = [clique.badge(), clique.profile(), clique.drafts()];
  const listeners = new Set();
  const tell = onceAFrame(() => {
    for (const f of [...listeners]) f();
  });
  for (const map of [list, people, blocked, badge, profile, drafts]) {
    map.on("change", tell);
    map.on("subscribed", tell);
  }
  const chats = makeChats(clique);
  acknowledge(client, list, chats);
  const pictures = makePictures(client);
  const store = {
    me, list, people, blocked, profile, drafts, pictures, chats,
    /** What was written and is not in its chat yet, by conversation and key; it outlives the screen. */
    pending: new Map(),
    /** Calls `f` after changes, at most once a frame; gives what takes it away. */
    onChange(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    /** Says that something besides the maps has changed, what waits to be sent for example. */
    tell,
    isReady: () => list.state === "subscribed" && people.state === "subscribed",
    totals: () => badge.view.get("all") ?? {},
    profileOf(user) {
      return user === me ? profile.view.get("profile") ?? { user, name: ownName } : people.view.get(user);
    },
    /** As one sees it: the profile's name, that of when one blocked, or the user id. */
    nameOf(user) {
      return store.profileOf(user)?.name || blocked.view.get(user)?.name || user;
    },
    /** One's conversation or request with the person: the entry of the list, or undefined. */
    entryWith(user) {
      for (const entry of list.view.values()) if (entry.with === user) return entry;
      return undefined;
    },
    isBlocked: (user) => blocked.view.has(user),
    titleOf(entry) {
      if (!entry.group) return store.nameOf(entry.with);
      return entry.name || (entry.members ?? []).filter((one) => one !== me).map(store.nameOf).join(", ") || "A group";
    },
    /** Has the avatar show the person's picture as soon as it is there, and initials where there is none. */
    async showPicture(avatar, user, { large = false } = {}) {
      const picture = store.profileOf(user)?.picture;
      const id = (large ? picture?.id : picture?.small ?? picture?.id) ?? "";
      if (avatar.dataset.picture === id) return;
      avatar.dataset.picture = id;
      if (!id) {
        avatar.replaceChildren();
        return avatar.rename(store.nameOf(user));
      }
      const address = await pictures.address(id).catch(() => "");
      if (address && avatar.dataset.picture === id) avatar.show(address);
    },
  };
  return store;
}

/** Addresses of pictures that were fetched, those used last: the oldest gives way to another. */
function makePictures(client) {
  const held = new Map();
  return {
    async address(id) {
      const there = held.get(id);
      if (there) {
        held.delete(id);
        held.set(id, there);
        return there;
      }
      const fetched = client.clique.pictures.download(id)
        .then(({ bytes, type }) => URL.createObjectURL(new Blob([bytes], { type })));
      held.set(id, fetched);
      fetched.catch(() => held.delete(id));
      if (held.size > mostPictures) {
        const [oldest, address] = held.entries().next().value;
        held.delete(oldest);
        address.then((text) => URL.revokeObjectURL(text), () => {});
      }
      return fetched;
    },
    /** Takes over what this device has just uploaded. */
    keep(id, blob) {
      held.set(id, Promise.resolve(URL.createObjectURL(blob)));
    },
  };
}

/** Chats that are open, counted: the screen and what says "delivered" may need the same one. */
function makeChats(clique) {
  const users = new Map();
  return {
    open(conversation) {
      users.set(conversation, (users.get(conversation) ?? 0) + 1);
      return clique.chat(conversation);
    },
    close(conversation, chat) {
      const left = (users.get(conversation) ?? 1) - 1;
      if (left > 0) return void users.set(conversation, left);
      users.delete(conversation);
      chat.unsubscribe();
    },
  };
}

/** Only whoever has subscribed to a chat is told where it ends. */
async function newestOffset(chats, conversation) {
  const chat = chats.open(conversation);
  try {
    await chat.ready();
    return chat.position?.offset ?? 0;
  } finally {
    chats.close(conversation, chat);
  }
}

/**
 * Says "delivered" for what has reached this device, whichever screen is open: the sender's ticks follow from it. Of a
 * conversation the newest offset, of a request how many messages it has.
 */
function acknowledge(client, list, chats) {
  const said = new Map();
  const due = new Set();
  let timer = 0;
  const run = async () => {
    timer = 0;
    for (const conversation of [...due]) {
      due.delete(conversation);
      const entry = list.view.get(conversation);
      if (!entry?.unread) continue;
      try {
        const isRequest = entry.state === "request_in";
        if (!isRequest && entry.state !== "active") continue;
        const offset = isRequest ? (entry.messages ?? []).length : await newestOffset(chats, conversation);
        if (offset <= (said.get(conversation) ?? 0)) continue;
        await client.clique.delivered(conversation, offset);
        said.set(conversation, offset);
      } catch {
        // The chat says it when it is opened, and so does the next message.
      }
    }
  };
  list.on("change", ({ key, data, previous }) => {
    if (!data) return void said.delete(key);
    if (data.state !== previous?.state) said.delete(key);
    if (!data.unread) return;
    due.add(key);
    timer ||= setTimeout(run, 400);
  });
}
