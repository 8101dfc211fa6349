// What people copy out of the documents, run as it stands but for the addresses: scenarios of server.mjs.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { WebSocket } from "./websocket.mjs";

const documents = new URL("../../../docs/", import.meta.url);
const address = "ws://127.0.0.1:8000/connection/websocket";
const moduleAddress = "http://127.0.0.1:8000/fanfare.js";

/** The only fenced block of a document in that language that holds a text. */
function block(document, language, holding) {
  const text = readFileSync(new URL(document, documents), "utf8");
  const blocks = text.split(`\n\`\`\`${language}\n`).slice(1).map((rest) => rest.split("\n```")[0]);
  const found = blocks.filter((one) => one.includes(holding));
  assert.equal(found.length, 1, `${document} has ${found.length} blocks of ${language} with ${holding}`);
  return found[0];
}

/** Fails where the text is missing: an example that no longer names an address would run against the wrong server. */
function replaced(text, part, other) {
  assert.ok(text.includes(part), `the example does not name ${part}`);
  return text.replaceAll(part, other);
}

/** As much of an element as the chat of the tutorial uses. Its attributes are whatever the page sets. */
class SmallElement {
  textContent = "";
  className = "";
  value = "";
  dataset = {};
  children = [];
  #parent = null;

  insertBefore(child, next) {
    child.remove();
    this.children.splice(next === null ? this.children.length : this.children.indexOf(next), 0, child);
    child.#parent = this;
  }

  remove() {
    const siblings = this.#parent?.children;
    if (siblings) siblings.splice(siblings.indexOf(this), 1);
    this.#parent = null;
  }
}

/** Opens the page in a window of its own, in which nothing but what the page uses is there. */
async function openWindow(script, module, token) {
  const elements = Object.fromEntries(["p", "ul", "form", "input"].map((name) => [name, new SmallElement()]));
  const document = {
    querySelector: (name) => elements[name], createElement: () => new SmallElement(),
  };
  const AsyncFunction = (async () => {}).constructor;
  const clients = [];
  class Fanfare extends module.Fanfare {
    constructor(url, options) {
      super(url, { WebSocket, timeout: 60_000, ...options });
      clients.push(this);
    }
  }
  await new AsyncFunction("document", "location", "Fanfare", "newKey", script)(
    document, { search: `?token=${token}` }, Fanfare, module.newKey);
  return {
    get status() { return elements.p.textContent; },
    get rows() { return elements.ul.children.map((row) => row.textContent); },
    get waiting() { return elements.ul.children.filter((row) => row.className === "waits").length; },
    write(text) {
      elements.input.value = text;
      elements.form.onsubmit({ preventDefault() {} });
      assert.equal(elements.input.value, "");
    },
    close() { for (const client of clients) client.disconnect(); },
  };
}

/**
 * @param tools `token(user)`, `soon(condition, what)`, `restart(whileAway)`, the server's address `url`, the folder
 *   `control`, and `module`, the client that the server serves.
 */
export function scenariosOfDocuments({ token, soon, restart, url, control, module }) {
  return {
    /** docs/tutorials/chat-in-fifty-lines.md: two people, and a server that is killed while they write. */
    async chat() {
      const page = block("tutorials/chat-in-fifty-lines.md", "html", "<script type=\"module\">");
      assert.ok(page.split("\n").length <= 50, "the chat has more than fifty lines");
      const whole = page.split("<script type=\"module\">\n")[1].split("</script>")[0];
      const script = replaced(
        replaced(whole, address, url), `import { Fanfare, newKey } from "${moduleAddress}";`, "");
      const windows = [];
      try {
        for (const user of ["ada", "bob"]) windows.push(await openWindow(script, module, token(user)));
        const [ada, bob] = windows;
        await soon(() => ada.status === "Here: ada, bob" && bob.status === "Here: ada, bob", "who is there");
        ada.write("hello");
        await soon(() => bob.rows.includes("ada: hello"), "the first message");
        bob.write("<img src=x onerror=alert(1)>");
        await soon(() => ada.rows.length === 2, "the answer");
        assert.equal(ada.rows[1], "bob: <img src=x onerror=alert(1)>");
        await restart(async () => {
          await soon(() => windows.every(({ status }) => status.startsWith("No connection.")), "the loss");
          ada.write("from ada, while away");
          bob.write("from bob, while away");
          assert.deepEqual([ada.waiting, bob.waiting], [1, 1]);
        });
        const isWhole = ({ rows, waiting }) => rows.length === 4 && waiting === 0;
        await soon(() => windows.every(isWhole), "what was written meanwhile");
        assert.deepEqual(ada.rows, bob.rows);
        assert.deepEqual(ada.rows.slice(2).sort(), ["ada: from ada, while away", "bob: from bob, while away"]);
        const late = await openWindow(script, module, token("cy"));
        windows.push(late);
        await soon(() => late.rows.length === 4, "what was said before");
        assert.deepEqual(late.rows, ada.rows);
        await soon(() => ada.status === "Here: ada, bob, cy", "the third");
      } finally {
        for (const window of windows) window.close();
      }
    },

    /** The JavaScript of docs/SDKS.md, with the official centrifuge-js as FANFARE_CENTRIFUGE_JS names it. */
    async sdks() {
      const folder = join(control, "sdks");
      const files = {
        centrifuge: `import { createRequire } from "node:module";
          const file = ${JSON.stringify(process.env.FANFARE_CENTRIFUGE_JS)};
          export const { Centrifuge } = createRequire(import.meta.url)(file);`,
        ws: `export { WebSocket as default } from ${JSON.stringify(new URL("websocket.mjs", import.meta.url).href)};`,
      };
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(join(folder, "node_modules", name), { recursive: true });
        writeFileSync(join(folder, "node_modules", name, "index.mjs"), text);
        writeFileSync(join(folder, "node_modules", name, "package.json"), '{"type":"module","exports":"./index.mjs"}');
      }
      const example = block("SDKS.md", "js", 'from "centrifuge"');
      const file = join(folder, "room.mjs");
      const patient = replaced(example, "token: process.argv[2],", "token: process.argv[2], timeout: 60_000,");
      writeFileSync(file, replaced(patient, address, url));
      const lines = [];
      const { log } = console;
      process.argv[2] = token("ada");
      try {
        console.log = (...parts) => lines.push(parts.join(" "));
        await import(pathToFileURL(file));
      } finally {
        console.log = log;
      }
      assert.deepEqual(lines, ["1 ada hello from JavaScript", "1 kept, 1 here"]);
    },
  };
}
