// Publishes on a channel. What is typed stays in the window until it was published, whichever page is looked at
// meanwhile.

import { announce, button, count, field, fill, h, sentence } from "./ui.js";
import { addressOf } from "./address.js";
import { whole } from "./format.js";
import { call, newKey } from "./server.js";

const drafts = new Map();
const mostDrafts = 20;

function draftOf(channel) {
  let draft = drafts.get(channel);
  if (!draft) {
    draft = { data: '{\n  "text": ""\n}', tags: [], key: "", score: "" };
    drafts.set(channel, draft);
    if (drafts.size > mostDrafts) drafts.delete(drafts.keys().next().value);
  }
  return draft;
}

/** What the call takes; throws what is wrong with what was typed. */
export function bodyOf(channel, draft, isMap) {
  let data;
  try {
    data = JSON.parse(draft.data);
  } catch (error) {
    throw new Error(`The data is not JSON: ${error.message}`, { cause: error });
  }
  if (data === null) throw new Error("The data may be any JSON but null.");
  const tags = draft.tags.filter(({ name }) => name !== "");
  const body = { channel, data };
  if (tags.length > 0) body.tags = Object.fromEntries(tags.map(({ name, value }) => [name, value]));
  if (!isMap) return body;
  if (draft.key === "") throw new Error("An entry of a map needs a key.");
  body.key = draft.key;
  if (draft.score !== "") {
    if (!/^-?\d{1,15}$/u.test(draft.score)) throw new Error("A score is a whole number.");
    body.score = Number(draft.score);
  }
  return body;
}

function tagRows(draft) {
  const list = h("div", { class: "stack-tight" });
  const add = button("Add a tag", () => {
    const tag = { name: "", value: "" };
    draft.tags.push(tag);
    list.append(rowOf(tag));
    list.lastElementChild.querySelector("input").focus();
  }, { class: "button button-small" });
  function rowOf(tag) {
    const name = field("Tag", { value: tag.name, class: "input mono", placeholder: "lang", autocomplete: "off" });
    const value = field("Value", { value: tag.value, class: "input mono", placeholder: "en", autocomplete: "off" });
    name.input.addEventListener("input", () => {
      tag.name = name.input.value;
    });
    value.input.addEventListener("input", () => {
      tag.value = value.input.value;
    });
    const row = h("div", { class: "form" }, name.element, value.element, button("✕", () => {
      draft.tags.splice(draft.tags.indexOf(tag), 1);
      row.remove();
      add.focus();
    }, { kind: "icon", label: "Remove this tag" }));
    return row;
  }
  fill(list, draft.tags.map(rowOf));
  return h("div", { class: "stack-tight" }, list, h("div", {}, add));
}

function bound(draft, name, label, attributes, help) {
  const made = field(label, { value: draft[name], ...attributes }, help);
  made.input.addEventListener("input", () => {
    draft[name] = made.input.value;
  });
  return made;
}

export function mountPublish(root, context, channel, shared) {
  const draft = draftOf(channel);
  const isMap = () => shared.known?.broker.kind === "map";
  const reach = () => (shared.known?.gateways ?? []).reduce((sum, { found }) => sum + (found?.subscribers ?? 0), 0);
  const data = bound(draft, "data", "Data", { tag: "textarea", rows: 8, spellcheck: "false", autocapitalize: "off" },
    "Any JSON but null. Subscribers get it as it stands here, without an author.");
  const key = bound(draft, "key", "Key", { class: "input mono", autocomplete: "off", maxlength: 255 });
  const score = bound(draft, "score", "Score", { class: "input mono", inputmode: "numeric", autocomplete: "off" });
  const map = h("div", { class: "form" }, key.element, score.element);
  const problem = h("p", { class: "field-error", role: "alert" });
  const done = h("p", { class: "note note-good", hidden: true });
  const submit = h("button", { type: "submit", class: "button button-primary" }, "Publish");
  // A call whose answer was lost is made again with its key as long as nothing was changed, and so done once.
  let sent = { text: "", key: "" };
  const onSubmit = async (event) => {
    event.preventDefault();
    if (submit.getAttribute("aria-disabled") === "true") return;
    problem.textContent = "";
    done.hidden = true;
    try {
      const body = bodyOf(channel, draft, isMap());
      const text = JSON.stringify(body);
      if (sent.text !== text) sent = { text, key: newKey() };
      submit.setAttribute("aria-disabled", "true");
      const { offset } = await call("publish", { ...body, idempotency_key: sent.key });
      sent = { text: "", key: "" };
      done.hidden = false;
      const said = `Published${offset === undefined ? "" : ` as ${whole(offset)}`}.`;
      fill(done, said, " ", h("a", { href: addressOf(["channels", channel], { view: "history" }) }, "See the history"));
      announce(said);
    } catch (error) {
      const hint = error.isLost ? " It may have been published; to press again does it only once." : "";
      problem.textContent = `${sentence(error)}${hint}`;
    } finally {
      submit.setAttribute("aria-disabled", "false");
    }
  };
  root.append(h("form", { class: "card stack", novalidate: true, on: {
    submit: onSubmit,
    // What was wrong is being mended.
    input: () => {
      problem.textContent = "";
    },
  } },
    data.element, map, h("details", { open: draft.tags.length > 0 }, h("summary", {}, "Tags"), tagRows(draft)),
    problem, done, h("div", { class: "row" }, submit)));
  const known = () => {
    map.hidden = !isMap();
    const text = shared.known ? `Publish to ${count(reach(), "subscriber")}` : "Publish";
    if (submit.textContent !== text) submit.textContent = text;
  };
  known();
  return { known, unmount() {} };
}
