// Why did it not reach them, and may they do it: `fanfare why` and `fanfare explain`.

import { field, fill, h } from "./ui.js";
import { addressOf } from "./address.js";
import { fullMoment } from "./format.js";
import { chip, choice, factList, heading, note, problemBox, views } from "./parts.js";
import { call } from "./server.js";

const good = new Set(["delivered"]);
const open = new Set(["perhaps", "under_way", "unknown"]);

function textField(label, attributes, help) {
  return field(label, { class: "input mono", autocomplete: "off", spellcheck: "false", autocapitalize: "off",
    ...attributes }, help);
}

/** A time of the answer as one reads it here; the sentences have it in UTC. */
function moment(text) {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? text : fullMoment(time);
}

function kindOf(verdict) {
  return good.has(verdict) ? "good" : open.has(verdict) ? "warn" : "bad";
}

function subscriptionCard(one) {
  const facts = factList();
  facts.show({
    Began: moment(one.began), Ended: moment(one.ended), From: one.from, "Written up to": one.written,
    "Asked to go on from": one.asked_since, Filter: one.filter, Audience: one.audience, Cause: one.cause,
    Code: one.code,
  });
  const sentence = `${one.sentence.charAt(0).toLocaleUpperCase()}${one.sentence.slice(1)}`;
  return h("li", { class: "card stack-tight" },
    h("div", { class: "row" },
      h("a", { class: "mono", href: addressOf(["clients", one.client]) }, one.client.slice(0, 8)),
      chip(one.finding.replaceAll("_", " "))),
    h("p", {}, `${sentence}${sentence.endsWith(".") ? "" : "."}`), facts.element);
}

/** The answer of `why`, in words first. */
function whyAnswer(answer) {
  const facts = factList();
  facts.show({ Verdict: answer.verdict.replaceAll("_", " "), Published: moment(answer.published), Epoch: answer.epoch,
    Sealed: answer.sealed?.replaceAll("_", " ") });
  return h("section", { class: "stack" },
    h("p", { class: `note note-${kindOf(answer.verdict)} verdict` }, answer.sentence), facts.element,
    (answer.notes ?? []).map((text) => note(text, "warn")),
    answer.subscriptions.length > 0 ? h("h2", {}, "Their subscriptions") : null,
    h("ul", { class: "stack" }, answer.subscriptions.map(subscriptionCard)));
}

/** What one decision says: allowed or not, why, and which setting rules it. */
function decision(one, title) {
  const settingPlace = !one.set_at ? "" : one.set_at === "default" ? "as built in" : `set at ${one.set_at}`;
  return h("li", { class: "card stack-tight" },
    h("div", { class: "row" }, chip(one.allowed ? "yes" : "no", one.allowed ? "good" : "bad"),
      h("span", { class: "strong" }, title)),
    one.reason ? h("p", {}, one.reason, ".") : null,
    one.setting ? h("p", { class: "small" },
      h("a", { class: "mono", href: addressOf(["settings"], { find: one.setting.split(".").at(-1) }) }, one.setting),
      settingPlace ? h("span", { class: "soft" }, `, ${settingPlace}`) : null) : null,
    one.token ? h("p", { class: "small soft" }, `What a token does here: ${one.token}.`) : null);
}

function mayAnswer({ broker, gateways }) {
  const app = broker.app ?? {};
  return h("section", { class: "stack" },
    broker.suspended ? note("The user is suspended: they are not let in at all.", "bad") : null,
    app.refused ? note(String(app.reason ?? app.refused), "bad") : null,
    broker.revocations?.length > 0 ? note("Tokens of this user are revoked; see the user's page.", "warn") : null,
    gateways.map(({ uid, found }) => h("div", { class: "stack-tight" }, h("h2", {}, `On ${found.name || uid}`),
      h("ul", { class: "stack" },
        decision(found, "A client of theirs that is not subscribed"),
        found.once_subscribed ? decision(found.once_subscribed, "Once it is subscribed") : null,
        (found.connections ?? []).map((one) => decision(one,
          `${one.count} of their connections now, ${one.subscribed ? "subscribed" : "not subscribed"}`))))));
}

/** A form that keeps what it asks in the address, so that the answer has one. */
function asker(context, { id, fields, action, method, body, show }) {
  const problem = problemBox(() => run());
  const place = h("div", {});
  const state = h("p", { class: "soft small", role: "status" });
  let turn = 0;
  const values = () => Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.input.value]));
  const missing = () => Object.values(fields).find((one) => one.input.required && one.input.value === "");
  async function run() {
    turn += 1;
    const mine = turn;
    problem.show(null);
    place.replaceChildren();
    if (missing()) return;
    state.textContent = "Asking…";
    try {
      const answer = await call(method, body(values()));
      if (mine !== turn) return;
      fill(place, show(answer));
    } catch (error) {
      if (mine === turn) problem.show(error);
    } finally {
      if (mine === turn) state.textContent = "";
    }
  }
  const element = h("div", { class: "stack" }, h("form", { class: "form", novalidate: true, on: {
    submit: (event) => {
      event.preventDefault();
      const first = missing();
      if (first) return first.input.focus();
      context.replace(["why"], { ask: id === "why" ? "" : id, ...values() });
      run();
    },
  } }, Object.values(fields).map((one) => one.element), h("button", { type: "submit", class: "button button-primary" },
    action)),
  state, problem.element, place);
  return {
    element,
    route(query) {
      const before = JSON.stringify(values());
      for (const [name, one] of Object.entries(fields)) if (query[name] !== undefined) one.input.value = query[name];
      if (before !== JSON.stringify(values())) run();
    },
  };
}

function askers(context) {
  const user = () => textField("User", { placeholder: "ada", required: true });
  const channel = () => textField("Channel", { placeholder: "chat:7", required: true });
  return {
    why: asker(context, {
      id: "why", action: "Why?", method: "why", show: whyAnswer,
      fields: { user: user(), channel: channel(), offset: textField("Offset", { inputmode: "numeric",
        placeholder: "4711", required: true }),
        epoch: textField("Epoch", { placeholder: "the present one" }) },
      body: (given) => ({ user: given.user, channel: given.channel, offset: Number(given.offset),
        ...(given.epoch ? { epoch: given.epoch } : {}) }),
    }),
    may: asker(context, {
      id: "may", action: "May they?", method: "explain", show: mayAnswer,
      fields: { user: user(), action: choice("To", [
        ["subscribe", "subscribe"], ["publish", "publish"], ["history", "see the history"], ["presence",
          "see who is there"]]),
      channel: channel() },
      body: (given) => given,
    }),
  };
}

export function mount(root, context) {
  const all = askers(context);
  const tabs = views("Questions", [{ id: "why", name: "Why did it not reach them?" }, { id: "may",
    name: "May they do it?" }]);
  const place = h("div", {});
  const lead = h("p", { class: "lead" });
  const leads = {
    why: "Whether a publication was delivered to a user, to which connection and when, or why not. Its offset stands "
      + "in the history of the channel, and with each publication of its live tail; SDKs give it to the app, too.",
    may: "Whether somebody may do something with a channel, and which setting says so. Every gateway decides as it "
      + "does for a client.",
  };
  root.append(heading("Why?"), tabs.element, lead, place);
  return {
    route(parts, query) {
      const id = query.ask === "may" ? "may" : "why";
      tabs.show(id, (other) => addressOf(["why"], { ask: other === "why" ? "" : other }));
      lead.textContent = leads[id];
      if (place.firstChild !== all[id].element) place.replaceChildren(all[id].element);
      all[id].route(query);
    },
    unmount() {},
  };
}
