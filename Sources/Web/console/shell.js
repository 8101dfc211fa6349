// The frame of the console: who is signed in, whether the numbers are live, and which page is on the screen.
//
// A page is a module with `mount(root, context)`, which gives `{ route?(parts, query), unmount() }`. `route` hears of
// the
// address, `#/channels/chat%3A42?view=tail` as ["chat:42"] and { view: "tail" }, once after mounting and at each
// change.

import { announce, button, fill, h, sentence } from "./ui.js";
import { addressOf, readAddress } from "./address.js";
import { clockTime } from "./format.js";
import { live } from "./live.js";
import { askAgain, showSignIn } from "./sign-in.js";
import { onSignedOut, session as askSession, signOut, watchHands } from "./server.js";

const element = (id) => document.getElementById(id);
const pages = {
  overview: { title: "Overview", load: () => import("./overview.js") },
  channels: { title: "Channels", load: () => import("./channels.js") },
  users: { title: "Users and clients", load: () => import("./users.js") },
  clients: { title: "Client", load: () => import("./users.js"), tab: "users" },
  limits: { title: "Limits hit", load: () => import("./limits.js") },
  webhooks: { title: "Webhooks", load: () => import("./webhooks.js") },
  links: { title: "Links and broker", load: () => import("./links.js") },
  apps: { title: "Clique and State", load: () => import("./apps.js") },
  why: { title: "Why?", load: () => import("./why.js") },
  settings: { title: "Configuration", load: () => import("./settings.js") },
};

let session = null;
let mounted = null;
let openPage = "";
/** What the page is about, such as a channel: another one is another page to whoever reads. */
let about;
let opening = 0;

// What was done, or was not

/** Says something for a while; the last three stay. `isBad` stays until it is closed. */
function toast(text, { isBad = false } = {}) {
  const place = element("toasts");
  let timer = 0;
  const end = () => {
    clearTimeout(timer);
    box.remove();
  };
  const start = () => {
    clearTimeout(timer);
    if (!isBad) timer = setTimeout(end, 6000);
  };
  const box = h("div", { class: `toast ${isBad ? "toast-bad" : ""}`, role: "group", "aria-label": "Notice", on: {
    mouseenter: () => clearTimeout(timer), mouseleave: start, focusin: () => clearTimeout(timer), focusout: start,
    keydown: (event) => {
      if (event.key === "Escape") end();
    },
  } }, h("span", { class: "grow" }, text),
  button("✕", end, { class: "button button-icon", label: "Close this notice" }));
  place.append(box);
  while (place.children.length > 3) place.firstElementChild.remove();
  announce(text, { urgent: isBad });
  start();
}

// Whether the numbers are live

const words = {
  opening: "Connecting…", open: "Live", paused: "Paused", lost: "No connection", refused: "Not live",
};
let countdown = 0;

function lostText({ error, at }) {
  const since = live.last ? ` The numbers are those of ${clockTime(live.last.at)}.` : "";
  const left = Math.ceil((at - Date.now()) / 1000);
  const next = left > 0 ? ` Trying again in ${left} s.` : " Trying again.";
  return `${error ? sentence(error) : "The server has stopped sending its numbers."}${since}${next}`;
}

function showState(state) {
  const status = element("status");
  const bar = element("connection");
  clearInterval(countdown);
  // To open takes a moment, and the colour of what was there before stays until it is known better.
  const isReopening = state.name === "opening" && !bar.hidden;
  if (!isReopening) {
    status.dataset.state = state.name;
    element("status-text").textContent = words[state.name];
  }
  status.title = state.name === "open" ? "A frame of numbers comes every second" : "Try the connection now";
  document.body.classList.toggle("is-stale", state.name === "lost" || state.name === "refused" || isReopening);
  if (state.name === "open" || state.name === "paused") {
    bar.hidden = true;
    return;
  }
  if (state.name === "opening") return;
  const wasLost = !bar.hidden;
  bar.dataset.state = "lost";
  const text = h("span", {}, state.name === "refused" ? sentence(state.error) : lostText(state));
  fill(bar, text, " ", button("Try now", () => live.retry(), { class: "button button-small" }));
  bar.hidden = false;
  if (state.name !== "lost") return;
  // The seconds are shown and not said each time.
  bar.setAttribute("aria-live", "off");
  if (!wasLost) announce(lostText(state), { urgent: true });
  countdown = setInterval(() => {
    text.textContent = lostText(state);
  }, 1000);
}

// Signing in and out

function showSession() {
  document.body.classList.remove("signed-out");
  element("status").hidden = element("leave").hidden = false;
  const hasAPI = session.can?.includes("api") ?? true;
  // Without a broker in the process there is nothing to ask it: its numbers and its configuration are there.
  for (const link of element("nav").querySelectorAll("[data-api]")) link.hidden = !hasAPI;
  fill(element("node"), session.node, session.version ? [h("br", {}), session.version] : null);
}

function begin(given) {
  session = given;
  showSession();
  live.start();
  showRoute();
}

async function enter() {
  const main = element("main");
  try {
    const given = await askSession();
    if (given) return begin(given);
  } catch (error) {
    fill(main, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "The console did not open"),
      h("p", {}, sentence(error)), h("div", {}, button("Try again", enter, { kind: "primary" }))));
    return;
  }
  document.body.classList.add("signed-out");
  document.title = "Sign in – Fanfare console";
  await showSignIn(main);
  enter();
}

async function leave() {
  try {
    await signOut();
  } catch (error) {
    return toast(`You are still signed in: ${sentence(error)}`, { isBad: true });
  }
  closePage();
  live.stop();
  session = null;
  element("status").hidden = element("leave").hidden = true;
  element("connection").hidden = true;
  element("node").textContent = "";
  element("toasts").replaceChildren();
  enter();
}

// Which page is open

function closePage() {
  opening += 1;
  try {
    mounted?.unmount();
  } catch (error) {
    reportError(error);
  }
  mounted = null;
  openPage = "";
}

function routeOf(hash) {
  const { path, query } = readAddress(hash);
  const page = Object.hasOwn(pages, path[0]) ? path[0] : "overview";
  return { page, parts: path.slice(1), query };
}

function showTab(page) {
  const wanted = pages[page].tab ?? page;
  for (const link of element("nav").querySelectorAll("a")) {
    if (link.dataset.page === wanted) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  element("menu-text").textContent = pages[wanted].title;
  toggleMenu(false);
}

function toggleMenu(isOpen) {
  element("menu").setAttribute("aria-expanded", String(isOpen));
  document.body.classList.toggle("menu-open", isOpen);
}

const context = {
  toast,
  get session() {
    return session;
  },
  /** Whether the console may call this method: what it may not is not offered. A server that does not say lets all. */
  may(method) {
    return session?.methods?.includes(method) ?? true;
  },
  go(parts, query) {
    location.hash = addressOf(parts, query);
  },
  /** Keeps the address in step with what is looked at, without a step in the browser's history. */
  replace(parts, query) {
    history.replaceState(null, "", addressOf(parts, query));
  },
  title(text) {
    document.title = `${text} – Fanfare console`;
  },
};

async function showRoute() {
  if (!session) return;
  const { page, parts, query } = routeOf(location.hash);
  showTab(page);
  const wasAbout = about;
  about = parts[0];
  if (page === openPage) {
    mounted?.route?.(parts, query);
    return about === wasAbout ? undefined : arrive(about ?? pages[page].title);
  }
  const isFirst = openPage === "";
  closePage();
  openPage = page;
  const mine = opening;
  const main = element("main");
  context.title(pages[page].title);
  try {
    const module = await pages[page].load();
    if (mine !== opening) return;
    const root = h("div", { class: `page page-${page}` });
    fill(main, root);
    main.scrollTop = 0;
    mounted = module.mount(root, context, page);
    const now = routeOf(location.hash);
    mounted.route?.(now.parts, now.query);
  } catch (error) {
    if (mine !== opening) return;
    openPage = "";
    reportError(error);
    fill(main, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "This page did not open"),
      h("p", {}, sentence(error)), h("div", {}, button("Try again", showRoute, { kind: "primary" }))));
    return;
  }
  if (!isFirst) arrive(about ?? pages[page].title);
}

/** Begins at the top of what was opened, for the keyboard and for whoever listens. */
function arrive(name) {
  element("main").focus({ preventScroll: true });
  scrollTo(0, 0);
  announce(name);
}

function start() {
  // Everything that met the end of the session waits for this, and goes on by itself.
  onSignedOut(async () => {
    await askAgain();
    session = await askSession().catch(() => null) ?? session;
    showSession();
  });
  live.watchState(showState);
  watchHands(() => session !== null);
  addEventListener("hashchange", showRoute);
  element("skip").addEventListener("click", (event) => {
    // The address belongs to the pages.
    event.preventDefault();
    element("main").focus();
  });
  element("menu").addEventListener("click", () => toggleMenu(!document.body.classList.contains("menu-open")));
  element("nav").addEventListener("click", () => toggleMenu(false));
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !document.body.classList.contains("menu-open")) return;
    toggleMenu(false);
    element("menu").focus();
  });
  element("status").addEventListener("click", () => live.retry());
  element("leave").addEventListener("click", leave);
  enter();
}

start();
