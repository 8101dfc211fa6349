import assert from "node:assert/strict";
import { test } from "node:test";
import { Fanfare, MapView, TokenRefused, codes, filter, isOver, newKey, showPush } from "../../../Sources/Web/fanfare.js";
import { connected, eventually, fakeWebSocket, url } from "./support.mjs";

const turn = () => new Promise((resolve) => { setImmediate(resolve); });
const tokenOf = (claims) => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;

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
  assert.equal(client.clique.pictures.url, "https://example.com/clique/pictures");
  const away = { WebSocket, cliquePicturesUrl: "https://pictures.example/c", picturesUrl: "/s" };
  const other = new Fanfare("https://example.com/connection/websocket", away);
  assert.deepEqual([other.clique.pictures.url, other.state.pictures.url], ["https://pictures.example/c", "https://example.com/s"]);
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

test("a message that disappears is over at its time, and a loop that comes to it later does not get it", async (t) => {
  assert.deepEqual([isOver({ text: "hi" }), isOver(null), isOver({ expires: 5 }, 4), isOver({ expires: 5 }, 5)], [false, false, false, true]);
  const { client, net } = await connected(t);
  const chat = client.clique.chat("p1");
  net.last.say({ id: (await net.last.command("subscribe")).id, subscribe: { recoverable: true, epoch: "e" } });
  const loop = chat[Symbol.asyncIterator]();
  const soon = Date.now() + 20;
  const texts = [["stays"], ["goes", soon], ["goes later", soon + 3_600_000], ["goes too", soon]];
  for (const [index, [text, expires]] of texts.entries()) {
    net.last.say({ push: { channel: "clique.chat:p1", pub: { data: { text, expires }, offset: index + 1 } } });
  }
  await eventually(() => Date.now() >= soon);
  assert.deepEqual([(await loop.next()).value.data.text, (await loop.next()).value.data.text], ["stays", "goes later"]);
  assert.equal(chat.position.offset, 4);
  const next = loop.next();
  net.last.say({ push: { channel: "clique.chat:p1", pub: { data: { text: "new" }, offset: 5 } } });
  assert.equal((await next).value.data.text, "new");
  const waiting = loop.next();
  chat.unsubscribe();
  assert.equal((await waiting).done, true);
});

/** What a service worker has: what is shown, by tags, and the number on the icon. */
function worker(...tags) {
  const shown = new Map(tags.map((tag) => [tag, { title: "old" }]));
  const badges = [];
  const registration = {
    getNotifications: async ({ tag }) => (shown.has(tag) ? [{ close: () => shown.delete(tag) }] : []),
    showNotification: async (title, options) => void shown.set(options.tag, { title, ...options }),
  };
  return { shown, badges, registration, navigator: { setAppBadge: async (badge) => void badges.push(badge) } };
}

test("a service worker shows, replaces what is still shown, and takes away", async () => {
  const notification = { title: "Bob", body: "hi", navigate: "/chat", tag: "a", silent: true, data: { topic: "clique.message" } };
  const asShown = { title: "Bob", body: "hi", tag: "a", silent: true, data: { topic: "clique.message", navigate: "/chat" } };
  for (const [message, before, after] of [
    [{ notification, app_badge: 2 }, [], [["a", asShown]]],
    [{ notification, update: "a", app_badge: 2 }, ["a"], [["a", asShown]]],
    [{ notification, update: "a", app_badge: 2 }, ["b"], [["b", { title: "old" }]]],
    [{ withdraw: "a", app_badge: 2, data: {} }, ["a", "b"], [["b", { title: "old" }]]],
    [{ withdraw: "a", app_badge: 2, data: {} }, [], []],
  ]) {
    const world = worker(...before);
    await showPush(message, world);
    assert.deepEqual([[...world.shown], world.badges], [after, [2]]);
  }
  const world = worker();
  await showPush({ notification }, { registration: world.registration });
  assert.deepEqual([world.shown.size, world.badges], [1, []]);
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
