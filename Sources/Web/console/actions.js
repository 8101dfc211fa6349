// What an operator does to people and channels. Each asks first, and says what it does.

import { field } from "./ui.js";
import { ask, choice } from "./parts.js";
import { call } from "./server.js";

const day = 86_400;
const inSeconds = (more) => Math.floor(Date.now() / 1000) + more;

function reasonField(help = "The client is told. At most 123 bytes.") {
  return field("Reason", { maxlength: 123, autocomplete: "off" }, help);
}

/** `target`: `{ user }` or `{ client }`; `name`: how it is called in sentences. */
export function disconnect(context, target, name) {
  const back = choice("Afterwards", [
    ["3503", "the client stays away"], ["4000", "the client may come back at once"],
  ]);
  const reason = reasonField();
  return ask(context, {
    title: `Disconnect ${name}?`, action: "Disconnect", fields: [back, reason],
    text: [
      target.client ? "This connection ends on its gateway." : "All connections of this user end, on every gateway.",
      "It keeps nobody from connecting again: revoke the tokens, or suspend the user, for that."],
    run: (key) => call("disconnect", {
      ...target, code: Number(back.input.value), reason: reason.input.value || undefined, idempotency_key: key,
    }),
    done: () => `Every gateway has disconnected ${name}.`,
  });
}

export function unsubscribe(context, target, name, channel) {
  const back = choice("Afterwards", [["2000", "they stay unsubscribed"], ["2500", "their clients subscribe again"]]);
  return ask(context, {
    title: `Unsubscribe ${name}?`, action: "Unsubscribe", fields: [back],
    text: [`The subscription to ${channel} ends; the connection stays.`,
      "Where the channel lets people in, they may subscribe again."],
    run: (key) => call("unsubscribe", { ...target, channel, code: Number(back.input.value), idempotency_key: key }),
    done: () => `${name} is not subscribed to ${channel} any more.`,
  });
}

export function revokeTokens(context, user) {
  return ask(context, {
    title: `Revoke the tokens of ${user}?`, action: "Revoke",
    text: ["Every token of this user that was issued until now is refused from here on.",
      "Connections that rest on one of them end.",
      "It cannot be taken back. Your backend can issue new tokens, with which the user signs in again."],
    run: (key) => call("invalidate_user_tokens", { user, idempotency_key: key }),
    done: () => `The tokens of ${user} that were issued until now are revoked.`,
  });
}

export function revokeToken(context) {
  const uid = field("The token's id (jti)", { class: "input mono", autocomplete: "off", spellcheck: "false",
    maxlength: 1024 });
  return ask(context, {
    title: "Revoke one token?", action: "Revoke", fields: [uid],
    text: "The token is refused from here on, and the connections that rest on it end. It cannot be taken back.",
    run: (key) => call("revoke_token", { uid: uid.input.value, idempotency_key: key }),
    done: () => `The token ${uid.input.value} is revoked.`,
  });
}

export function suspend(context, user) {
  const until = choice("Until", [
    [String(3600), "in an hour"], [String(day), "tomorrow at this time"], [String(7 * day), "in a week"],
    [String(30 * day), "in thirty days"], ["", "it is lifted"],
  ]);
  const reason = reasonField("For operators. The user does not see it.");
  return ask(context, {
    title: `Suspend ${user}?`, action: "Suspend", fields: [until, reason],
    text: ["The user is sent away and not let in, whatever token they show. To others they look as if they were away.",
      "What they wrote stays. It can be lifted at any time."],
    run: (key) => call("user_suspend", {
      user, reason: reason.input.value || undefined, idempotency_key: key,
      expire_at: until.input.value ? inSeconds(Number(until.input.value)) : undefined,
    }),
    done: () => `${user} is suspended.`,
  });
}

export function unsuspend(context, user) {
  return ask(context, {
    title: `Let ${user} in again?`, action: "Lift the suspension", isDanger: false,
    text: "From now on the user can sign in with a token that holds.",
    run: (key) => call("user_unsuspend", { user, idempotency_key: key }),
    done: () => `${user} can sign in again.`,
  });
}

export function deleteUser(context, user) {
  const ban = choice("The id", [["", "may be used again"], ["ban", "stays revoked, as long as revocations last"]]);
  return ask(context, {
    title: `Delete everything of ${user}?`, action: "Delete for good", fields: [ban], repeat: user,
    text: [
      "All that this server keeps of the user is deleted: publications, entries of maps, what Clique and State keep.",
      "It begins when the order is on disk, goes on over restarts, and cannot be taken back."],
    run: () => call("user_delete", { user, ban: ban.input.value === "ban" || undefined }),
    done: ({ state }) => `The deletion of ${user} is ordered: ${state}.`,
  });
}

export function deletePublication(context, channel, offset) {
  return ask(context, {
    title: `Delete publication ${offset}?`, action: "Delete",
    text: [`Its content is removed from the history of ${channel}, and subscribers are told that it was deleted.`,
      "Who has seen it has seen it. It cannot be taken back."],
    run: (key) => call("delete", { channel, offset, idempotency_key: key }),
    done: () => `Publication ${offset} of ${channel} is deleted.`,
  });
}

export function removeHistory(context, channel) {
  return ask(context, {
    title: `Remove the history of ${channel}?`, action: "Remove it all", repeat: channel,
    text: ["All publications that the channel keeps are removed. Nobody can recover them, and it cannot be taken back.",
      "Offsets go on from where they are; what is published from now on is kept as before."],
    run: (key) => call("history_remove", { channel, idempotency_key: key }),
    done: () => `The history of ${channel} is removed.`,
  });
}

export function removeEntry(context, channel, key) {
  return ask(context, {
    title: `Remove the entry ${key}?`, action: "Remove",
    text: `The key is removed from ${channel}, for everybody who sees the map. It cannot be taken back.`,
    run: (idempotency) => call("map_remove", { channel, key, idempotency_key: idempotency }),
    done: () => `The entry ${key} of ${channel} is removed.`,
  });
}
