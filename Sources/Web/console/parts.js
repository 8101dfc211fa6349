// What several pages show alike: headings, facts, problems, and what asks before it does something.

import { button, count, field, fill, h, openDialog, sentence } from "./ui.js";
import { newKey } from "./server.js";

/** The heading of a page: where it belongs, its name, and what can be done on it. */
export function heading(title, { crumb, lead, actions = [], mono = false } = {}) {
  return h("div", { class: "stack-tight" },
    crumb ? h("p", { class: "crumb" }, h("a", { href: crumb.href }, crumb.text)) : null,
    h("div", { class: "head" }, h("h1", { class: mono ? "mono" : undefined }, title), h("div", { class: "row" },
      actions)),
    lead ? h("p", { class: "lead" }, lead) : null);
}

/** Facts by name that change where they are: `show({ Subscribers: "41" })`. Those without a value are left out. */
export function factList() {
  const element = h("dl", { class: "facts is-live" });
  const places = new Map();
  return {
    element,
    show(facts) {
      for (const [name, value] of Object.entries(facts)) {
        let place = places.get(name);
        if (!place) {
          place = { value: h("dd", {}) };
          place.box = h("div", { class: "fact" }, h("dt", {}, name), place.value);
          places.set(name, place);
          element.append(place.box);
        }
        place.box.hidden = value === undefined || value === null || value === "";
        const text = String(value ?? "");
        if (place.value.textContent !== text) place.value.textContent = text;
      }
    },
  };
}

/** A place for what went wrong, with a way to try again. */
export function problemBox(onRetry) {
  const element = h("div", { class: "note note-bad row", role: "alert", hidden: true });
  return {
    element,
    show(error) {
      element.hidden = !error;
      fill(element, error ? [h("span", { class: "grow" }, sentence(error)),
        onRetry ? button("Try again", onRetry, { class: "button button-small" }) : null] : []);
    },
  };
}

/** What to say where gateways did not answer in time; nothing where all did. */
export function missingGateways({ unanswered = 0 }) {
  if (unanswered === 0) return null;
  return new Error(`${count(unanswered, "gateway")} did not answer in time: what they carry is missing here.`);
}

export function note(text, kind = "") {
  return h("p", { class: `note ${kind ? `note-${kind}` : ""}` }, text);
}

export function chip(text, kind = "") {
  return h("span", { class: `chip ${kind ? `chip-${kind}` : ""}` }, text);
}

/** One field and a button beside it: `onGo(text)` where there is something in the field. */
export function lookForm({ label, value = "", placeholder = "", action, help = "", onGo, more = [],
  canBeEmpty = false }) {
  const { element: box, input } = field(label, {
    value, placeholder, class: "input mono", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      maxlength: 1024,
    type: "search",
  }, help);
  const element = h("form", { class: "form", role: "search", on: {
    submit: (event) => {
      event.preventDefault();
      if (canBeEmpty || input.value) onGo(input.value); else input.focus();
    },
  } }, box, h("button", { type: "submit", class: "button button-primary" }, action), more);
  return { element, input };
}

/** Views of one page: links of which one is where one is. */
export function views(label, list) {
  const links = list.map(({ id, name }) => h("a", { dataset: { view: id } }, name));
  const element = h("nav", { class: "views", "aria-label": label }, links);
  return {
    element,
    rename(id, name) {
      links.find((link) => link.dataset.view === id).textContent = name;
    },
    show(current, hrefOf) {
      for (const link of links) {
        link.setAttribute("href", hrefOf(link.dataset.view));
        if (link.dataset.view === current) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
    },
  };
}

/**
 * Asks before something is done that cannot be taken back, does it, and says what was done. It stays open while it is
 * under way, and where it failed: a call whose answer was lost is made again with the same key, and so done once.
 *
 * - `text`: what will happen, a paragraph each.
 * - `fields`: of `field()`; their elements are shown below.
 * - `run(key)`: does it. `done(result)`: the sentence that says so.
 * - `repeat`: what has to be typed to go on.
 */
export async function ask(context, { title, text, fields = [], action, run, done, isDanger = true, repeat = "" }) {
  const key = newKey();
  const result = await openDialog(title, (close) => {
    const problem = h("p", { class: "field-error", role: "alert" });
    const again = repeat ? field(`Type ${repeat} to go on`, { autocomplete: "off", spellcheck: "false",
      class: "input mono" })
      : null;
    const submit = h("button", {
      type: "submit", class: `button ${isDanger ? "button-danger" : "button-primary"}`,
    }, action);
    const onSubmit = async (event) => {
      event.preventDefault();
      if (submit.getAttribute("aria-disabled") === "true") return;
      if (again && again.input.value !== repeat) {
        problem.textContent = `Type ${repeat} as it stands there.`;
        return again.input.focus();
      }
      submit.setAttribute("aria-disabled", "true");
      problem.textContent = "";
      try {
        close({ answer: await run(key) });
      } catch (error) {
        const hint = error.isLost ? " It may have been done; to try again does it only once." : "";
        problem.textContent = `${sentence(error)}${hint}`;
        submit.setAttribute("aria-disabled", "false");
      }
    };
    return h("form", { class: "stack", novalidate: true, on: { submit: onSubmit } },
      [text].flat().filter(Boolean).map((paragraph) => h("p", {}, paragraph)),
      fields.map(({ element }) => element), again?.element, problem,
      h("div", { class: "dialog-actions" },
        button("Cancel", () => close(undefined), { kind: "quiet", autofocus: isDanger && fields.length === 0 }),
          submit));
  });
  if (!result) return false;
  context.toast(done(result.answer));
  return true;
}

/** A choice of a few: `[[value, text], …]`. */
export function choice(label, options, attributes = {}, help = "") {
  return field(label, {
    tag: "select", ...attributes,
    children: options.map(([value, text]) => {
      const option = h("option", {}, text);
      // An empty value has to be there as an attribute: without one an option's text is its value.
      option.setAttribute("value", value);
      return option;
    }),
  }, help);
}

/** JSON on one line that opens to all of it. */
export function jsonCell(line, all) {
  const full = h("pre", { class: "json", tabindex: "0" });
  return h("details", { on: {
    toggle: (event) => {
      // It is written out when somebody wants to read it.
      if (event.target.open && full.textContent === "") full.textContent = all();
    },
  } }, h("summary", { class: "mono" }, line), full);
}
