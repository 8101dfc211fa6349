// The server's time. It is this device's, as far as nobody has said otherwise: a command that is answered with the time
// tells it, a publication tells that it is no earlier, and on test servers (`demo.clock`) somebody moves it forward.

import { button, fullTime, h, rested, sentence, serverNow, setServerNow } from "./ui.js";

const minute = 60_000;
const hour = 60 * minute;
const steps = [["1 minute", minute], ["1 hour", hour], ["23 hours", 23 * hour], ["1 day", 24 * hour]];
const address = new URL("clock", import.meta.url);

/** Asks what time it is on the server, and keeps to it from then on. Where it cannot be asked, nothing changes. */
export async function learnServerTime() {
  try {
    const answer = await fetch(address, { cache: "no-store" });
    if (answer.ok) setServerNow((await answer.json()).now);
  } catch {
    // The page says already that there is no connection.
  }
}

/** Begins with what the configuration says of the clock, and asks again whenever somebody comes back to this window. */
export function watchServerTime({ clock, offset }) {
  if (!clock) return;
  setServerNow(Date.now() + (offset ?? 0));
  addEventListener("focus", learnServerTime);
}

/** What an app knows of the time. `changed()` is called when it has changed by more than time does. */
export class ServerClock {
  constructor(session, changed) {
    this.session = session;
    this.changed = changed;
    this.canMove = Boolean(session.demo?.clock);
    const learn = rested(() => learnServerTime().then(changed), 300);
    /** Something has happened for which the clock may have been moved, in another window perhaps. */
    this.ask = () => {
      if (this.canMove) learn();
    };
    this.end = () => learn.cancel();
  }

  now() { return serverNow(); }

  /** The server has just said what time it is. */
  told(now) {
    if (now > 0) setServerNow(now);
  }

  /** Something was published at this time. What is read of the past says nothing of now. */
  heard(time) {
    if (time > serverNow()) setServerNow(time);
  }

  async #move(milliseconds, shown) {
    try {
      const answer = await this.session.ask(address, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ advance: milliseconds }),
      });
      const body = await answer.json().catch(() => ({}));
      if (!answer.ok) throw new Error(body.message ?? `the server answered with status ${answer.status}; try again`);
      this.told(body.now);
      shown.textContent = `The server's clock: ${fullTime(this.now())}.`;
      this.changed();
    } catch (error) {
      shown.textContent = sentence(error);
    }
  }

  /** Test servers only: makes time pass, for all people of the server. Nothing elsewhere. */
  controls() {
    if (!this.canMove) return null;
    const shown = h("p", { role: "status" });
    return h("section", { class: "state-clock card", "aria-label": "Clock of the server" },
      h("h2", {}, "See a day pass"),
      h("p", {}, "This is a test server: its clock can be moved forward, for everybody at once."),
      h("div", { class: "row" },
        steps.map(([text, time]) => button(`+ ${text}`, () => this.#move(time, shown)))), shown);
  }
}
