import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as module from "../../../Sources/Web/fanfare.js";

const types = readFileSync(new URL("../../../Sources/Web/fanfare.d.ts", import.meta.url), "utf8");

/** What the classes of the file say to each other. */
const internal = new Set(["constructor", "emit", "take", "feed", "advance", "handle"]);

function body(name) {
  const start = types.search(new RegExp(`(class|interface) ${name}\\b`));
  assert.ok(start >= 0, `no type of ${name}`);
  return types.slice(start, types.indexOf("\n}", start));
}

test("everything that is exported has a type, and nothing else has one", () => {
  const declared = [...types.matchAll(/^export declare (?:const|class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(Object.keys(module).sort(), declared.sort());
});

test("every public method has a type", () => {
  const { WebSocket } = { WebSocket: class {} };
  const client = new module.Fanfare("ws://localhost/", { WebSocket });
  for (const [name, object] of [
    ["Fanfare", client], ["Clique", client.clique], ["State", client.state], ["Push", client.push],
    ["Pictures", client.state.pictures], ["MapView", new module.MapView()],
  ]) {
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(object)).filter((one) => !internal.has(one));
    assert.ok(methods.length > 3);
    for (const method of methods) assert.match(body(name), new RegExp(`\\b${method}\\b`), `${name}.${method}`);
  }
  for (const method of Object.keys(client.clique.group)) assert.match(body("Clique"), new RegExp(`\\b${method}\\(`));
  for (const name of ["Subscription", "MapSubscription"]) {
    for (const method of Object.getOwnPropertyNames(module[name].prototype)) {
      if (internal.has(method)) continue;
      assert.match(body("BaseSubscription") + body("MapSubscription"), new RegExp(`\\b${method}\\(`), `${name}.${method}`);
    }
  }
});

test("every code has a type with its number", () => {
  for (const [name, code] of Object.entries(module.codes)) assert.match(types, new RegExp(`\\b${name}: ${code};`));
});
