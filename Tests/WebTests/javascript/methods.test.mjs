// The methods and channels of Clique, State and notifications, against the documents that describe them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { connected } from "./support.mjs";

const read = (name) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8");
const documents = { clique: read("CLIQUE"), state: read("STATE"), push: read("PUSH") };

/** What a document says of methods, { methods, data }: a row of a table of methods, with what they take in the second
 *  column, or a section by the method's name, which takes what the first JSON in it shows. */
function described(app) {
  const name = new RegExp(`\`(${app}\\.[\\w.]+)\``, "g");
  const namesIn = (text) => [...text.matchAll(name)].map(([, method]) => method);
  const found = [];
  let isTable = false;
  for (const line of documents[app].split("\n")) {
    isTable = line.startsWith("|") && (isTable || /^\| method \|/i.test(line));
    const [, first = "", data] = line.split(/(?:^| )\| /);
    if (isTable && namesIn(first).length > 0) found.push({ methods: namesIn(first), data });
  }
  for (const section of documents[app].split(/^### /m).slice(1)) {
    const methods = namesIn(section.slice(0, section.indexOf("\n")));
    if (methods.length > 0) found.push({ methods, data: /(?:`|^)\{[^`]*\}/m.exec(section)[0] });
  }
  return found;
}

const fieldsOf = (text) => [...text.matchAll(/"(\w+)"\s*:/g)].map(([, field]) => field);
const sorted = (names) => [...new Set(names)].sort();

/** A call for each method, with every field that it takes in one of its calls; the method; what is sent. */
function documented({ clique, state, push }) {
  return [
    [() => clique.accept("bob"), "clique.accept", { person: "bob" }],
    [() => clique.decline("bob"), "clique.decline", { person: "bob" }],
    [() => clique.decline({ conversation: "p1" }), "clique.decline", { conversation: "p1" }],
    [() => clique.disconnect("bob"), "clique.disconnect", { person: "bob" }],
    [() => clique.block("bob"), "clique.block", { person: "bob" }],
    [() => clique.unblock("bob"), "clique.unblock", { person: "bob" }],
    [() => clique.read("p1", 15), "clique.read", { conversation: "p1", offset: 15 }],
    [() => clique.delivered("p1", 15), "clique.delivered", { conversation: "p1", offset: 15 }],
    [() => clique.typing("p1"), "clique.typing", { conversation: "p1" }],
    [() => clique.group.leave("g1"), "clique.group.leave", { conversation: "g1" }],
    [() => clique.group.add("g1", ["joe"]), "clique.group.add", { conversation: "g1", members: ["joe"] }],
    [() => clique.group.remove("g1", "joe"), "clique.group.remove", { conversation: "g1", person: "joe" }],
    [() => clique.group.rename("g1", "Monday"), "clique.group.rename", { conversation: "g1", name: "Monday" }],
    [() => clique.group.appoint("g1", "joe"), "clique.group.appoint", { conversation: "g1", person: "joe" }],
    [() => clique.group.dismiss("g1", "joe"), "clique.group.dismiss", { conversation: "g1", person: "joe" }],
    [() => clique.group.link("g1", { lifetime: 1000, uses: 5 }), "clique.group.link", { conversation: "g1", lifetime: 1000, uses: 5 }],
    [() => clique.group.links("g1"), "clique.group.links", { conversation: "g1" }],
    [() => clique.group.revoke("g1", "9be"), "clique.group.revoke", { conversation: "g1", id: "9be" }],
    [() => clique.group.join("g1.5c"), "clique.group.join", { link: "g1.5c" }],
    [() => clique.keep("p1", { muted: true, archived: false, pinned: true }), "clique.keep",
      { conversation: "p1", muted: true, archived: false, pinned: true }],
    [() => clique.draft("p1", "see y", { reply: 12 }), "clique.draft", { conversation: "p1", text: "see y", reply: 12 }],
    [() => clique.react("p1", 12, "👍"), "clique.react", { conversation: "p1", offset: 12, reaction: "👍" }],
    [() => clique.disappear("p1", 86_400_000), "clique.disappear", { conversation: "p1", after: 86_400_000 }],
    [() => clique.totals(), "clique.totals", {}],
    [() => clique.report("bob", { reason: "spam", text: "again" }), "clique.report", { person: "bob", reason: "spam", text: "again" }],
    [() => clique.report({ conversation: "g1" }, { reason: "threat", offset: 12 }), "clique.report",
      { conversation: "g1", reason: "threat", offset: 12 }],
    [() => clique.search("park", { person: "bob", conversation: "p1", limit: 50 }), "clique.search",
      { text: "park", person: "bob", conversation: "p1", limit: 50 }],
    [() => clique.enter("park", { token: "t" }), "clique.enter", { place: "park", token: "t" }],
    [() => clique.leave("park"), "clique.leave", { place: "park" }],
    [() => clique.invisible(true), "clique.invisible", { on: true }],
    [() => clique.crossings({ order: "time", limit: 5 }), "clique.crossings", { order: "time", limit: 5 }],
    [() => clique.setProfile({ name: "Ann", fields: { university: "TU" }, picture: { id: "x", small: "y" } }), "clique.profile.set",
      { name: "Ann", fields: { university: "TU" }, picture: { id: "x", small: "y" } }],
    [() => clique.setProfile({ name: "", picture: null }), "clique.profile.set", { name: "", picture: null }],
    [() => clique.profiles(["bob", "eve"]), "clique.profiles", { people: ["bob", "eve"] }],
    [() => clique.findPeople("an", { limit: 50 }), "clique.people", { text: "an", limit: 50 }],
    [() => clique.send({ to: "bob", text: "hi", key: "k1" }), "clique.send", { to: "bob", text: "hi", key: "k1" }],
    // What an upload gave may be handed on as it is.
    [() => clique.send({
      conversation: "p1", reply: 12, mentions: ["bob"], picture: { id: "x", bytes: 5, hash: "LEHV6n" }, key: "k2",
    }), "clique.send", { conversation: "p1", reply: 12, mentions: ["bob"], picture: { id: "x", hash: "LEHV6n" }, key: "k2" }],
    [() => clique.group.create({ members: ["bob"], name: "Sunday", key: "k3" }), "clique.group.create",
      { members: ["bob"], name: "Sunday", key: "k3" }],
    [() => state.send({ to: "bob", front: "f", rear: "r", caption: "sea", replyLimit: 60000, key: "k4" }), "state.send",
      { to: "bob", front: "f", rear: "r", caption: "sea", reply_limit: 60000, key: "k4" }],
    [() => state.begin("bob"), "state.begin", { to: "bob" }],
    [() => state.cancel("bob", ["x"]), "state.cancel", { to: "bob", pictures: ["x"] }],
    [() => state.discard(["x"]), "state.discard", { pictures: ["x"] }],
    [() => state.react("bob", "🔥"), "state.react", { with: "bob", reaction: "🔥" }],
    [() => state.react("bob"), "state.react", { with: "bob" }],
    [() => state.seen("bob"), "state.seen", { with: "bob" }],
    [() => state.delivered("bob"), "state.delivered", { with: "bob" }],
    [() => state.settings({ limit: 60000 }), "state.settings", { limit: 60000 }],
    [() => state.block("bob"), "state.block", { user: "bob" }],
    [() => state.unblock("bob"), "state.unblock", { user: "bob" }],
    [() => push.register({ kind: "fcm", token: "t" }, { language: "de", topics: ["clique.*"], preview: "text" }), "push.register",
      { device: { kind: "fcm", token: "t" }, language: "de", topics: ["clique.*"], preview: "text" }],
    [() => push.unregister("d"), "push.unregister", { device: "d" }],
    [() => push.devices(), "push.devices", {}],
    [() => push.settings({ topics: ["*"], preview: "sender", request_preview: true, quiet: null, muted_until: 5 }), "push.settings",
      { topics: ["*"], preview: "sender", request_preview: true, quiet: null, muted_until: 5 }],
    [() => push.delivered("inbox:#ann", 7), "push.delivered", { subject: "inbox:#ann", offset: 7 }],
    [() => push.seen("inbox:#ann"), "push.seen", { subject: "inbox:#ann" }],
  ];
}

/** Of an answer that has one part, the helper gives that part. */
const parts = {
  "clique.search": "messages", "clique.group.links": "links", "clique.crossings": "people", "clique.profiles": "people",
  "clique.people": "people",
};

/** Calls of methods that no table of these documents lists. */
function others(client) {
  const { clique } = client;
  return [
    [() => clique.edit("p1", 12, "hi"), "publication.edit", { channel: "clique.chat:p1", offset: 12, data: { text: "hi" } }],
    [() => clique.remove("p1", 12), "publication.delete", { channel: "clique.chat:p1", offset: 12 }],
    [() => client.delivered("receipts:chat:1", 3), "receipt.delivered", { channel: "receipts:chat:1", offset: 3 }],
    [() => client.read("receipts:chat:1", 3), "receipt.read", { channel: "receipts:chat:1", offset: 3 }],
    [() => client.unread(["receipts:chat:1"]), "receipt.unread", { channels: ["receipts:chat:1"] }],
    [() => client.accountData(), "fanfare.account.data", {}],
    [() => client.accountExport(), "fanfare.account.export", { cursor: "" }],
    [() => client.accountDelete("ada"), "fanfare.account.delete", { user: "ada" }],
  ];
}

for (const [app, least] of Object.entries({ clique: 30, state: 10, push: 6 })) {
  test(`${app}: each method of the document has a helper, which can say each field that the method takes`, async (t) => {
    const { client } = await connected(t, { user: "ada" });
    const rows = described(app);
    const calls = documented(client).filter(([, method]) => method.startsWith(`${app}.`));
    const methods = rows.flatMap((row) => row.methods);
    assert.ok(methods.length >= least, `the document lists ${methods.length} methods`);
    assert.deepEqual(sorted(calls.map(([, method]) => method)), sorted(methods));
    for (const row of rows) {
      const sent = calls.filter(([, method]) => row.methods.includes(method)).map(([, , data]) => JSON.stringify(data));
      const said = new Set(fieldsOf(sent.join()));
      for (const field of fieldsOf(row.data)) assert.ok(said.has(field), `${row.methods}: ${field}`);
    }
  });
}

test("every helper sends its method and data, and gives the answer", async (t) => {
  const { client, net } = await connected(t, { user: "ada" });
  for (const [call, method, data] of [...documented(client), ...others(client)]) {
    const from = net.last.commands.length;
    const answer = call();
    const { id, rpc } = await net.last.command("rpc", from);
    assert.deepEqual(rpc, { method, data });
    const result = { people: ["bob"], messages: ["m"], links: ["l"] };
    net.last.say({ id, rpc: { data: result } });
    assert.deepEqual(await answer, parts[method] ? result[parts[method]] : result, method);
  }
});

test("each channel of the documents has a helper", async (t) => {
  const { client } = await connected(t, { user: "ada" });
  const { clique, state, push } = client;
  const channels = [
    clique.list(), clique.chat("p1"), clique.reactions("p1"), clique.receipts("p1"), clique.typists("p1"), clique.badge(),
    clique.crossed(), clique.blocked(), clique.drafts(), clique.reports(), clique.people(), clique.profile(), state.threads(),
    state.events(), push.deviceMap(),
  ];
  const named = /`((?:clique|state|push)\.\w+):<(user|conversation|your id)>`/g;
  const wanted = Object.values(documents).flatMap((text) => [...text.matchAll(named)])
    .map(([, name, of]) => `${name}:${of === "conversation" ? "p1" : "ada"}`);
  assert.ok(wanted.length >= channels.length);
  assert.deepEqual(sorted(channels.map(({ channel }) => channel)), sorted(wanted));
});
