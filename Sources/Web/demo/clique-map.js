// A campus on which one walks into places by clicking: what a phone would say when it enters and leaves a geofence.

import { announce, avatar, bag, h, sentence, svg, uniqueId } from "./ui.js";

/** The places, by the names that the server is told. */
export const places = [
  { id: "library", name: "Library", sign: "📚" },
  { id: "cafe", name: "Café", sign: "☕" },
  { id: "park", name: "Park", sign: "🌳" },
  { id: "mensa", name: "Canteen", sign: "🍽️" },
  { id: "hall", name: "Lecture hall", sign: "🎓" },
  { id: "gym", name: "Gym", sign: "🏀" },
];

export function placeName(id) {
  return places.find((place) => place.id === id)?.name ?? id;
}

const stayAgainAfter = 3_600_000;
const keptPlace = (user) => `fanfare.demo.place.${user}`;

/** Draws the campus. `update(crossings)` shows who is where; `end()` leaves the person where they are. */
export function makeCampus(session, { onMove }) {
  const { client, user, store } = session;
  const held = bag();
  let current = sessionStorage.getItem(keptPlace(user)) ?? "";
  let steps = Promise.resolve();
  const spots = new Map(places.map((place) => [place.id, makeSpot(place, () => go(place.id))]));
  const help = h("p", { class: "soft small", id: uniqueId("campus") });
  const leave = h("button", { type: "button", class: "button button-small", on: { click: () => go("") } }, "Go away");
  const element = h("div", { class: "campus-box" },
    h("div", { class: "campus", role: "group", "aria-label": "Campus map: choose where you are",
      "aria-describedby": help.id }, paths(), [...spots.values()].map((spot) => spot.element)),
    h("div", { class: "row row-between" }, help, leave));

  const show = () => {
    for (const [id, spot] of spots) spot.here(id === current, user, store.nameOf(user));
    help.textContent = current
      ? `You are at: ${placeName(current)}. Whoever comes there now has crossed your path.`
      : "Walk into a place; walk another window into the same one, and you have met.";
    leave.hidden = !current;
  };

  /** One step after another: whoever clicks twice is at last where they clicked last. */
  const go = (id) => {
    const target = id === current && id ? "" : id;
    const before = current;
    current = target;
    show();
    steps = steps.then(() => step(before, target));
  };

  const step = async (before, target) => {
    try {
      if (before) await client.clique.leave(before);
      if (target) {
        const { visible } = await client.clique.enter(target);
        announce(visible ? `You are at: ${placeName(target)}` : "You are invisible, so nobody sees where you are.");
      }
      if (target) sessionStorage.setItem(keptPlace(user), target); else sessionStorage.removeItem(keptPlace(user));
      onMove(target);
    } catch (error) {
      if (current === target) current = "";
      sessionStorage.removeItem(keptPlace(user));
      show();
      session.toast(`You did not get there: ${sentence(error)}`);
    }
  };

  /** A visit ends after three hours, and saying again that one is there costs nothing. */
  const stay = () => {
    if (current) client.clique.enter(current).catch(() => {});
  };
  held.keep(client.on("connected", stay));
  held.every(stayAgainAfter, stay);
  if (client.connectionState === "connected") stay();
  show();

  return {
    element,
    enterAgain: stay,
    update(crossings) {
      const there = new Map(places.map((place) => [place.id, []]));
      for (const crossing of crossings) {
        if (crossing.together) there.get(crossing.latest?.[0]?.place)?.push(crossing.user);
      }
      for (const [id, spot] of spots) spot.others(there.get(id), store);
      show();
    },
    end: () => held.end(),
  };
}

function makeSpot({ id, name, sign }, click) {
  const faces = h("span", { class: "spot-faces", "aria-hidden": true });
  const said = h("span", { class: "visually-hidden" });
  const element = h("button", { type: "button", class: `spot spot-${id}`, "aria-pressed": "false", on: { click } },
    h("span", { class: "spot-sign", "aria-hidden": true }, sign), h("span", { class: "spot-name" }, name), said, faces);
  let mine = null;
  let shown = "";
  return {
    element,
    here(isHere, user, ownName) {
      element.setAttribute("aria-pressed", String(isHere));
      if (isHere && !mine) {
        mine = h("span", { class: "spot-me" }, avatar(user, ownName, "small"));
        faces.prepend(mine);
      } else if (!isHere && mine) {
        mine.remove();
        mine = null;
      }
    },
    others(users, store) {
      const text = users.join("/");
      said.textContent = users.length ? `, with ${users.map(store.nameOf).join(", ")}` : "";
      if (text === shown) return;
      shown = text;
      faces.replaceChildren(...(mine ? [mine] : []), ...users.slice(0, 4).map((user) => {
        const face = avatar(user, store.nameOf(user), "small");
        store.showPicture(face, user);
        return face;
      }), ...(users.length > 4 ? [h("span", { class: "small strong" }, `+${users.length - 4}`)] : []));
    },
  };
}

function paths() {
  return svg("svg", { class: "campus-paths", viewBox: "0 0 600 340", preserveAspectRatio: "none", "aria-hidden": true },
    svg("path", { class: "lawn", d: "M0 0H600V340H0Z" }),
    svg("path", { class: "water", d: "M470 0C430 60 520 120 600 110V0Z" }),
    svg("path", { class: "lane", d: "M100 85C180 60 240 120 300 85S430 120 500 85" }),
    svg("path", { class: "lane", d: "M100 85C70 160 120 200 100 255S220 280 300 255S420 230 500 255" }),
    svg("path", { class: "lane", d: "M300 85C270 150 330 190 300 255M500 85C540 160 470 190 500 255" }));
}
