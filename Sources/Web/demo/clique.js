// Clique: people who crossed one's path, and messages with them.
//
//   Address                          Screen
//   #/clique                         people one crossed, and the campus
//   #/clique/messages                the list, and the conversation that was open last
//   #/clique/chat/CONVERSATION/12    a conversation, at a message
//   #/clique/to/USER                 the conversation with somebody, or what becomes the first message
//   #/clique/person/USER             a profile; one's own can be changed
//   #/clique/join/LINK               joins a group by a link
//   #/clique/settings                blocked people and reports

import { bag, fill, h, newsText } from "./ui.js";
import { makeActions } from "./clique-actions.js";
import { makeChat } from "./clique-chat.js";
import { makeHome } from "./clique-home.js";
import { makeList } from "./clique-list.js";
import { joinByLink } from "./clique-group.js";
import { makeSettings } from "./clique-privacy.js";
import { makeProfile } from "./clique-profile.js";

/** Opens Clique in `root`; see shell.js for what `session` is. */
export function mount(root, session) {
  const held = bag();
  const context = { ...session, session, actions: makeActions(session) };
  const { store } = session;
  const badge = h("span", { class: "badge", "aria-hidden": true });
  const said = h("span", { class: "visually-hidden" });
  const links = {
    home: h("a", { href: "#/clique" }, "People"),
    messages: h("a", { href: "#/clique/messages" }, "Messages", badge, said),
    profile: h("a", { href: `#/clique/person/${encodeURIComponent(session.user)}` }, "My profile"),
    settings: h("a", { href: "#/clique/settings" }, "Privacy"),
  };
  const pane = h("div", { class: "clique-pane" });
  root.append(h("nav", { class: "tabs clique-tabs", "aria-label": "Clique" }, Object.values(links)), pane);

  const showBadge = () => {
    const { messages = 0, requests = 0 } = store.totals();
    badge.textContent = messages + requests > 0 ? String(messages + requests) : "";
    said.textContent = messages + requests > 0 ? `, ${newsText(messages, requests)}` : "";
  };
  held.keep(store.onChange(showBadge));
  showBadge();

  let screen = null;
  let shown = "";
  const open = (name, make) => {
    if (shown === name) return;
    screen?.end();
    screen = null;
    shown = name;
    pane.replaceChildren();
    screen = make();
    pane.append(screen.element);
  };

  const route = ([kind = "", id = "", detail = ""]) => {
    const tab = kind === "person" && id === session.user ? "profile"
      : { "": "home", person: "home", settings: "settings" }[kind] ?? "messages";
    for (const [name, link] of Object.entries(links)) {
      if (name === tab) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    if (kind === "person" && id) return open(`person/${id}`, () => makeProfile(context, id));
    if (kind === "join" && id) joinByLink(context, id);
    if (kind === "settings") return open("settings", () => makeSettings(context));
    if (["messages", "chat", "to", "join"].includes(kind)) {
      open("messages", () => makeMessages(context));
      return screen.show(kind, id, detail);
    }
    open("home", () => makeHome(context));
  };

  return {
    route,
    unmount() {
      screen?.end();
      held.end();
    },
  };
}

/** The list and a conversation beside it; on a phone one of the two. */
function makeMessages(context) {
  const { store, navigate } = context;
  const list = makeList(context);
  const place = h("section", { class: "chat-place", "aria-label": "Conversation" });
  const element = h("div", { class: "messages", dataset: { view: "list" } }, list.element, place);
  let chat = null;
  let shown = null;
  const held = bag();

  const close = () => {
    chat?.end();
    chat = null;
    shown = null;
  };

  const showNothing = () => {
    close();
    element.dataset.view = "list";
    list.select("");
    fill(place, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "No conversation is open"),
      h("p", {}, "Choose one on the left, or find somebody under People.")));
  };

  const openWith = (conversation, person, offset) => {
    element.dataset.view = "chat";
    list.select(conversation);
    if (shown && chat && (conversation ? shown === conversation : shown === `to/${person}`)) {
      if (offset > 0) chat.goTo(offset);
      return;
    }
    close();
    shown = conversation || `to/${person}`;
    chat = makeChat(context, {
      conversation, person, offset,
      leave: () => {
        navigate("#/clique/messages");
      },
    });
    fill(place, chat.element);
    chat.start();
  };

  // A first message makes a conversation of what was only a name.
  held.keep(store.onChange(() => {
    if (!shown?.startsWith("to/")) return;
    const entry = store.entryWith(shown.slice(3));
    if (entry) navigate(`#/clique/chat/${encodeURIComponent(entry.conversation)}`);
  }));

  return {
    element,
    show(kind, id, detail) {
      if (kind === "chat" && id) return openWith(id, "", Number(detail) || 0);
      if (kind === "to" && id) {
        const entry = store.entryWith(id);
        return openWith(entry?.conversation ?? "", id, 0);
      }
      showNothing();
    },
    end() {
      close();
      list.end();
      held.end();
    },
  };
}
