import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as module from "../../../Sources/Web/fanfare.js";
import { fakeWebSocket } from "./support.mjs";

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

const guide = readFileSync(new URL("../../../docs/JAVASCRIPT.md", import.meta.url), "utf8");
const blocks = (language) => [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, code]) => code);
const AsyncFunction = (async () => {}).constructor;
const withoutImports = (code) => code.replaceAll(/^ *import .*$/gm, "");

test("what docs/JAVASCRIPT.md shows is JavaScript", () => {
  const code = blocks("js");
  assert.ok(code.length >= 6);
  for (const block of code) assert.doesNotThrow(() => new AsyncFunction(withoutImports(block)), block);
});

test("the chat of docs/JAVASCRIPT.md shows what comes, and sends what is written", async () => {
  const net = fakeWebSocket();
  const lines = [];
  const elements = { ul: { append: (line) => lines.push(line.textContent) }, form: {}, input: { value: "" } };
  const script = withoutImports(/<script type="module">(.*)<\/script>/s.exec(blocks("html")[0])[1]);
  const page = new AsyncFunction("Fanfare", "newKey", "document", "location", script);
  class Fanfare extends module.Fanfare {
    constructor(url, options) {
      super(new URL(url, "https://example.com/"), { ...options, WebSocket: net.WebSocket });
      clients.push(this);
    }
  }
  const clients = [];
  const document = { querySelector: (name) => elements[name], createElement: () => ({}) };
  await page(Fanfare, module.newKey, document, { search: "?token=t" });
  assert.equal(net.last.url, "wss://example.com/connection/websocket");
  await net.last.accept();
  net.last.say({ id: (await net.last.command("subscribe")).id, subscribe: { recoverable: true, epoch: "e" } });
  net.last.say({ push: { channel: "chat:42", pub: { data: { text: "hi" }, offset: 1, info: { user: "bob", client: "x" } } } });
  assert.deepEqual(lines, ["bob: hi"]);
  elements.input.value = "hello";
  elements.form.onsubmit({ preventDefault: () => {} });
  const { id, publish } = await net.last.command("publish");
  assert.deepEqual([publish.channel, publish.data, elements.input.value], ["chat:42", { text: "hello" }, ""]);
  net.last.say({ id, publish: {} });
  clients[0].disconnect();
});
