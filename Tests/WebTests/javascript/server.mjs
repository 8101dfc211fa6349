// Runs a scenario against a real server: node server.mjs SCENARIO. Tests/WebTests/WebServerTests.swift starts the server
// with the configuration that it comes with, and restarts it (kill -9) where a scenario asks for it by a file.
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateSync } from "node:zlib";
import { scenariosOfDocuments } from "./documents.mjs";
import { EventSource } from "./eventsource.mjs";
import { eventually } from "./support.mjs";
import { WebSocket } from "./websocket.mjs";

const { SERVER_URL, TOKEN_SECRET, CONTROL, POLL_SECRET } = process.env;
const address = (path) => new URL(path, SERVER_URL.replace(/^ws/, "http"));
const module = await served();
const { Fanfare, codes, filter } = module;

/** The module that the server serves. */
async function served() {
  const response = await fetch(address("/fanfare.js"));
  assert.equal(response.status, 200);
  const file = join(CONTROL, "fanfare.mjs");
  writeFileSync(file, await response.text());
  return import(pathToFileURL(file));
}

const limit = 120_000;
const soon = (condition, what) => eventually(condition, what, limit);

function token(user, claims = {}) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: user, exp: Math.floor(Date.now() / 1000) + 3600, ...claims })}`;
  return `${text}.${createHmac("sha256", TOKEN_SECRET).update(text).digest("base64url")}`;
}

/** What a backend signs: the keys that a user may track. */
function pollSignature(user, channel, keys) {
  const now = Math.floor(Date.now() / 1000);
  const hash = createHash("sha256").update(keys.join("\0")).digest("hex");
  const text = [now, now + 600, user, channel, hash].join("\0");
  return `${now}:${now + 600}:${createHmac("sha256", POLL_SECRET).update(text).digest("hex")}`;
}

/** A picture of so many grey pixels a side, and a text that says where it was taken. */
function png(side, place = "taken at 52.5 13.4") {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const frame = Buffer.alloc(body.length + 8);
    frame.writeUInt32BE(data.length);
    body.copy(frame, 4);
    frame.writeUInt32BE(crc32(body), body.length + 4);
    return frame;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side);
  head.writeUInt32BE(side, 4);
  head[8] = 8;
  const rows = Buffer.alloc(side * (side + 1), 127);
  for (let row = 0; row < side; row += 1) rows[row * (side + 1)] = 0;
  const text = place ? [chunk("tEXt", Buffer.from(`Comment\0${place}`))] : [];
  const chunks = [chunk("IHDR", head), ...text, chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return new Uint8Array(Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), ...chunks]));
}

/** The checksum of PNG's chunks. */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

const clients = [];
const sockets = new Map();

/** A device of somebody, connected. `cut(device)` ends its connection as a lost network does. */
async function device(user, options = {}) {
  const mine = [];
  class Socket extends WebSocket {
    constructor(url) {
      super(url);
      mine.push(this);
    }
  }
  const client = new Fanfare(SERVER_URL, { WebSocket: Socket, token: token(user), timeout: 60_000, ...options });
  clients.push(client);
  sockets.set(client, mine);
  client.connect();
  await client.ready();
  return client;
}

function cut(client) {
  const socket = sockets.get(client).at(-1);
  if (socket.cut) socket.cut(); else socket.close();
}

let restarts = 0;

/** Has the server killed with SIGKILL and started on the same port and data. */
async function restart(whileAway = () => {}) {
  restarts += 1;
  writeFileSync(join(CONTROL, `kill-${restarts}`), "");
  await soon(() => existsSync(join(CONTROL, `killed-${restarts}`)), "the server's end");
  await whileAway();
  writeFileSync(join(CONTROL, `start-${restarts}`), "");
  await soon(() => existsSync(join(CONTROL, `started-${restarts}`)), "the server's start");
}

const scenarios = {
  async served() {
    for (const name of ["fanfare.js", "fanfare.d.ts"]) {
      const whole = await fetch(address(`/${name}`));
      assert.equal(await whole.text(), readFileSync(new URL(`../../../Sources/Web/${name}`, import.meta.url), "utf8"));
      const again = await fetch(address(`/${name}`), { headers: { "If-None-Match": whole.headers.get("ETag") } });
      assert.deepEqual([again.status, await again.text()], [304, ""]);
      const head = await fetch(address(`/${name}`), { method: "HEAD" });
      assert.equal(head.headers.get("Content-Length"), whole.headers.get("Content-Length"));
    }
    assert.equal((await fetch(address("/fanfare.js"))).headers.get("Content-Type"), "text/javascript; charset=utf-8");
    assert.equal((await fetch(address("/fanfare.js"), { method: "POST" })).status, 405);
  },

  async basics() {
    const [ada, bob] = [await device("ada"), await device("bob")];
    const room = bob.subscribe("chat:42", { recover: true, joinLeave: true });
    await room.ready();
    const seen = [];
    const joined = [];
    room.on("publication", (publication) => seen.push(publication));
    room.on("join", ({ info }) => joined.push(info.user));
    const hers = ada.subscribe("chat:42", { recover: true });
    await hers.ready();
    await soon(() => joined.includes("ada"), "ada's join");
    await hers.publish({ text: "one" }, { key: "k1" });
    await hers.publish({ text: "one" }, { key: "k1" });
    await hers.publish({ text: "two" });
    await soon(() => seen.length === 2, "two messages");
    assert.deepEqual(seen.map(({ data, offset, info }) => [data.text, offset, info.user]), [["one", 1, "ada"], ["two", 2, "ada"]]);
    await assert.rejects(hers.publish({ text: "other" }, { key: "k1" }), { code: 400 });
    const { clients: present } = await hers.presence();
    assert.deepEqual([...present.values()].map(({ user }) => user).sort(), ["ada", "bob"]);
    assert.deepEqual(await hers.presenceStats(), { clients: 2, users: 2 });
    await hers.edit(1, { text: "ONE" });
    await hers.delete(2);
    await soon(() => seen.length === 4, "the changes");
    assert.deepEqual(seen.slice(2).map(({ tags }) => [tags.edits, tags.deletes]), [["1", undefined], [undefined, "2"]]);
    await assert.rejects(room.edit(1, { text: "not mine" }), { code: 103 });
    const { publications, offset } = await hers.history({ limit: 2 });
    assert.deepEqual([publications.map(({ data }) => data), offset], [[{ text: "ONE" }, null], 4]);
    for (let count = 0; count < 20; count += 1) await hers.publish({ count });
    const walked = [];
    for await (const publication of hers.walk({ pageSize: 7 })) walked.push(publication.offset);
    assert.deepEqual(walked, Array.from({ length: 24 }, (_, index) => index + 1));
    const back = [];
    for await (const publication of hers.walk({ pageSize: 7, reverse: true })) back.push(publication.offset);
    assert.deepEqual(back, walked.reverse());
    await assert.rejects(ada.subscribe("nowhere:1").ready(), { code: 102 });
    await assert.rejects(ada.rpc("no.such"), { code: 108 });
    const big = "x".repeat(70_000);
    await assert.rejects(hers.publish(big), { code: codes.messageTooLarge });
    const mine = (await device("cy")).subscribe("chat:42", { filter: filter.eq("user", "cy") });
    const filtered = [];
    mine.on("publication", ({ data }) => filtered.push(data));
    await mine.ready();
    await hers.publish("not for the filter");
    await mine.publish("for the filter");
    await soon(() => filtered.length > 0, "a publication that passes");
    assert.deepEqual(filtered, ["for the filter"]);
    const wrong = new Fanfare(SERVER_URL, { WebSocket, token: `${token("eve")}x` });
    wrong.connect();
    await assert.rejects(wrong.ready(), { code: 3500 });
  },

  /** Beside the official centrifuge-js, whose CommonJS file FANFARE_CENTRIFUGE_JS names: each sees all of the other. */
  async official() {
    const { Centrifuge } = createRequire(import.meta.url)(process.env.FANFARE_CENTRIFUGE_JS);
    const bob = new Centrifuge(SERVER_URL, { websocket: WebSocket, token: token("bob"), timeout: 60_000 });
    try {
      const ada = await device("ada");
      const [hers, his] = [ada.subscribe("chat:9", { recover: true, joinLeave: true }), bob.newSubscription("chat:9", { recoverable: true })];
      const [hersSeen, hisSeen] = [[], []];
      hers.on("publication", ({ data, offset, info }) => hersSeen.push([offset, info.user, data]));
      his.on("publication", ({ data, offset, info }) => hisSeen.push([offset, info.user, data]));
      await hers.ready();
      his.subscribe();
      bob.connect();
      await his.ready(limit);
      for (let count = 0; count < 10; count += 1) {
        await hers.publish({ from: "ada", count }, { key: `k${count}` });
        await his.publish({ from: "bob", count });
      }
      await soon(() => hersSeen.length >= 20 && hisSeen.length >= 20, "twenty publications for each");
      assert.deepEqual(hersSeen, hisSeen);
      assert.deepEqual(hersSeen.map(([offset]) => offset), Array.from({ length: 20 }, (_, index) => index + 1));
      cut(ada);
      await his.publish({ from: "bob", count: 10 });
      await restart();
      await his.ready(limit);
      await his.publish({ from: "bob", count: 11 });
      await hers.publish({ from: "ada", count: 11 });
      await soon(() => hersSeen.length >= 23 && hisSeen.length >= 23, "what was missed");
      assert.deepEqual(hersSeen, hisSeen);
      assert.deepEqual((await hers.presenceStats()).users, 2);
      // The same map, by the journal of one user on two devices.
      const tablet = new Centrifuge(SERVER_URL, { websocket: WebSocket, token: token("ada"), timeout: 60_000 });
      const journal = ada.map("journal:#ada");
      const other = tablet.newMapSubscription("journal:#ada");
      const mirror = new Map();
      other.on("sync", ({ entries }) => { for (const { key, data } of entries) mirror.set(key, data); });
      other.on("update", ({ key, data, removed }) => { if (removed) mirror.delete(key); else mirror.set(key, data); });
      other.subscribe();
      tablet.connect();
      try {
        await journal.ready();
        await soon(() => other.state === "subscribed", "the map of centrifuge-js");
        for (let day = 1; day <= 5; day += 1) await journal.set(`day-${day}`, { day });
        await other.publish("day-6", { day: 6 });
        await other.remove("day-2");
        await soon(() => mirror.size === 5 && journal.view.size === 5 && !journal.view.has("day-2"), "the same five days");
        assert.deepEqual(new Map(journal.view), mirror);
        await soon(() => journal.view.order === "descending", "the order");
        assert.deepEqual([...journal.view.keys()], ["day-6", "day-5", "day-4", "day-3", "day-1"]);
      } finally {
        tablet.disconnect();
      }
    } finally {
      bob.disconnect();
    }
  },

  /** centrifuge-js where no WebSocket is let through: over server-sent events and HTTP streaming, over kill -9 too. */
  async streams() {
    const { Centrifuge } = createRequire(import.meta.url)(process.env.FANFARE_CENTRIFUGE_JS);
    const ada = await device("ada");
    const hers = ada.subscribe("chat:10", { recover: true, joinLeave: true });
    const hersSeen = [];
    hers.on("publication", ({ data, offset }) => hersSeen.push([offset, data]));
    await hers.ready();
    const clients = ["sse", "http_stream"].map((transport) => {
      const refused = { transport: "websocket", endpoint: String(address("/nothing")).replace(/^http/, "ws") };
      const ways = [refused, { transport, endpoint: String(address(`/connection/${transport}`)) }];
      const client = new Centrifuge(ways, {
        websocket: WebSocket, eventsource: EventSource, emulationEndpoint: String(address("/emulation")), token: token(transport), timeout: 60_000,
      });
      const seen = [];
      const room = client.newSubscription("chat:10", { recoverable: true });
      room.on("publication", ({ data, offset }) => seen.push([offset, data]));
      let used = "";
      client.on("connected", (connected) => { used = connected.transport; });
      room.subscribe();
      client.connect();
      return { transport, client, room, seen, used: () => used };
    });
    try {
      for (const { transport, room, used } of clients) {
        await room.ready(limit);
        assert.equal(used(), transport);
      }
      for (let count = 0; count < 10; count += 1) {
        await hers.publish({ count }, { key: `k${count}` });
        for (const { transport, room } of clients) await room.publish({ transport, count });
      }
      const agree = (count) => soon(() => hersSeen.length >= count && clients.every(({ seen }) => seen.length >= count), `${count} for each`);
      await agree(30);
      for (const { seen } of clients) assert.deepEqual(seen, hersSeen);
      assert.deepEqual((await clients[0].room.presenceStats()).numUsers, 3);
      await restart();
      for (const { room } of clients) await room.ready(limit);
      for (const { transport, room } of clients) await room.publish({ transport, after: true });
      await agree(32);
      for (const { seen } of clients) assert.deepEqual(seen, hersSeen);
      assert.deepEqual(hersSeen.map(([offset]) => offset), Array.from({ length: 32 }, (_, index) => index + 1));
    } finally {
      for (const { client } of clients) client.disconnect();
    }
  },

  /** The official centrifuge-js on a shared poll, whose backend gives `count` another version with each question, and has no
   * `gone` at all. */
  async polls() {
    const { Centrifuge } = createRequire(import.meta.url)(process.env.FANFARE_CENTRIFUGE_JS);
    const devices = ["ada", "bob"].map((user) => {
      const client = new Centrifuge(SERVER_URL, { websocket: WebSocket, token: token(user), timeout: 60_000 });
      const votes = client.newSharedPollSubscription("votes", {
        getSignature: async ({ keys }) => ({ keys, signature: pollSignature(user, "votes", keys) }),
      });
      const [seen, gone, errors] = [[], [], []];
      votes.on("update", ({ key, data, version, removed }) => { if (removed) gone.push(key); else seen.push([version, data.n]); });
      votes.on("error", (error) => errors.push(error));
      votes.track(user === "ada" ? ["count", "gone"] : ["count"]);
      votes.subscribe();
      client.connect();
      return { client, votes, seen, gone, errors };
    });
    const [ada, bob] = devices;
    try {
      await soon(() => devices.every(({ seen }) => seen.length >= 3), "three versions for each");
      await soon(() => ada.gone.length === 1, "what is gone");
      assert.deepEqual([...ada.votes.trackedKeys()], ["count"]);
      await restart();
      const before = devices.map(({ seen }) => seen.length);
      await soon(() => devices.every(({ seen }, place) => seen.length >= before[place] + 3), "three more after the server came back");
      for (const { seen, errors } of devices) {
        for (const [place, [version, n]] of seen.entries()) {
          assert.equal(version, n);
          assert.ok(place === 0 || version > seen[place - 1][0], `${seen}`);
        }
        assert.deepEqual(errors, []);
      }
      bob.votes.untrack(["count"]);
      const [hers, his] = [ada.seen.length, bob.seen.length];
      await soon(() => ada.seen.length >= hers + 3, "three more for who still tracks it");
      assert.equal(bob.seen.length, his);
    } finally {
      for (const { client } of devices) client.disconnect();
    }
  },

  async recovery() {
    const [ada, bob] = [await device("ada"), await device("bob")];
    const room = bob.subscribe("chat:1", { recover: true });
    const offsets = [];
    const recoveries = [];
    room.on("publication", ({ data }) => offsets.push(data));
    room.on("subscribed", ({ wasRecovering, recovered }) => recoveries.push([wasRecovering, recovered]));
    const hers = ada.subscribe("chat:1", { recover: true });
    await Promise.all([room.ready(), hers.ready()]);
    const texts = Array.from({ length: 60 }, (_, index) => index);
    const sent = [];
    for (const number of texts.slice(0, 20)) sent.push(hers.publish(number, { key: `n${number}` }));
    await soon(() => offsets.length >= 5, "some messages");
    cut(bob);
    cut(ada);
    for (const number of texts.slice(20, 40)) sent.push(hers.publish(number, { key: `n${number}` }));
    await soon(() => offsets.length >= 25, "messages after the cut");
    await restart(() => {
      for (const number of texts.slice(40)) sent.push(hers.publish(number, { key: `n${number}` }));
    });
    await Promise.all(sent);
    await soon(() => offsets.length >= 60, "all messages");
    assert.deepEqual(offsets, texts);
    assert.ok(recoveries.length >= 3 && recoveries.slice(1).every(([was, whole]) => was && whole), `${recoveries}`);
  },

  async maps() {
    const [phone, tablet] = [await device("ada"), await device("ada")];
    const journal = phone.map("journal:#ada");
    for (let day = 1; day <= 25; day += 1) await journal.set(`day-${day}`, { day });
    const read = tablet.map("journal:#ada", { pageSize: 10 });
    await read.ready();
    assert.equal(read.view.order, "descending");
    await soon(() => journal.view.hasOrder && journal.view.size === 25, "the order of a map that began empty");
    assert.deepEqual([...read.view.keys()], [...journal.view.keys()]);
    assert.deepEqual([...read.view.keys()].slice(0, 2), ["day-25", "day-24"]);
    const changes = [];
    read.on("change", ({ key, removed, data }) => changes.push([key, removed, data?.day]));
    cut(tablet);
    await journal.remove("day-7");
    await journal.set("day-8", { day: 800 });
    await soon(() => read.view.get("day-8")?.day === 800 && !read.view.has("day-7"), "the changes");
    assert.deepEqual(changes, [["day-7", true, undefined], ["day-8", false, 800]]);
    await restart();
    await journal.set("day-26", { day: 26 });
    await soon(() => read.view.has("day-26"), "a change after the restart");
    assert.deepEqual([...read.view], [...journal.view]);
    assert.equal(read.view.at(0).key, "day-26");
    const favorites = phone.map("favorites:#ada", { order: "ascending" });
    await favorites.ready();
    for (const [key, score] of [["bob", 1000], ["cy", 2000], ["club", 1500]]) await favorites.set(key, {}, { score });
    await soon(() => favorites.view.size === 3, "three favorites");
    assert.deepEqual([...favorites.view.keys()], ["bob", "club", "cy"]);
    const page = await tablet.mapPage("favorites:#ada", { limit: 2 });
    assert.deepEqual(page.entries.map(({ key }) => key), ["bob", "club"]);
    assert.equal((await tablet.mapEntry("favorites:#ada", "cy")).score, 2000);
    assert.equal(await tablet.mapEntry("favorites:#ada", "nobody"), undefined);
    const eve = await device("eve");
    await assert.rejects(eve.map("journal:#ada").ready(), { code: 103 });
  },

  async tokens() {
    let asked = 0;
    const client = await device("ada", {
      token: "", getToken: async () => { asked += 1; return token("ada", { exp: Math.floor(Date.now() / 1000) + 3 }); },
    });
    let connections = 1;
    client.on("connected", () => { connections += 1; });
    await soon(() => asked >= 3, "two refreshes");
    assert.deepEqual([connections, client.user, client.connectionState], [1, "ada", "connected"]);
    const claims = () => ({ channel: "$closed", exp: Math.floor(Date.now() / 1000) + 3 });
    let tokens = 0;
    const closed = client.subscribe("$closed", { getToken: async ({ channel }) => {
      assert.equal(channel, "$closed");
      tokens += 1;
      return token("ada", claims());
    } });
    let begun = 0;
    closed.on("subscribed", () => { begun += 1; });
    await soon(() => tokens >= 3, "two refreshes of the subscription");
    assert.equal(begun, 1);
    await assert.rejects(client.subscribe("$other").ready(), { code: 103 });
  },

  async clique() {
    const [ada, bob] = [await device("ada"), await device("bob")];
    const [hers, his] = [ada.clique.list(), bob.clique.list()];
    await Promise.all([hers.ready(), his.ready()]);
    const { conversation, waiting } = await ada.clique.send({ to: "bob", text: "hi" });
    assert.equal(waiting, 1);
    await soon(() => his.view.get(conversation)?.state === "request_in", "the request");
    assert.deepEqual(his.view.get(conversation).messages.map(({ text }) => text), ["hi"]);
    await bob.clique.accept("ada");
    await soon(() => hers.view.get(conversation)?.state === "active", "the conversation");
    const [herChat, hisChat] = [ada.clique.chat(conversation), bob.clique.chat(conversation)];
    await Promise.all([herChat.ready(), hisChat.ready()]);
    const texts = [];
    hisChat.on("publication", ({ data }) => texts.push(data.text));
    const typists = bob.clique.typists(conversation);
    const receipts = ada.clique.receipts(conversation);
    await Promise.all([typists.ready(), receipts.ready()]);
    await ada.clique.typing(conversation);
    await soon(() => typists.view.has("ada"), "somebody types");
    const first = ada.clique.send({ conversation, text: "one" });
    await first;
    cut(ada);
    const sends = ["two", "three"].map((text) => ada.clique.send({ conversation, text }));
    await restart(() => { sends.push(ada.clique.send({ to: "bob", text: "four" })); });
    const answers = await Promise.all(sends);
    assert.ok(answers.every((answer) => answer.conversation === conversation && answer.offset > 0));
    await soon(() => texts.length >= 4, "all messages");
    assert.deepEqual(texts, ["one", "two", "three", "four"]);
    await bob.clique.read(conversation, answers.at(-1).offset);
    await soon(() => receipts.view.get("bob")?.read === answers.at(-1).offset, "the receipt");
    await bob.clique.react(conversation, answers[0].offset, "👍");
    const reactions = ada.clique.reactions(conversation);
    await soon(() => reactions.view.get(`${answers[0].offset}/bob`)?.reaction === "👍", "the reaction");
    await ada.clique.edit(conversation, answers[0].offset, "TWO");
    const found = await bob.clique.search("two");
    assert.deepEqual(found.map(({ data }) => data.text), ["TWO"]);
    await assert.rejects(ada.clique.send({ conversation, text: "x".repeat(5000) }), { code: 106 });
    const { conversation: group } = await ada.clique.group.create({ members: ["bob"], name: "Sunday" });
    await soon(() => his.view.get(group)?.name === "Sunday", "the group");
    assert.equal((await bob.clique.totals()).requests, 0);
    await bob.clique.block("ada");
    await soon(() => bob.clique.blocked().view.has("ada"), "the list of blocked people");
  },

  async people() {
    const [ada, bob] = [await device("ada"), await device("bob")];
    const [own, people] = [ada.clique.profile(), bob.clique.people()];
    await Promise.all([own.ready(), people.ready()]);
    const whole = await ada.clique.pictures.upload(png(64));
    const small = await ada.clique.pictures.upload(png(16));
    await ada.clique.setProfile({
      name: "Ada", fields: { university: "TU" }, picture: { id: whole.id, small: small.id },
    });
    await soon(() => own.view.get("profile")?.picture?.small === small.id, "one's own profile");
    assert.deepEqual(await bob.clique.findPeople("ad"), []);
    await assert.rejects(bob.clique.pictures.download(whole.id), { status: 404 });
    const { conversation } = await ada.clique.send({ to: "bob", text: "hi" });
    await bob.clique.accept("ada");
    await soon(() => people.view.get("ada")?.fields?.university === "TU", "the other's profile");
    assert.deepEqual((await bob.clique.findPeople("ad")).map(({ user }) => user), ["ada"]);
    const seen = await bob.clique.pictures.download(whole.id);
    assert.deepEqual([seen.bytes, seen.type], [png(64, ""), "image/png"], "without what it says of the place");
    const chat = bob.clique.chat(conversation);
    const messages = [];
    chat.on("publication", ({ data }) => messages.push(data));
    await chat.ready();
    await ada.clique.disappear(conversation, 60_000);
    await bob.clique.disappear(conversation, 60_000);
    const picture = await ada.clique.pictures.upload(png(32));
    await restart();
    await ada.clique.send({ conversation, picture: { id: picture.id, hash: "LEHV6n" } });
    await soon(() => messages.some((message) => message.picture?.id === picture.id), "the picture's message");
    const message = messages.at(-1);
    assert.deepEqual([message.picture.width, message.picture.hash], [32, "LEHV6n"]);
    assert.ok(message.expires > Date.now() && message.expires <= Date.now() + 60_000);
    assert.deepEqual((await bob.clique.pictures.download(picture.id)).bytes, png(32, ""));
    await ada.clique.setProfile({ name: "Anna", picture: null });
    await soon(() => people.view.get("ada")?.name === "Anna", "the new name");
    await assert.rejects(bob.clique.pictures.download(whole.id), { status: 404 });
  },

  async state() {
    const [ada, bob] = [await device("ada"), await device("bob")];
    const picture = (bytes) => {
      const picture = new Uint8Array(bytes);
      for (let index = 0; index < bytes; index += 1) picture[index] = (index * 7919) % 251;
      picture.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
      return picture;
    };
    const [hers, his] = [ada.state.threads(), bob.state.threads()];
    const events = [];
    const heard = bob.state.events();
    heard.on("publication", ({ data }) => events.push(data.event));
    await Promise.all([hers.ready(), his.ready(), heard.ready()]);
    const { limit: recording } = await ada.state.begin("bob");
    assert.ok(recording > 0);
    const progress = [];
    const big = picture(300_000);
    const front = await ada.state.pictures.upload(big, { partBytes: 131_072, onProgress: (at) => progress.push(at) });
    const rear = await ada.state.pictures.upload(new Blob([picture(3000)]));
    assert.deepEqual(progress, [131_072, 262_144, 300_000]);
    await assert.rejects(ada.state.pictures.upload(new TextEncoder().encode("no picture at all")), { status: 415 });
    const gone = await ada.state.pictures.upload(picture(500));
    await ada.state.pictures.discard(gone.id);
    const sent = await ada.state.send({ to: "bob", front: front.id, rear: rear.id, caption: "at the sea" });
    assert.equal(sent.phase, "sent");
    await soon(() => his.view.get("ada")?.phase === "received", "something sealed");
    await assert.rejects(bob.state.pictures.download(front.id), { status: 404 });
    await bob.state.begin("ada");
    const [mine, other] = [await bob.state.pictures.upload(picture(900)), await bob.state.pictures.upload(picture(901))];
    await restart();
    const answer = await bob.state.send({ to: "ada", front: mine.id, rear: other.id });
    assert.equal(answer.phase, "revealed");
    await soon(() => hers.view.get("bob")?.phase === "revealed", "the reveal");
    const got = await bob.state.pictures.download(hers.view.get("bob").mine.front);
    assert.deepEqual([got.bytes, got.type], [big, "image/png"]);
    await bob.state.react("ada", "🔥");
    await soon(() => hers.view.get("bob")?.theirs.reaction === "🔥", "the reaction");
    await ada.state.seen("bob");
    await soon(() => events.includes("revealed"), "the events");
    assert.deepEqual(events, ["received", "revealed"]);
  },

  ...scenariosOfDocuments({ token, soon, restart, url: SERVER_URL, control: CONTROL, module }),
};

const name = process.argv[2];
try {
  await scenarios[name]();
  console.log(`ok: ${name}`);
} finally {
  for (const client of clients) client.disconnect();
}
