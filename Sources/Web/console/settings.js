// The configuration as it runs: what each setting is, where that comes from, and what it means.

import { count, field, h, rested } from "./ui.js";
import { choice, heading, problemBox } from "./parts.js";
import { get } from "./server.js";
import { table } from "./table.js";

/** Kinds of sources, by what the server says: a file with the line, a variable, a flag, or the default. */
export function kindOf(source) {
  if (source === "default") return "default";
  if (source.startsWith("--set")) return "set";
  return /^FANFARE_/u.test(source) || source.startsWith("environment") ? "environment" : "file";
}

const kinds = [
  ["", "all settings"], ["given", "what was set"], ["file", "from a file"], ["environment", "from the environment"],
  ["set", "from --set"], ["default", "left as they are"]];

/** Those with all words of `text` in their key, value or meaning, and a source of that kind. */
export function chosen(settings, text, kind) {
  const words = text.toLowerCase().split(/\s+/u).filter(Boolean);
  return settings.filter((one) => {
    const its = kindOf(one.source);
    if (kind && kind !== its && !(kind === "given" && its !== "default")) return false;
    const all = `${one.key} ${one.value} ${one.help}`.toLowerCase();
    return words.every((word) => all.includes(word));
  }).sort((a, b) => {
    // What has the words in its key comes first.
    const inKey = (one) => (words.every((word) => one.key.toLowerCase().includes(word)) ? 0 : 1);
    return inKey(a) - inKey(b);
  });
}

function columns() {
  return [
    { id: "key", name: "Setting", isHead: true, get: (one) => one.key, stamp: (one) => one.key,
      className: "block", build: (one) => [h("span", { class: "mono strong" }, one.key),
        h("span", { class: "limit-text" }, one.help)] },
    { id: "value", name: "Value", className: "setting-value", get: (one) => one.value,
      stamp: (one) => `${one.value} ${one.source}`,
      build: (one) => valueCell(one) },
    { id: "source", name: "From", get: (one) => one.source, stamp: (one) => one.source,
      build: (one) => h("span", { class: kindOf(one.source) === "default" ? "soft" : "strong" }, one.source) },
  ];
}

function valueCell(one) {
  const shown = one.value === "" ? h("span", { class: "soft" }, "empty") : h("span", { class: "mono" }, one.value);
  const differs = kindOf(one.source) !== "default" && one.value !== one.default;
  return [shown, differs ? h("span", { class: "limit-text" },
    `default ${one.default === "" ? "empty" : one.default}`) : null];
}

export function mount(root, context) {
  let settings = null;
  const problem = problemBox(() => load());
  const state = h("p", { class: "small soft", role: "status" });
  const find = field("Find", { type: "search", class: "input", autocomplete: "off", spellcheck: "false",
    placeholder: "history" });
  const source = choice("Show", kinds);
  const rows = table({
    caption: "Settings", isTitled: true, columns: columns(), key: (one) => one.key, pageSize: 25, isStacked: true,
    empty: () => [h("p", { class: "strong" }, "No setting has these words."),
      h("p", { class: "soft" }, "Search for part of a key, or for what it is about.")],
  });
  rows.element.hidden = true;
  root.append(heading("Configuration", {
    lead: "As this server runs. It is changed in its file, in the environment or with --set, and read at the start.",
  }),
  h("form", { class: "form", role: "search", on: { submit: (event) => event.preventDefault() } }, find.element,
    source.element),
  problem.element, state, rows.element);
  const show = () => {
    if (!settings) return;
    const found = chosen(settings, find.input.value, source.input.value);
    rows.element.hidden = false;
    rows.show(found);
    const given = settings.filter((one) => kindOf(one.source) !== "default").length;
    state.textContent = `${count(found.length, "setting")} of ${settings.length}; `
      + `${given} were set, the others are as built in.`;
  };
  const keep = () => {
    context.replace(["settings"], { find: find.input.value, from: source.input.value });
    rows.first();
    show();
  };
  const typed = rested(keep, 150);
  find.input.addEventListener("input", () => typed());
  source.input.addEventListener("change", keep);
  async function load() {
    state.textContent = "Asking…";
    try {
      ({ settings } = await get("settings"));
      problem.show(null);
      show();
    } catch (error) {
      state.textContent = "";
      problem.show(error);
    }
  }
  load();
  return {
    route(parts, query) {
      find.input.value = query.find ?? "";
      source.input.value = query.from ?? "";
      rows.first();
      show();
    },
    unmount() {
      typed.cancel();
    },
  };
}
