// What State has to say whichever app is open: how many exchanges wait for one on the tab, and what has just happened.

import { nameOf } from "./people.js";
import { announce, count, fill, h } from "./ui.js";

/** In which events something new is there for me, and how it is told. */
const news = {
  received: (name) => `${name} has sealed something for you.`,
  revealed: (name) => `Revealed: you and ${name} can see both.`,
  expired: (name) => `Nobody answered: the exchange with ${name} has expired.`,
  ended: (name) => `What you and ${name} have shown each other is over, and deleted.`,
  reacted: (name) => `${name} has reacted.`,
};

/** Exchanges that wait for me: to be answered, or to be looked at. */
const waits = ({ phase, unread }) => phase === "received" || (phase === "revealed" && unread);

/**
 * Watches a session's exchanges, and shows on `tab` how many wait. Gives `{ isSeen }`: while State is open it says
 * whether an event is on the screen already, which then is only read out.
 */
export function watchState(session, tab) {
  const { client, demo } = session;
  const watch = { isSeen: () => false };
  if (!demo.apps.includes("state")) return watch;
  const threads = client.state.threads();
  let drawn = 0;
  const draw = () => {
    const sum = [...threads.view.values()].filter(waits).length;
    if (sum === drawn) return;
    drawn = sum;
    fill(tab, "State", sum > 0 ? [" ", h("span", { class: "badge", "aria-hidden": true }, String(sum)),
      h("span", { class: "visually-hidden" }, `, ${count(sum, "exchange")} for you`)] : []);
  };
  for (const name of ["change", "subscribed"]) threads.on(name, draw);
  client.state.events().on("publication", ({ data }) => {
    const user = data?.with;
    if (!user) return;
    if (["received", "revealed", "reacted"].includes(data.event)) client.state.delivered(user).catch(() => {});
    const text = news[data.event]?.(nameOf(session, user));
    if (!text) return;
    if (watch.isSeen(data.event, user)) return announce(text);
    const opens = data.event === "received" || data.event === "revealed";
    const open = () => session.navigate(`#/state/${encodeURIComponent(user)}`);
    session.toast(text, opens ? { undo: open, label: "Open" } : {});
  });
  fill(tab, "State");
  return watch;
}
