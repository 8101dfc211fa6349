import assert from "node:assert/strict";
import { test } from "node:test";
import { Fanfare, MapView, TokenRefused, codes, filter, newKey } from "../../../Sources/Web/fanfare.js";
import { eventually, fakeWebSocket } from "./support.mjs";

const url = "ws://localhost/connection/websocket";
const turn = () => new Promise((resolve) => { setImmediate(resolve); });
const tokenOf = (claims) => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;

/** A connected client on a fake socket; it is ended with the test. */
async function connected(t, options = {}, result = {}) {
  const net = fakeWebSocket();
  const client = new Fanfare(url, { WebSocket: net.WebSocket, random: () => 0, backoff: { minimum: 1, maximum: 2 }, ...options });
  t.after(() => client.disconnect());
  client.connect();
  await eventually(() => net.last, "a socket");
  await net.last.accept(result);
  await client.ready();
  return { client, net };
}

test("states with reasons, in their order", async (t) => {
  const net = fakeWebSocket();
  const client = new Fanfare(url, { WebSocket: net.WebSocket, random: () => 0, backoff: { minimum: 1, maximum: 2 } });
  t.after(() => client.disconnect());
  const told = [];
  for (const name of ["connecting", "connected", "disconnected"]) client.on(name, (event) => told.push([name, event.code ?? event.client]));
  await assert.rejects(client.ready(), { code: codes.notConnected });
  client.connect();
  assert.equal(client.connectionState, "connecting");
  await net.last.accept();
  assert.equal(client.connectionState, "connected");
  assert.equal(client.clientId, "c1");
  net.last.end(3001, "shutdown");
  assert.equal(client.connectionState, "connecting");
  await eventually(() => net.sockets.length === 2, "a second attempt");
  net.last.end(3500, "invalid token");
  assert.deepEqual(told, [
    ["connecting", 0], ["connected", "c1"], ["connecting", 3001], ["disconnected", 3500],
  ]);
  await assert.rejects(client.publish("a", 1), { code: codes.notConnected });
});

test("the address may be one of http, and relative addresses of pictures follow it", () => {
  const { WebSocket } = fakeWebSocket();
  const client = new Fanfare("https://example.com/connection/websocket", { WebSocket });
  assert.equal(client.url, "wss://example.com/connection/websocket");
  assert.equal(client.state.pictures.url, "https://example.com/state/pictures");
});

test("where there is no WebSocket, the error says what to give", { skip: globalThis.WebSocket !== undefined }, () => {
  assert.throws(() => new Fanfare(url), { code: codes.noTransport, message: /option WebSocket/ });
});

test("what is asked in one turn goes out in one message, and no message is larger than the server takes", async (t) => {
  const { client, net } = await connected(t, { maximumMessageBytes: 1000 });
  const before = net.last.frames.length;
  const answers = [client.presenceStats("a"), client.presenceStats("b"), client.rpc("m", { x: "é".repeat(200) })];
  const more = client.rpc("m", { x: "é".repeat(300) });
  for (const answer of [...answers, more]) answer.catch(() => {});
  await turn();
  const frames = net.last.frames.slice(before);
  assert.equal(frames.length, 2);
  assert.deepEqual(frames.map((frame) => frame.split("\n").length), [3, 1]);
  for (const frame of frames) assert.ok(Buffer.byteLength(frame) <= 1000);
  await assert.rejects(client.rpc("m", "x".repeat(1000)), { code: codes.messageTooLarge });
});

test("calls are answered with what the server says, or with its error", async (t) => {
  const { client, net } = await connected(t);
  const history = client.history("a", { limit: 2, reverse: true });
  const presence = client.presence("a");
  const edit = client.edit("a", 3, { text: "better" });
  await turn();
  const [ask, who, change] = net.last.commands.slice(-3);
  assert.deepEqual(ask.history, { channel: "a", limit: 2, reverse: true });
  assert.deepEqual(change.rpc, { method: "publication.edit", data: { channel: "a", offset: 3, data: { text: "better" } } });
  net.last.say(
    { id: change.id, error: { code: 103, message: "permission denied" } },
    { id: who.id, presence: { presence: { c: { user: "ada", client: "c", conn_info: { a: 1 } } }, partial: true } },
    { id: ask.id, history: { publications: [{ data: 1, offset: 9, tags: { a: "b" } }], epoch: "e", offset: 9 } });
  await assert.rejects(edit, { code: 103, temporary: false, message: "permission denied" });
  assert.deepEqual((await presence).clients.get("c"), { user: "ada", client: "c", connInfo: { a: 1 }, chanInfo: undefined });
  assert.equal((await presence).partial, true);
  assert.deepEqual(await history, {
    epoch: "e", offset: 9,
    publications: [{ channel: "a", data: 1, offset: 9, info: undefined, tags: { a: "b" }, time: 0 }],
  });
});

test("a call can be cancelled", async (t) => {
  const { client } = await connected(t);
  const controller = new AbortController();
  const call = client.rpc("m", {}, { signal: controller.signal });
  controller.abort();
  await assert.rejects(call, { code: codes.cancelled });
  await assert.rejects(client.rpc("m", {}, { signal: controller.signal }), { code: codes.cancelled });
});

test("history is walked page by page to its end", async (t) => {
  const { client, net } = await connected(t);
  const seen = [];
  const walk = (async () => { for await (const { offset } of client.walk("a", { pageSize: 2 })) seen.push(offset); })();
  let from = net.last.commands.length;
  for (const [offsets, since] of [[[1, 2], undefined], [[3, 4], 2], [[5], 4]]) {
    const { id, history } = await net.last.command("history", from);
    from = net.last.commands.length;
    assert.equal(history.since?.offset, since);
    // Somebody publishes meanwhile; the walk ends where the history did when it began.
    net.last.say({ id, history: { epoch: "e", offset: 5 + (since ?? 0), publications: offsets.map((offset) => ({ offset })) } });
  }
  await walk;
  assert.deepEqual(seen, [1, 2, 3, 4, 5]);
});

test("a subscription: publications by event and by loop, which ends with it", async (t) => {
  const { client, net } = await connected(t);
  const news = client.subscribe("news", { recover: true, joinLeave: true, filter: filter.and(filter.eq("a", "b"), filter.gt("n", 3)) });
  assert.equal(news.state, "subscribing");
  const { id, subscribe } = await net.last.command("subscribe");
  assert.deepEqual(subscribe, {
    channel: "news", recoverable: true, join_leave: true,
    tf: { op: "and", nodes: [{ key: "a", cmp: "eq", val: "b" }, { key: "n", cmp: "gt", val: "3" }] },
  });
  const [read, joined] = [[], []];
  news.on("join", ({ info }) => joined.push(info.user));
  const loop = (async () => { for await (const { data } of news) read.push(data); })();
  net.last.say(
    { id, subscribe: { recoverable: true, epoch: "e", offset: 1 } },
    { push: { channel: "news", join: { info: { user: "bob", client: "x" } } } },
    { push: { channel: "news", pub: { data: "one", offset: 2 } } },
    { push: { channel: "news", pub: { data: "two", offset: 3 } } });
  await news.ready();
  assert.deepEqual(news.position, { epoch: "e", offset: 3 });
  news.unsubscribe();
  await loop;
  assert.deepEqual([read, joined, news.state], [["one", "two"], ["bob"], "unsubscribed"]);
  await assert.rejects(news.ready(), { code: codes.unsubscribeCalled });
  news.subscribe({ since: { epoch: "e", offset: 3 } });
  const again = await net.last.command("subscribe", net.last.commands.length);
  assert.equal(again.subscribe.offset, 3);
});

test("a loop that does not read in time ends with an error, and one that is left holds nothing", async (t) => {
  const { client, net } = await connected(t);
  const news = client.subscribe("news", { waiting: 2 });
  net.last.say({ id: (await net.last.command("subscribe")).id, subscribe: {} });
  const slow = news[Symbol.asyncIterator]();
  const say = () => net.last.say({ push: { channel: "news", pub: { data: 1 } } });
  for (let count = 0; count < 3; count += 1) say();
  await slow.next();
  await slow.next();
  await assert.rejects(slow.next(), { code: codes.slowReader });
  setTimeout(say);
  for await (const { data } of news) { assert.equal(data, 1); break; }
  for (let count = 0; count < 5; count += 1) say();
  assert.equal(news.state, "subscribed");
});

test("what a listener throws or calls disturbs nobody else's order", async (t) => {
  const { client, net } = await connected(t);
  const news = client.subscribe("news");
  const told = [];
  news.on("subscribed", () => { told.push("subscribed"); news.unsubscribe(); });
  news.on("publication", () => told.push("publication"));
  news.on("unsubscribed", () => told.push("unsubscribed"));
  const uncaught = [];
  globalThis.reportError = (error) => uncaught.push(error.message);
  t.after(() => { delete globalThis.reportError; });
  news.on("subscribed", () => { throw new Error("a listener's own"); });
  const { id } = await net.last.command("subscribe");
  net.last.say({ id, subscribe: { publications: [{ data: 1 }] } });
  assert.deepEqual(told, ["subscribed", "publication", "unsubscribed"]);
  assert.deepEqual(uncaught, ["a listener's own"]);
});

test("one subscription for each channel", async (t) => {
  const { client } = await connected(t);
  const news = client.subscribe("news");
  assert.equal(client.subscribe("news"), news);
  assert.equal(client.subscription("news"), news);
  assert.throws(() => client.subscribe("news", { recover: true }), { code: codes.badCall });
  assert.throws(() => client.map("news"), { code: codes.badCall });
});

test("server-side subscriptions are told of by the client", async (t) => {
  const told = [];
  const net = fakeWebSocket();
  const client = new Fanfare(url, { WebSocket: net.WebSocket });
  t.after(() => client.disconnect());
  for (const name of ["subscribed", "publication", "unsubscribed", "join"]) {
    client.on(name, (event) => told.push([name, event.channel, event.data ?? event.info?.user]));
  }
  client.connect();
  await net.last.accept({ subs: { "#ada": { recoverable: true, epoch: "e", offset: 1 } } });
  net.last.say(
    { push: { channel: "#ada", pub: { data: "hi", offset: 2 } } },
    { push: { channel: "#ada", join: { info: { user: "ada", client: "c" } } } },
    { push: { channel: "#ada", unsubscribe: { code: 2000, reason: "server unsubscribe" } } });
  assert.deepEqual(told, [
    ["subscribed", "#ada", undefined], ["publication", "#ada", "hi"], ["join", "#ada", "ada"],
    ["unsubscribed", "#ada", undefined],
  ]);
});

test("getToken: asked at first, again after a failure, and its refusal is the end", async (t) => {
  const net = fakeWebSocket();
  const answers = [() => { throw new Error("offline"); }, () => tokenOf({ sub: "ada" }), () => { throw new TokenRefused(); }];
  const failures = [];
  const client = new Fanfare(url, {
    WebSocket: net.WebSocket, getToken: () => answers.shift()(), random: () => 0, backoff: { minimum: 1, maximum: 2 },
  });
  t.after(() => client.disconnect());
  client.on("error", ({ error }) => failures.push(error.message));
  client.connect();
  await eventually(() => net.last, "a socket");
  assert.deepEqual(failures, ["offline"]);
  assert.equal(client.user, "ada");
  net.last.open();
  net.last.say({ id: (await net.last.command("connect")).id, error: { code: 109, message: "token expired" } });
  await assert.rejects(client.ready(), { code: codes.unauthorized });
});

test("a getToken that never answers is given up", async (t) => {
  const net = fakeWebSocket();
  const client = new Fanfare(url, {
    WebSocket: net.WebSocket, getToken: () => new Promise(() => {}), tokenTimeout: 5, maximumReconnects: 0,
  });
  t.after(() => client.disconnect());
  client.connect();
  await assert.rejects(client.ready(), { code: codes.tokenUnavailable });
});

test("what is no JSON ends the connection, with a reason", async (t) => {
  const { client, net } = await connected(t);
  const socket = net.last;
  const ended = new Promise((resolve) => { client.on("disconnected", resolve); });
  socket.onmessage({ data: "no JSON" });
  assert.equal((await ended).code, codes.badProtocol);
  assert.ok(socket.isClosed);
});

test("messages written without a network are sent once there is one, in order", async (t) => {
  const { client, net } = await connected(t);
  net.last.end();
  const sends = ["one", "two"].map((text) => client.clique.send({ conversation: "p1", text, key: text }));
  await eventually(() => net.sockets.length === 2, "a second attempt");
  await net.last.accept();
  let from = 0;
  for (const text of ["one", "two"]) {
    const { id, rpc } = await net.last.command("rpc", from);
    from = net.last.commands.length;
    assert.deepEqual(rpc, { method: "clique.send", data: { conversation: "p1", text, key: text } });
    net.last.say({ id, rpc: { data: { conversation: "p1", offset: 4 } } });
  }
  assert.deepEqual(await Promise.all(sends), [{ conversation: "p1", offset: 4 }, { conversation: "p1", offset: 4 }]);
});

test("a map: its view, its changes, and the order of its scores", async (t) => {
  const { client, net } = await connected(t);
  const map = client.map("places");
  const { id, subscribe } = await net.last.command("subscribe");
  assert.deepEqual(subscribe, { channel: "places", type: 1, phase: 2 });
  const changes = [];
  map.on("change", ({ key, data, previous, removed }) => changes.push([key, data, previous, removed]));
  net.last.say(
    { id, subscribe: { type: 1, recoverable: true, epoch: "e", offset: 2, state: [{ key: "b", score: 5, data: "B" }, { key: "a", score: 3, data: "A" }] } },
    { push: { channel: "places", pub: { key: "c", score: 4, data: "C", offset: 3 } } },
    { push: { channel: "places", pub: { key: "b", removed: true, offset: 4 } } },
    { push: { channel: "places", pub: { key: "a", score: 9, data: "AA", offset: 5 } } });
  assert.equal(map.view.order, "descending");
  assert.deepEqual([...map.view], [["a", "AA"], ["c", "C"]]);
  assert.deepEqual([map.view.size, map.view.get("c"), map.view.has("b"), map.view.at(0).score], [2, "C", false, 9]);
  assert.deepEqual(changes, [
    ["b", "B", undefined, false], ["a", "A", undefined, false], ["c", "C", undefined, false],
    ["b", undefined, "B", true], ["a", "AA", "A", false],
  ]);
  const set = map.set("d", { x: 1 }, { score: 7 });
  const call = await net.last.command("rpc");
  assert.deepEqual(call.rpc, { method: "map.set", data: { channel: "places", key: "d", data: { x: 1 }, score: 7 } });
  net.last.say({ id: call.id, rpc: { data: { offset: 6 } } });
  assert.deepEqual(await set, { offset: 6 });
});

test("a map that began empty asks for its order when there are two entries", async (t) => {
  const { client, net } = await connected(t);
  const map = client.map("places");
  net.last.say({ id: (await net.last.command("subscribe")).id, subscribe: { type: 1, epoch: "e" } });
  const push = (key, score) => net.last.say({ push: { channel: "places", pub: { key, score, data: 1 } } });
  push("a", 1);
  assert.equal(map.view.hasOrder, false);
  push("b", 2);
  assert.deepEqual([...map.view.keys()], ["a", "b"], "assumed for the moment");
  const { id, rpc } = await net.last.command("rpc");
  assert.deepEqual(rpc, { method: "map.list", data: { channel: "places", limit: 100, reverse: false } });
  push("c", 3);
  const told = new Promise((resolve) => { map.on("order", resolve); });
  net.last.say({ id, rpc: { data: { epoch: "e", offset: 2, entries: [{ key: "b", score: 2 }, { key: "a", score: 1 }] } } });
  assert.equal((await told).order, "descending");
  assert.deepEqual([...map.view.keys()], ["c", "b", "a"]);
});

test("a snapshot that is read again tells the differences alone", () => {
  const view = new MapView({ order: "key" });
  const entry = (key, data) => ({ key, data, score: 0 });
  view.replace([entry("a", 1), entry("b", { x: 1 }), entry("c", 3)]);
  const changes = view.replace([entry("b", { x: 1 }), entry("c", 4), entry("d", 5)]);
  assert.deepEqual(changes.map(({ key, removed, data, previous }) => [key, removed, data, previous]), [
    ["a", true, undefined, 1], ["c", false, 4, 3], ["d", false, 5, undefined],
  ]);
});

test("keys stand in the order of their bytes", () => {
  const keys = ["", "a", "ab", "b", "é", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}"];
  const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const view = new MapView({ order: "key" });
  for (const key of [...keys].reverse()) view.apply({ key, data: 0, score: 0 });
  assert.deepEqual([...view.keys()], sorted);
  const reversed = new MapView({ order: "key", reverse: true });
  for (const key of keys) reversed.apply({ key, data: 0, score: 0 });
  assert.deepEqual([...reversed.keys()], sorted.reverse());
  assert.throws(() => new MapView({ order: "newest" }), { code: codes.badCall });
});

test("Clique and State name one's own channels by the token's user", async (t) => {
  const { client, net } = await connected(t, { token: tokenOf({ sub: "ädä" }) });
  assert.equal(client.user, "ädä");
  const list = client.clique.list();
  assert.equal(list.channel, "clique.list:ädä");
  assert.equal(client.clique.list(), list);
  assert.equal(list.view.order, "descending");
  assert.equal(client.clique.chat("p1").channel, "clique.chat:p1");
  assert.equal(client.state.threads().channel, "state.threads:ädä");
  assert.equal(client.state.events().channel, "state.events:ädä");
  assert.equal(client.push.deviceMap().channel, "push.devices:ädä");
  const { id } = await net.last.command("subscribe");
  net.last.say({ id, subscribe: { type: 1, epoch: "e", state: [{ key: "p9", data: { with: "bob" } }] } });
  // A message to a person whose conversation is known is found again by that conversation's channel.
  const send = client.clique.send({ to: "bob", text: "hi", key: "k" });
  await net.last.command("rpc");
  const chat = client.clique.chat("p9");
  const asked = await eventually(() => net.last.commands.find(({ subscribe }) => subscribe?.channel === "clique.chat:p9"));
  net.last.say({ id: asked.id, subscribe: { recoverable: true, epoch: "e", offset: 0 } });
  net.last.say({ push: { channel: chat.channel, pub: { data: { text: "hi", key: "k" }, offset: 1 } } });
  assert.deepEqual(await send, { conversation: "p9", offset: 1 });
});

test("every method of Clique, State and Push says what the documents say", async (t) => {
  const { client, net } = await connected(t, { user: "ada" });
  const { clique, state, push } = client;
  const calls = [
    [clique.accept("bob"), "clique.accept", { person: "bob" }],
    [clique.decline({ conversation: "p1" }), "clique.decline", { conversation: "p1" }],
    [clique.disconnect("bob"), "clique.disconnect", { person: "bob" }],
    [clique.block("bob"), "clique.block", { person: "bob" }],
    [clique.unblock("bob"), "clique.unblock", { person: "bob" }],
    [clique.read("p1", 15), "clique.read", { conversation: "p1", offset: 15 }],
    [clique.delivered("p1", 15), "clique.delivered", { conversation: "p1", offset: 15 }],
    [clique.typing("p1"), "clique.typing", { conversation: "p1" }],
    [clique.group.leave("g1"), "clique.group.leave", { conversation: "g1" }],
    [clique.group.add("g1", ["joe"]), "clique.group.add", { conversation: "g1", members: ["joe"] }],
    [clique.group.remove("g1", "joe"), "clique.group.remove", { conversation: "g1", person: "joe" }],
    [clique.group.rename("g1", "Monday"), "clique.group.rename", { conversation: "g1", name: "Monday" }],
    [clique.group.appoint("g1", "joe"), "clique.group.appoint", { conversation: "g1", person: "joe" }],
    [clique.group.dismiss("g1", "joe"), "clique.group.dismiss", { conversation: "g1", person: "joe" }],
    [clique.group.link("g1", { lifetime: 1000, uses: 5 }), "clique.group.link", { conversation: "g1", lifetime: 1000, uses: 5 }],
    [clique.group.links("g1"), "clique.group.links", { conversation: "g1" }],
    [clique.group.revoke("g1", "9be"), "clique.group.revoke", { conversation: "g1", id: "9be" }],
    [clique.group.join("g1.5c"), "clique.group.join", { link: "g1.5c" }],
    [clique.keep("p1", { muted: true }), "clique.keep", { conversation: "p1", muted: true }],
    [clique.draft("p1", "see y", { reply: 12 }), "clique.draft", { conversation: "p1", text: "see y", reply: 12 }],
    [clique.react("p1", 12, "👍"), "clique.react", { conversation: "p1", offset: 12, reaction: "👍" }],
    [clique.edit("p1", 12, "hi"), "publication.edit", { channel: "clique.chat:p1", offset: 12, data: { text: "hi" } }],
    [clique.remove("p1", 12), "publication.delete", { channel: "clique.chat:p1", offset: 12 }],
    [clique.totals(), "clique.totals", {}],
    [clique.report("bob", { reason: "spam", offset: 12 }), "clique.report", { person: "bob", reason: "spam", offset: 12 }],
    [clique.search("park", { limit: 50 }), "clique.search", { text: "park", limit: 50 }],
    [clique.enter("park"), "clique.enter", { place: "park" }],
    [clique.leave("park"), "clique.leave", { place: "park" }],
    [clique.invisible(true), "clique.invisible", { on: true }],
    [clique.crossings({ order: "time", limit: 5 }), "clique.crossings", { order: "time", limit: 5 }],
    [state.begin("bob"), "state.begin", { to: "bob" }],
    [state.cancel("bob", ["x"]), "state.cancel", { to: "bob", pictures: ["x"] }],
    [state.discard(["x"]), "state.discard", { pictures: ["x"] }],
    [state.react("bob", "🔥"), "state.react", { with: "bob", reaction: "🔥" }],
    [state.react("bob"), "state.react", { with: "bob" }],
    [state.seen("bob"), "state.seen", { with: "bob" }],
    [state.delivered("bob"), "state.delivered", { with: "bob" }],
    [state.settings({ limit: 60000 }), "state.settings", { limit: 60000 }],
    [state.block("bob"), "state.block", { user: "bob" }],
    [state.unblock("bob"), "state.unblock", { user: "bob" }],
    [push.register({ kind: "fcm", token: "t" }, { language: "de", preview: "text" }), "push.register",
      { device: { kind: "fcm", token: "t" }, language: "de", preview: "text" }],
    [push.unregister("d"), "push.unregister", { device: "d" }],
    [push.devices(), "push.devices", {}],
    [push.settings({ muted_until: 5 }), "push.settings", { muted_until: 5 }],
    [push.delivered("inbox:#ann", 7), "push.delivered", { subject: "inbox:#ann", offset: 7 }],
    [push.seen("inbox:#ann"), "push.seen", { subject: "inbox:#ann" }],
    [client.delivered("receipts:chat:1", 3), "receipt.delivered", { channel: "receipts:chat:1", offset: 3 }],
    [client.read("receipts:chat:1", 3), "receipt.read", { channel: "receipts:chat:1", offset: 3 }],
    [client.unread(["receipts:chat:1"]), "receipt.unread", { channels: ["receipts:chat:1"] }],
    [client.accountData(), "fanfare.account.data", {}],
    [client.accountExport(), "fanfare.account.export", { cursor: "" }],
    [client.accountDelete("ada"), "fanfare.account.delete", { user: "ada" }],
  ];
  await turn();
  const rpcs = net.last.commands.filter(({ rpc }) => rpc);
  assert.deepEqual(rpcs.map(({ rpc }) => [rpc.method, rpc.data]), calls.map(([, method, data]) => [method, data]));
  for (const { id } of rpcs) net.last.say({ id, rpc: { data: {} } });
  await Promise.all(calls.map(([answer]) => answer));
  const keyed = [
    state.send({ to: "bob", front: "f", rear: "r", replyLimit: 60000, key: "k1" }),
    clique.group.create({ members: ["bob"], name: "Sunday", key: "k2" }),
  ];
  const sent = await eventually(() => { const all = net.last.commands.filter(({ rpc }) => rpc).slice(-2); return all[1].rpc.data.key === "k2" && all; });
  assert.deepEqual(sent.map(({ rpc }) => rpc), [
    { method: "state.send", data: { to: "bob", front: "f", rear: "r", reply_limit: 60000, key: "k1" } },
    { method: "clique.group.create", data: { members: ["bob"], name: "Sunday", key: "k2" } },
  ]);
  for (const { id } of sent) net.last.say({ id, rpc: { data: { phase: "sent" } } });
  assert.deepEqual(await Promise.all(keyed), [{ phase: "sent" }, { phase: "sent" }]);
});

test("a browser is registered by its service worker", async (t) => {
  const { client, net } = await connected(t);
  const registration = {
    pushManager: {
      subscribe: async (wanted) => ({ toJSON: () => ({ endpoint: "https://push.example/1", keys: { p256dh: wanted.applicationServerKey, auth: "a" } }) }),
    },
  };
  const registered = client.push.registerWeb(registration, { vapidKey: "v", language: "en" });
  const { id, rpc } = await net.last.command("rpc");
  assert.deepEqual(rpc.data, { device: { kind: "web", endpoint: "https://push.example/1", keys: { p256dh: "v", auth: "a" } }, language: "en" });
  net.last.say({ id, rpc: { data: { device: "d1" } } });
  assert.deepEqual(await registered, { device: "d1" });
});

test("keys are drawn anew each time", () => {
  const keys = new Set(Array.from({ length: 1000 }, newKey));
  assert.equal(keys.size, 1000);
  for (const key of keys) assert.match(key, /^[0-9a-f]{32}$/);
});
