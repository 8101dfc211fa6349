// A filter on tags, put together from rules or written as JSON: the same that subscriptions have (docs/PROTOCOL.md).

import { button, field, fill, h } from "./ui.js";
import { choice } from "./parts.js";

const comparisons = [
  ["eq", "is"], ["neq", "is not"], ["in", "is one of"], ["nin", "is none of"], ["ex", "is there"],
  ["nex", "is not there"], ["sw", "begins with"], ["ew", "ends with"], ["ct", "contains"], ["gt", "is above"],
  ["gte", "is at least"], ["lt", "is below"], ["lte", "is at most"],
];
const withoutValue = new Set(["ex", "nex"]);
const withList = new Set(["in", "nin"]);

/** One rule as a node; lists are separated by commas. */
export function nodeOf({ key, cmp, value }) {
  if (withoutValue.has(cmp)) return { key, cmp };
  if (!withList.has(cmp)) return { key, cmp, val: value };
  return { key, cmp, vals: value.split(",").map((one) => one.trim()).filter((one) => one !== "") };
}

/** All rules as one filter; undefined where there is none. Rules without a tag count for nothing. */
export function filterOf(rules, op = "and") {
  const nodes = rules.filter(({ key }) => key !== "").map(nodeOf);
  return nodes.length > 1 ? { op, nodes } : nodes[0];
}

function ruleOf(node) {
  if (typeof node?.key !== "string" || !comparisons.some(([id]) => id === node.cmp)) return null;
  if (withList.has(node.cmp)) return { key: node.key, cmp: node.cmp, value: (node.vals ?? []).join(", ") };
  return { key: node.key, cmp: node.cmp, value: node.val ?? "" };
}

/** The rules of a filter, where it can be shown so: `{ op, rules }`, or null. */
export function rulesOf(filter) {
  if (!filter) return { op: "and", rules: [] };
  if (filter.op === "and" || filter.op === "or") {
    const rules = (filter.nodes ?? []).map(ruleOf);
    return rules.every(Boolean) ? { op: filter.op, rules } : null;
  }
  const rule = ruleOf(filter);
  return rule ? { op: "and", rules: [rule] } : null;
}

function ruleRow(rule, onRemove) {
  const key = field("Tag", { value: rule.key, class: "input mono", placeholder: "user", autocomplete: "off",
    spellcheck: "false", autocapitalize: "off" });
  const cmp = choice("Comparison", comparisons);
  const value = field("Value", { value: rule.value, class: "input mono", autocomplete: "off", spellcheck: "false",
    autocapitalize: "off" });
  cmp.input.value = rule.cmp;
  const show = () => {
    value.element.hidden = withoutValue.has(cmp.input.value);
    value.input.placeholder = withList.has(cmp.input.value) ? "ada, ben" : "ada";
  };
  cmp.input.addEventListener("change", show);
  show();
  const element = h("div", { class: "filter-rule", role: "group", "aria-label": "Rule" }, key.element, cmp.element,
    value.element, button("✕", () => onRemove(row), { kind: "icon", label: "Remove this rule" }));
  const row = {
    element, focus: () => key.input.focus(),
    read: () => ({ key: key.input.value, cmp: cmp.input.value, value: value.input.value }),
  };
  return row;
}

/** `onApply(filter)` hears of a filter that can be read, undefined for none. `set(filter)` shows one. */
export class FilterForm {
  #onApply;
  #rows = [];
  #isJSON = false;
  #list = h("div", { class: "stack-tight" });
  #op = choice("Together", [["and", "all rules hold"], ["or", "one rule holds"]]);
  #json = field("Filter as JSON", { tag: "textarea", spellcheck: "false", rows: 5 }, "Empty: everything.");
  #problem = h("p", { class: "field-error", role: "alert" });
  #swap = button("", () => this.#toggle(), { class: "button button-small button-quiet" });
  #add = button("Add a rule", () => {
    this.#addRow({ key: "", cmp: "eq", value: "" });
    this.#rows.at(-1).focus();
  }, { class: "button button-small" });

  constructor(onApply) {
    this.#onApply = onApply;
    const none = button("Without a filter", () => {
      this.set(undefined);
      onApply(undefined);
    }, { class: "button button-small button-quiet" });
    this.element = h("form", { class: "stack", on: {
      submit: (event) => {
        event.preventDefault();
        this.#apply();
      },
    } }, this.#list, this.#op.element, this.#json.element, this.#problem,
    h("div", { class: "row" },
      h("button", { type: "submit", class: "button button-primary button-small" }, "Try it"),
      this.#add, this.#swap, none));
    this.set(undefined);
  }

  set(filter) {
    this.#problem.textContent = "";
    this.#fill(filter);
  }

  /** What the server says against it. */
  fail(text) {
    this.#problem.textContent = text;
  }

  #addRow(rule) {
    const row = ruleRow(rule, (gone) => {
      this.#rows = this.#rows.filter((one) => one !== gone);
      gone.element.remove();
      this.#show();
      this.#add.focus();
    });
    this.#rows.push(row);
    this.#list.append(row.element);
    this.#show();
  }

  #show() {
    this.#list.hidden = this.#add.hidden = this.#isJSON;
    this.#op.element.hidden = this.#isJSON || this.#rows.length < 2;
    this.#json.element.hidden = !this.#isJSON;
    this.#swap.textContent = this.#isJSON ? "As rules" : "As JSON";
  }

  /** The filter as it is typed; throws what is wrong with it. */
  #read() {
    if (!this.#isJSON) return filterOf(this.#rows.map((row) => row.read()), this.#op.input.value);
    const text = this.#json.input.value.trim();
    if (!text) return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`The filter is not JSON: ${error.message}`, { cause: error });
    }
  }

  #apply() {
    this.#problem.textContent = "";
    try {
      this.#onApply(this.#read());
    } catch (error) {
      this.#problem.textContent = error.message;
    }
  }

  #toggle() {
    this.#problem.textContent = "";
    try {
      const filter = this.#read();
      if (this.#isJSON && !rulesOf(filter)) throw new Error("Rules cannot show this filter: it stays JSON.");
      this.#isJSON = !this.#isJSON;
      this.#fill(filter);
    } catch (error) {
      this.#problem.textContent = error.message;
    }
  }

  #fill(filter) {
    const known = rulesOf(filter);
    if (!known) this.#isJSON = true;
    this.#json.input.value = filter ? JSON.stringify(filter, null, 2) : "";
    this.#rows = [];
    fill(this.#list);
    for (const rule of known?.rules.length ? known.rules : [{ key: "", cmp: "eq", value: "" }]) this.#addRow(rule);
    this.#op.input.value = known?.op ?? "and";
    this.#show();
  }
}
