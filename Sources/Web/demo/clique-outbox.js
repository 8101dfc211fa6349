// What was written and does not stand in its conversation yet. It outlives the screen, not the window.
//
//   State      means                                    leads to
//   waiting    on its way, or there is no connection    sent, failed
//   failed     the server has refused it                waiting (again), gone (discarded)
//   sent       the server has it                        gone, once it stands in the chat or after a moment

import { sentence } from "./ui.js";
import { newKey } from "../fanfare.js";

/** How long what was sent may still be missing in the chat, in milliseconds. */
const settles = 4000;

/** The outbox of a conversation, or of a person with whom there is none yet. */
export function makeOutbox(context, { conversation, person }) {
  const { client, session, store } = context;
  const id = conversation || `to/${person}`;
  const listeners = new Set();
  const tell = () => {
    for (const f of [...listeners]) f();
    store.tell();
  };
  const box = () => {
    if (!store.pending.has(id)) store.pending.set(id, new Map());
    return store.pending.get(id);
  };
  const drop = (key) => {
    const held = store.pending.get(id);
    held?.delete(key);
    if (held?.size === 0) store.pending.delete(id);
    tell();
  };

  const run = async (key, one, to) => {
    one.state = "waiting";
    one.problem = "";
    one.stop = new AbortController();
    const done = session.waits();
    tell();
    try {
      if (one.file && !one.isUploaded) {
        await client.clique.pictures.upload(one.file, { id: one.data.picture.id, signal: one.stop.signal });
        one.isUploaded = true;
        store.pictures.keep(one.data.picture.id, one.file);
      }
      const { text, reply, picture } = one.data;
      await client.clique.send({ ...to, text, reply, picture, mentions: one.mentions, key, signal: one.stop.signal });
      one.state = "sent";
      setTimeout(() => drop(key), settles);
    } catch (error) {
      one.state = "failed";
      one.problem = `Not sent: ${sentence(error)}`;
    } finally {
      done();
      tell();
    }
  };

  return {
    waiting: () => [...(store.pending.get(id) ?? [])],
    onChange(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    /** Sends it, now or when there is a connection. `picture`: { blob, width, height } of what is to be uploaded. */
    send({ text, reply, mentions, picture, to }) {
      const key = newKey();
      const data = { key, text, ...(reply ? { reply } : {}) };
      const one = { data, time: Date.now(), mentions, file: picture?.blob };
      if (picture) {
        data.picture = { id: newKey(), width: picture.width, height: picture.height };
        one.address = URL.createObjectURL(picture.blob);
      }
      one.again = () => run(key, one, to);
      one.discard = () => {
        if (one.address) URL.revokeObjectURL(one.address);
        drop(key);
      };
      box().set(key, one);
      return run(key, one, to);
    },
  };
}
