// The frame of the demo: who somebody is, whether there is a connection, and which app is on the screen.
//
//   What the person sees     when                                         leads to
//   sign-in                  nobody is signed in in this window           connecting
//   connecting               signed in, the first connection is made      connected, refused
//   connected                                                             lost, signed out
//   lost                     a connection was there; it is tried again    connected, refused
//   refused                  the server has ended it for good             connecting (by the button), signed out
//
// An app is `./NAME.js` with `mount(root, session)`, which gives `{ unmount(), route?(parts) }`: `route` hears of
// changes of the address within the app, `#/clique/chat/p3f` as ["chat", "p3f"]. Its style is `./NAME.css`, if any.

import * as fanfare from "../fanfare.js";
import { announce, avatar, button, count, field, fill, h, newsText, sentence } from "./ui.js";
import { storeOf } from "./clique-store.js";
import { watchServerTime } from "./server-clock.js";
import { watchState } from "./state-news.js";

const here = (path) => new URL(path, import.meta.url);
const element = (id) => document.getElementById(id);
const kept = "fanfare.demo.session";
const titles = {
  clique: "Clique", state: "State", sites: "Six to Eight", favorites: "Favorites", journal: "Idealic",
  busy: "Busy channel",
};
const suggestions = ["Ada", "Ben", "Cleo", "Dan", "Eve"];

let session = null;
let demo = { server: "", clock: false, apps: Object.keys(titles) };
let mounted = null;
let openApp = "";
let opening = 0;

// Signing in

function keep(answer) {
  const { user, name, token } = answer;
  const value = { user, name, token, ends: Date.now() + answer.expires_in * 1000 };
  sessionStorage.setItem(kept, JSON.stringify(value));
  return value;
}

function keptSession() {
  try {
    return JSON.parse(sessionStorage.getItem(kept) ?? "null");
  } catch {
    return null;
  }
}

/** A token for this name. Throws `TokenRefused` where there will be none, any other error where it may come later. */
async function askForToken(name) {
  const answer = await fetch(here("sign-in"), {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name }),
  });
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return keep(body);
  const message = body.message || `The server answered with status ${answer.status}; try again in a moment.`;
  const isFinal = answer.status >= 400 && answer.status < 500 && answer.status !== 429 && answer.status !== 408;
  throw isFinal ? new fanfare.TokenRefused(message) : new Error(message);
}

function showSignIn() {
  document.title = "Fanfare demo";
  const name = field("Your name", {
    name: "name", maxlength: 40, autocomplete: "off", autocapitalize: "words", required: true, spellcheck: "false",
  }, "As others see it.");
  const problem = h("p", { class: "field-error", role: "alert" });
  const go = h("button", { type: "submit", class: "button button-primary" }, "Start");
  const start = async (text) => {
    if (!text.trim()) {
      problem.textContent = "Write a name, or choose one of those below.";
      return name.input.focus();
    }
    go.disabled = true;
    problem.textContent = "";
    try {
      begin(await askForToken(text.trim()));
    } catch (error) {
      const offline = error instanceof TypeError;
      problem.textContent = offline ? "The server cannot be reached. Is it running? Try again." : sentence(error);
      go.disabled = false;
    }
  };
  const form = h("form", { class: "card stack", novalidate: true, on: {
    submit: (event) => {
      event.preventDefault();
      start(name.input.value);
    },
  } },
  h("h1", {}, "Who are you?"),
  h("p", { class: "soft" }, "Open this page in two windows and be somebody else in each: then write to yourself."),
  name.element, problem, go,
  h("div", { class: "names", role: "group", "aria-label": "Names to choose from" },
    suggestions.map((one) => button([avatar(one.toLowerCase(), one, "small"), one], () => start(one)))),
  h("p", { class: "note note-warn" },
    "This is a demo: there are no passwords, and anybody can be anybody. Write nothing here that is a secret."));
  fill(element("main"), h("div", { class: "welcome" }, form));
  name.input.focus();
}

function signOut() {
  sessionStorage.removeItem(kept);
  closeApp();
  session?.client.disconnect();
  session = null;
  element("tabs").hidden = element("me").hidden = true;
  element("connection").hidden = true;
  element("toasts").replaceChildren();
  showSignIn();
}

function begin(who) {
  let isFresh = who.ends - Date.now() > 60_000;
  const client = new fanfare.Fanfare(here("../connection/websocket"), {
    user: who.user, name: "demo",
    getToken: async () => {
      if (isFresh) {
        isFresh = false;
        return who.token;
      }
      return (await askForToken(who.name)).token;
    },
  });
  const waiting = new Set();
  session = {
    user: who.user, name: who.name, client, fanfare, demo, toast,
    navigate: (hash) => {
      location.hash = hash;
    },
    /** Asks the server in this person's name, as `fetch` does. */
    ask: async (address, init = {}) => {
      const request = (token) =>
        fetch(address, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } });
      let current = keptSession();
      if (!current?.token || current.ends - Date.now() < 60_000) current = await askForToken(who.name);
      const answer = await request(current.token);
      // The token may be of a server that has begun anew since.
      return answer.status === 401 ? request((await askForToken(who.name)).token) : answer;
    },
    /** Says that something waits to be sent; call what it gives when it was sent, or has failed. */
    waits: () => {
      const one = {};
      waiting.add(one);
      showConnection();
      return () => {
        waiting.delete(one);
        showConnection();
      };
    },
    get waiting() {
      return waiting.size;
    },
  };
  watchConnection(client);
  client.connect();
  session.store = storeOf(session);
  session.store.onChange(showBadges);
  session.news = watchState(session, element("tabs").querySelector('[data-app="state"]'));
  showMe();
  element("tabs").hidden = false;
  showRoute();
  nameProfile(session).catch((error) => toast(`Your name could not be shown to others: ${sentence(error)}`));
}

/** Somebody's first window makes the name that was typed their profile's; later it is theirs to change. */
async function nameProfile({ client, name }) {
  const profile = client.clique.profile();
  await profile.ready();
  if (!profile.view.get("profile")?.name) await client.clique.setProfile({ name });
}

function showMe() {
  const { store, user } = session;
  const picture = avatar(user, session.name, "small");
  const name = h("span", { class: "one-line strong" }, session.name);
  const profile = h("a", { class: "button button-small", href: `#/clique/person/${encodeURIComponent(user)}` },
    picture, h("span", { class: "visually-hidden" }, "Your profile: "), name);
  const show = () => {
    name.textContent = store.nameOf(user);
    picture.rename(name.textContent);
    store.showPicture(picture, user);
  };
  store.onChange(show);
  show();
  fill(element("me"), profile,
    button("Sign out", leave, { class: "button button-small button-quiet" }));
  element("me").hidden = false;
}

function leave() {
  if (session.waiting > 0) {
    return toast(`${count(session.waiting, "message")} not sent yet. Wait for the connection, or close the window.`);
  }
  signOut();
}

// The connection

let hasConnected = false;
let wasLost = false;
let hideTimer = 0;
let ended = null;

function watchConnection(client) {
  hasConnected = wasLost = false;
  ended = null;
  client.on("connecting", () => {
    ended = null;
    wasLost = hasConnected;
    // A connection that comes within a moment is nothing to tell of.
    setTimeout(showConnection, 1200);
  });
  client.on("connected", () => {
    hasConnected = true;
    showConnection();
  });
  client.on("disconnected", (event) => {
    if (session?.client !== client) return;
    ended = event;
    showConnection();
  });
}

/** Signs the same person in again: the token may be what the server does not like. */
async function restart() {
  const { client, name } = session;
  try {
    const who = await askForToken(name);
    if (session?.client !== client) return;
    closeApp();
    client.disconnect();
    begin(who);
  } catch (error) {
    showConnection();
    toast(sentence(error));
  }
}

function connectionText(waiting) {
  const many = waiting === 1 ? "waits in this window and goes" : "wait in this window and go";
  const what = waiting > 0
    ? `${count(waiting, "message")} of yours ${many} out when it is back. Nothing is lost.`
    : "What you write waits in this window and goes out when it is back.";
  return wasLost ? `No connection. ${what}` : `Connecting… ${waiting > 0 ? what : ""}`;
}

function showConnection() {
  const bar = element("connection");
  if (!session) return;
  const { connectionState } = session.client;
  if (connectionState === "connected") {
    if (bar.hidden || bar.dataset.state === "back") return;
    bar.dataset.state = "back";
    bar.textContent = session.waiting > 0 ? "Connected again. What waited is being sent." : "Connected again.";
    clearTimeout(hideTimer);
    hideTimer = setTimeout(() => {
      bar.hidden = true;
      bar.dataset.state = "";
    }, 3000);
    return;
  }
  clearTimeout(hideTimer);
  if (ended) {
    bar.dataset.state = "lost";
    const text = ended.reason ? sentence({ message: ended.reason }) : "The server has ended the connection";
    fill(bar, `${text.replace(/\.$/u, "")}. `, button("Connect again", restart, { class: "button button-small" }));
  } else {
    bar.dataset.state = wasLost ? "lost" : "connecting";
    const text = connectionText(session.waiting);
    if (bar.textContent !== text) bar.textContent = text;
  }
  bar.hidden = false;
}

// Toasts

/** Says something for a while. `undo` is called where the person takes it back; the last three stay. */
function toast(text, { undo, label = "Undo", time = undo ? 9000 : 5000 } = {}) {
  const place = element("toasts");
  let timer = 0;
  const end = () => {
    clearTimeout(timer);
    box.remove();
  };
  const start = () => {
    clearTimeout(timer);
    timer = setTimeout(end, time);
  };
  const box = h("div", { class: "toast", role: "group", "aria-label": "Notice", on: {
    mouseenter: () => clearTimeout(timer), mouseleave: start, focusin: () => clearTimeout(timer), focusout: start,
    keydown: (event) => {
      if (event.key === "Escape") end();
    },
  } },
  h("span", { class: "grow" }, text),
  undo ? button(label, () => {
    end();
    undo();
  }, { class: "button button-small" }) : null,
  button("✕", end, { class: "button button-icon", label: "Close this notice" }));
  place.append(box);
  while (place.children.length > 3) place.firstElementChild.remove();
  announce(undo ? `${text} ${label} is at the end of the page.` : text);
  start();
  return end;
}

// Which app is open

function closeApp() {
  opening += 1;
  try {
    mounted?.unmount();
  } catch (error) {
    reportError(error);
  }
  mounted = null;
  openApp = "";
}

function routeOf(hash) {
  const parts = hash.replace(/^#\/?/u, "").split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const app = demo.apps.includes(parts[0]) ? parts[0] : demo.apps[0];
  return { app, parts: parts.slice(1) };
}

/** Settles when the style is there, or is not to be had: an app without one still works. */
function loadStyle(app) {
  if (document.querySelector(`link[data-app="${app}"]`)) return Promise.resolve();
  return new Promise((resolve) => {
    const link = h("link", { rel: "stylesheet", href: here(`${app}.css`).href, dataset: { app }, on: {
      load: resolve, error: resolve,
    } });
    document.head.append(link);
  });
}

async function showRoute() {
  if (!session) return;
  const { app, parts } = routeOf(location.hash);
  for (const link of element("tabs").querySelectorAll("a")) {
    link.hidden = !demo.apps.includes(link.dataset.app);
    if (link.dataset.app === app) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else {
      link.removeAttribute("aria-current");
    }
  }
  if (app === openApp) return mounted?.route?.(parts);
  const isFirst = openApp === "";
  closeApp();
  openApp = app;
  const mine = opening;
  const main = element("main");
  fill(main, h("p", { class: "empty" }, `Opening ${titles[app] ?? app}…`));
  try {
    const [module] = await Promise.all([import(`./${app}.js`), loadStyle(app)]);
    if (mine !== opening) return;
    const root = h("div", { class: `app app-${app}` });
    fill(main, root);
    mounted = module.mount(root, session);
    // The address may have gone on while the app was loading.
    mounted.route?.(routeOf(location.hash).parts);
  } catch (error) {
    if (mine !== opening) return;
    openApp = "";
    reportError(error);
    fill(main, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "This app did not open"),
      h("p", {}, sentence(error)), h("div", {}, button("Try again", showRoute, { kind: "primary" }))));
    return;
  }
  showBadges();
  if (!isFirst) {
    main.focus({ preventScroll: true });
    announce(titles[app] ?? app);
  }
}

function showBadges() {
  if (!session) return;
  const { messages = 0, requests = 0 } = session.store.totals();
  const sum = messages + requests;
  const tab = element("tabs").querySelector('[data-app="clique"]');
  const text = sum > 99 ? "99+" : String(sum);
  const said = sum > 0 ? [" ", h("span", { class: "badge", "aria-hidden": true }, text),
    h("span", { class: "visually-hidden" }, `, ${newsText(messages, requests)}`)] : [];
  if (tab.dataset.sum !== `${messages}/${requests}`) {
    tab.dataset.sum = `${messages}/${requests}`;
    fill(tab, "Clique", said);
  }
  document.title = `${sum > 0 ? `(${text}) ` : ""}${titles[openApp] ?? "Fanfare"} – Fanfare demo`;
}

async function start() {
  addEventListener("hashchange", showRoute);
  element("skip").addEventListener("click", (event) => {
    // The address belongs to the apps.
    event.preventDefault();
    element("main").focus();
  });
  addEventListener("beforeunload", (event) => {
    if (session && session.waiting > 0) event.preventDefault();
  });
  try {
    const answer = await fetch(here("config"));
    if (answer.ok) demo = { ...demo, ...await answer.json() };
    watchServerTime(demo);
  } catch {
    // Signing in says what is wrong, where the server cannot be reached.
  }
  const who = keptSession();
  if (who?.user && who.token) begin(who); else showSignIn();
}

start();
