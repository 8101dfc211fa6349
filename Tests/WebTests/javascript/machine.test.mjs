import assert from "node:assert/strict";
import { test } from "node:test";
import { Machine, backoffDelay, codes } from "../../../Sources/Web/fanfare.js";
import { World, settings } from "./world.mjs";

/** Shared by tests that look at single steps. */
class Bench {
  constructor(more) {
    this.machine = new Machine(settings(more));
    this.effects = [];
  }

  input(input) {
    this.effects = this.machine.handle(input);
    return this.effects;
  }

  event(event) { return this.input({ type: "transport", attempt: this.machine.attempt, event }); }
  reply(reply) { return this.event({ type: "reply", reply }); }
  kinds() { return this.effects.map(({ type }) => type); }
  sent() { return this.effects.filter(({ type }) => type === "send"); }
  timers() { return this.effects.filter(({ type }) => type === "start").map(({ timer }) => timer); }
  states() { return this.effects.filter(({ type }) => type === "state").map(({ state, code }) => [state, code]); }
  events() { return this.effects.filter(({ type }) => type === "event").map(({ name }) => name); }

  connect(result = {}) {
    this.input({ type: "connect" });
    if (this.machine.phase === "token") return this;
    this.event({ type: "opened" });
    this.reply({ id: 1, connect: { client: "c", ping: 25, pong: true, ...result } });
    return this;
  }
}

test("a connection is opened, says who it is, and is connected", () => {
  const bench = new Bench({ token: "t", data: { a: 1 } });
  assert.deepEqual(bench.input({ type: "connect" }).map(({ type }) => type), ["state", "open", "start"]);
  bench.event({ type: "opened" });
  assert.deepEqual(bench.sent(), [{ type: "send", id: 1, body: { connect: { name: "test", token: "t", data: { a: 1 } } } }]);
  bench.reply({ id: 1, connect: { client: "c", ping: 25, pong: true } });
  assert.equal(bench.machine.phase, "connected");
  assert.deepEqual(bench.states(), [["connected", undefined]]);
  assert.deepEqual(bench.timers(), ["ping"]);
});

test("a ping is answered where the server wants it, and none in time ends the attempt", () => {
  const bench = new Bench().connect();
  assert.deepEqual(bench.reply({}).map(({ type }) => type), ["send", "start"]);
  assert.deepEqual([bench.sent()[0].id, bench.sent()[0].body], [0, null]);
  bench.input({ type: "elapsed", timer: "ping" });
  assert.deepEqual(bench.states(), [["connecting", codes.noPing]]);
  assert.ok(bench.timers().includes("reconnect"));
  const silent = new Bench().connect({ pong: false });
  assert.deepEqual(silent.reply({}).map(({ type }) => type), ["start"]);
});

test("what comes from an older attempt changes nothing", () => {
  const bench = new Bench().connect();
  const old = bench.machine.attempt;
  bench.event({ type: "closed", code: 1006, reason: "" });
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.input({ type: "transport", attempt: old, event: { type: "opened" } });
  assert.deepEqual(bench.effects, []);
  assert.equal(bench.machine.phase, "opening");
});

test("which close codes are final", () => {
  for (const [code, isFinal] of [
    [1000, false], [1006, false], [1009, true], [3001, false], [3005, false], [3012, false], [3499, false], [3500, true],
    [3503, true], [3999, true], [4000, false], [4499, false], [4500, true], [4999, true], [5000, false],
  ]) {
    const bench = new Bench().connect();
    bench.event({ type: "closed", code, reason: "because" });
    assert.equal(bench.machine.phase, isFinal ? "idle" : "backingOff", `${code}`);
  }
});

test("a lost connection is tried again by full-jitter delays that grow to their maximum", () => {
  const backoff = { minimum: 200, maximum: 20_000 };
  assert.equal(backoffDelay(backoff, 0, 0), 200);
  assert.equal(backoffDelay(backoff, 0, 1), 400);
  assert.equal(backoffDelay(backoff, 3, 1), 3200);
  for (let failures = 0; failures < 2000; failures += 1) {
    const delay = backoffDelay(backoff, failures, failures % 7 / 7);
    assert.ok(delay >= 200 && delay <= 20_000);
  }
  assert.equal(backoffDelay(backoff, 2000, 1), 20_000);
});

test("attempts end where there were as many as are allowed", () => {
  const bench = new Bench({ maximumReconnects: 2 });
  bench.input({ type: "connect" });
  for (let failure = 0; failure < 2; failure += 1) {
    bench.event({ type: "closed", code: 1006, reason: "" });
    assert.equal(bench.machine.phase, "backingOff");
    bench.input({ type: "elapsed", timer: "reconnect" });
  }
  bench.event({ type: "closed", code: 1006, reason: "" });
  assert.deepEqual(bench.states(), [["disconnected", codes.connectionLost]]);
});

test("\"online\" does not wait for the delay", () => {
  const bench = new Bench().connect();
  bench.input({ type: "online" });
  assert.deepEqual(bench.effects, []);
  bench.event({ type: "closed", code: 1006, reason: "" });
  bench.input({ type: "online" });
  assert.ok(bench.kinds().includes("open"));
});

test("tokens: fetched before the first attempt, refreshed in time, fetched anew when they have expired", () => {
  const bench = new Bench({ hasGetToken: true }).connect();
  const [{ request }] = bench.effects.filter(({ type }) => type === "fetchToken");
  assert.equal(request.kind, "connect");
  bench.input({ type: "token", request, outcome: { token: "one" } });
  bench.event({ type: "opened" });
  assert.equal(bench.sent()[0].body.connect.token, "one");
  bench.reply({ id: 1, connect: { client: "c", expires: true, ttl: 60 } });
  assert.deepEqual(bench.effects.find(({ timer }) => timer === "refresh").ms, 60_000);
  bench.input({ type: "elapsed", timer: "refresh" });
  const refresh = bench.effects[0].request;
  bench.input({ type: "token", request: refresh, outcome: { token: "two" } });
  assert.deepEqual(bench.sent()[0].body, { refresh: { token: "two" } });
  bench.reply({ id: bench.sent()[0].id, refresh: { expires: true, ttl: 30 } });
  assert.ok(bench.timers().includes("refresh"));
  // A late answer for the first attempt changes nothing.
  bench.input({ type: "token", request, outcome: { token: "late" } });
  assert.equal(bench.machine.token, "two");
  bench.event({ type: "closed", code: 3005, reason: "expired" });
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.event({ type: "opened" });
  bench.reply({ id: 1, error: { code: 109, message: "token expired" } });
  assert.equal(bench.machine.phase, "backingOff");
  bench.input({ type: "elapsed", timer: "reconnect" });
  assert.equal(bench.machine.phase, "token");
  bench.input({ type: "token", request: bench.effects.find(({ type }) => type === "fetchToken").request, outcome: { refused: true } });
  assert.deepEqual(bench.states(), [["disconnected", codes.unauthorized]]);
});

test("a token that the server refuses is replaced once, and a connection begins that anew", () => {
  const bench = new Bench({ token: "old", hasGetToken: true });
  const fetched = (token) => {
    bench.input({ type: "elapsed", timer: "reconnect" });
    assert.equal(bench.machine.phase, "token");
    bench.input({ type: "token", request: bench.effects.find(({ type }) => type === "fetchToken").request, outcome: { token } });
    bench.event({ type: "opened" });
  };
  bench.input({ type: "connect" });
  bench.event({ type: "opened" });
  bench.event({ type: "closed", code: 3500, reason: "invalid token" });
  assert.equal(bench.machine.phase, "backingOff");
  fetched("new");
  assert.equal(bench.sent()[0].body.connect.token, "new");
  bench.reply({ id: 1, connect: { client: "c" } });
  bench.event({ type: "closed", code: 3001, reason: "shutdown" });
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.event({ type: "opened" });
  bench.event({ type: "closed", code: 3500, reason: "invalid token" });
  fetched("newer");
  bench.event({ type: "closed", code: 3500, reason: "invalid token" });
  assert.deepEqual(bench.states(), [["disconnected", 3500]]);
});

test("a token that is revoked while it is in use is the end", () => {
  const bench = new Bench({ token: "t", hasGetToken: true });
  bench.input({ type: "connect" });
  bench.event({ type: "opened" });
  bench.reply({ id: 1, connect: { client: "c" } });
  bench.event({ type: "closed", code: 3500, reason: "revoked" });
  assert.deepEqual(bench.states(), [["disconnected", 3500]]);
});

test("an expired token without getToken is the end", () => {
  const bench = new Bench({ token: "t" });
  bench.input({ type: "connect" });
  bench.event({ type: "opened" });
  bench.reply({ id: 1, error: { code: 109, message: "token expired" } });
  assert.deepEqual(bench.states(), [["disconnected", codes.unauthorized]]);
});

test("a subscription recovers from the last publication that was handed on", () => {
  const bench = new Bench();
  bench.input({ type: "subscribe", id: 7, channel: "news", options: { recoverable: true } });
  bench.connect();
  assert.deepEqual(bench.sent()[0].body, { subscribe: { channel: "news", recoverable: true } });
  bench.reply({ id: 2, subscribe: { recoverable: true, epoch: "e", offset: 3 } });
  assert.deepEqual(bench.events(), ["subscribed"]);
  bench.reply({ push: { channel: "news", pub: { data: 1, offset: 4 } } });
  bench.reply({ push: { channel: "news", pub: { data: 1, offset: 4 } } });
  assert.deepEqual(bench.events(), [], "a double is dropped");
  bench.event({ type: "closed", code: 3001, reason: "shutdown" });
  assert.deepEqual(bench.events(), ["subscribing"]);
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.event({ type: "opened" });
  bench.reply({ id: 1, connect: {} });
  assert.deepEqual(
    bench.sent()[0].body, { subscribe: { channel: "news", recoverable: true, recover: true, epoch: "e", offset: 4 } });
  bench.reply({
    id: 2,
    subscribe: {
      recoverable: true, epoch: "e", offset: 6, was_recovering: true, recovered: true,
      publications: [{ data: 2, offset: 5 }, { data: 3, offset: 6 }],
    },
  });
  assert.deepEqual(bench.events(), ["subscribed", "publication", "publication"]);
});

test("the server's unsubscribe: below 2500 for good, from there again, with a new token where it has expired", () => {
  const bench = new Bench();
  bench.input({ type: "subscribe", id: 1, channel: "a", options: { hasGetToken: true } });
  bench.connect();
  const first = bench.effects.find(({ type }) => type === "fetchToken").request;
  bench.input({ type: "token", request: first, outcome: { token: "one" } });
  assert.equal(bench.sent()[0].body.subscribe.token, "one");
  bench.reply({ id: 2, subscribe: { expires: true, ttl: 10 } });
  assert.ok(bench.timers().includes("subRefresh:1"));
  bench.reply({ push: { channel: "a", unsubscribe: { code: 2501, reason: "expired" } } });
  assert.deepEqual(bench.events(), ["subscribing"]);
  assert.ok(bench.kinds().includes("fetchToken"));
  bench.input({ type: "token", request: first, outcome: { token: "late" } });
  assert.deepEqual(bench.sent(), [], "a token for the earlier session");
  bench.reply({ push: { channel: "a", unsubscribe: { code: 2000, reason: "server unsubscribe" } } });
  assert.deepEqual(bench.events(), ["unsubscribed"]);
  assert.equal(bench.machine.subscriptions.size, 0);
});

test("errors of a subscribe: temporary ones are tried again, others end it", () => {
  const bench = new Bench();
  bench.input({ type: "subscribe", id: 1, channel: "a", options: {} });
  bench.connect();
  bench.reply({ id: 2, error: { code: 100, message: "internal", temporary: true } });
  assert.deepEqual(bench.events(), ["error"]);
  bench.input({ type: "elapsed", timer: "resubscribe:1" });
  bench.reply({ push: { channel: "a", unsubscribe: { code: 2500 } } });
  assert.deepEqual(bench.effects, [], "while it is asked for, the answer decides");
  bench.reply({ id: 3, error: { code: 103, message: "permission denied" } });
  assert.deepEqual(bench.events(), ["unsubscribed"]);
});

test("unsubscribing tells the server, and what comes for the old subscription is dropped", () => {
  const bench = new Bench();
  bench.input({ type: "subscribe", id: 1, channel: "a", options: {} });
  bench.connect();
  bench.reply({ id: 2, subscribe: {} });
  bench.input({ type: "unsubscribe", id: 1 });
  assert.deepEqual(bench.sent()[0].body, { unsubscribe: { channel: "a" } });
  bench.input({ type: "subscribe", id: 2, channel: "a", options: {} });
  bench.reply({ push: { channel: "a", pub: { data: "old" } } });
  assert.deepEqual(bench.effects, []);
  bench.reply({ id: 3, unsubscribe: {} });
  bench.reply({ id: 4, subscribe: {} });
  bench.reply({ push: { channel: "a", pub: { data: "new" } } });
  assert.deepEqual(bench.events(), ["publication"]);
});

test("server-side subscriptions recover in the connect, and are told of", () => {
  const bench = new Bench({ token: "t" }).connect({
    subs: { inbox: { recoverable: true, epoch: "e", offset: 5, publications: [{ data: 1, offset: 5 }] }, plain: {} },
  });
  assert.deepEqual(bench.events(), ["subscribed", "publication", "subscribed"]);
  bench.reply({ push: { channel: "inbox", pub: { data: 2, offset: 6 } } });
  bench.event({ type: "closed", code: 3010, reason: "insufficient" });
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.event({ type: "opened" });
  assert.deepEqual(bench.sent()[0].body.connect.subs, { inbox: { recover: true, epoch: "e", offset: 6 } });
  bench.reply({ id: 1, connect: { subs: { inbox: { recoverable: true, epoch: "e", offset: 6, recovered: true } } } });
  assert.deepEqual(bench.events(), ["unsubscribed", "subscribed"]);
  bench.reply({ push: { channel: "late", subscribe: { recoverable: false } } });
  assert.deepEqual(bench.events(), ["subscribed"]);
  bench.reply({ push: { channel: "late", unsubscribe: { code: 2000 } } });
  assert.deepEqual(bench.events(), ["unsubscribed"]);
});

test("a code of the server's that declares all state invalid makes every recovery begin anew", () => {
  const bench = new Bench();
  bench.input({ type: "subscribe", id: 1, channel: "a", options: { recoverable: true } });
  bench.connect();
  bench.reply({ id: 2, subscribe: { recoverable: true, epoch: "e", offset: 1 } });
  bench.event({ type: "closed", code: 3014, reason: "state invalidated" });
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.event({ type: "opened" });
  bench.reply({ id: 1, connect: {} });
  assert.deepEqual(bench.sent()[0].body.subscribe.epoch, "_");
});

test("a map is read page by page, then its changes, and recovers; error 112 reads it again", () => {
  const bench = new Bench();
  const map = { pageSize: 2, reverse: false, maximumEntries: 100 };
  bench.input({ type: "subscribe", id: 1, channel: "m", options: { map } });
  bench.connect();
  assert.deepEqual(bench.sent()[0].body, { subscribe: { channel: "m", type: 1, phase: 2, limit: 2 } });
  bench.reply({ id: 2, subscribe: { phase: 2, epoch: "e", offset: 9, cursor: "x", state: [{ key: "a" }, { key: "b" }] } });
  assert.deepEqual(
    bench.sent()[0].body,
    { subscribe: { channel: "m", type: 1, phase: 2, limit: 2, cursor: "x", epoch: "e", offset: 9 } });
  bench.reply({ id: 3, subscribe: { phase: 2, epoch: "e", offset: 9, state: [{ key: "c" }] } });
  assert.deepEqual(bench.sent()[0].body, { subscribe: { channel: "m", type: 1, phase: 1, limit: 2, epoch: "e", offset: 9 } });
  bench.reply({ id: 4, subscribe: { phase: 1, epoch: "e", offset: 10, publications: [{ key: "d", offset: 10 }] } });
  assert.equal(bench.sent()[0].body.subscribe.offset, 10);
  bench.reply({
    id: 5, subscribe: { recoverable: true, epoch: "e", offset: 11, publications: [{ key: "a", removed: true, offset: 11 }] },
  });
  const { fields } = bench.effects.find(({ name }) => name === "subscribed");
  assert.deepEqual(fields.map.state.map(({ key }) => key), ["a", "b", "c"]);
  assert.deepEqual(fields.map.changes.map(({ key }) => key), ["d", "a"]);
  bench.reply({ push: { channel: "m", pub: { key: "z", offset: 12 } } });
  bench.reply({ push: { channel: "m", unsubscribe: { code: 2500 } } });
  assert.deepEqual(
    bench.sent()[0].body,
    { subscribe: { channel: "m", type: 1, phase: 1, limit: 2, epoch: "e", offset: 12, recover: true } });
  bench.reply({ id: 6, error: { code: 112, message: "unrecoverable" } });
  assert.deepEqual(bench.sent()[0].body, { subscribe: { channel: "m", type: 1, phase: 2, limit: 2 } });
  bench.reply({ id: 7, error: { code: 112, message: "unrecoverable" } });
  assert.ok(bench.timers().includes("resubscribe:1"), "a state that cannot be read whole is not asked for without pause");
});

test("a map of more entries than are allowed ends its subscription", () => {
  const bench = new Bench();
  const map = { pageSize: 0, reverse: false, maximumEntries: 1 };
  bench.input({ type: "subscribe", id: 1, channel: "m", options: { map } });
  bench.connect();
  bench.reply({ id: 2, subscribe: { epoch: "e", state: [{ key: "a" }, { key: "b" }] } });
  assert.deepEqual(bench.events(), ["unsubscribed"]);
  assert.deepEqual(bench.sent()[0].body, { unsubscribe: { channel: "m" } });
});

const keyed = (key, lane = "l", more = {}) => ({ key, lane, lifetime: 300_000, ...more });

test("a call waits for the connection, and fails with a sentence where none comes in time", () => {
  const bench = new Bench();
  bench.input({ type: "call", id: 1, body: "", bytes: 1 });
  assert.equal(bench.effects[0].error.code, codes.notConnected);
  bench.input({ type: "connect" });
  bench.input({ type: "call", id: 2, body: "", bytes: 1 });
  assert.deepEqual(bench.timers(), ["call:2"]);
  bench.input({ type: "elapsed", timer: "call:2" });
  assert.equal(bench.effects[0].error.code, codes.timedOut);
  assert.match(bench.effects[0].error.message, /nothing was sent/);
});

test("a call without a key fails when its connection is lost; one with a key is sent again", () => {
  const bench = new Bench().connect();
  bench.input({ type: "call", id: 1, body: "\"rpc\":{}", bytes: 1 });
  bench.input({ type: "call", id: 2, body: "\"publish\":{}", bytes: 1, keyed: keyed("k") });
  bench.event({ type: "closed", code: 1006, reason: "" });
  const settled = bench.effects.filter(({ type }) => type === "settle");
  assert.deepEqual(settled.map(({ id, error }) => [id, error.code]), [[1, codes.connectionLost]]);
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.event({ type: "opened" });
  bench.reply({ id: 1, connect: {} });
  assert.deepEqual(bench.sent().map(({ body }) => body), ["\"publish\":{}"]);
  bench.reply({ id: 2, publish: {} });
  assert.deepEqual(bench.effects.find(({ type }) => type === "settle").result, { id: 2, publish: {} });
});

test("calls of a lane go one after another, over temporary errors and lost answers", () => {
  const bench = new Bench().connect();
  for (const id of [1, 2]) bench.input({ type: "call", id, body: `"${id}"`, bytes: 1, keyed: keyed(`k${id}`) });
  assert.deepEqual(bench.sent(), [], "the second waits");
  bench.reply({ id: 2, error: { code: 111, message: "too many", temporary: true } });
  assert.deepEqual(bench.timers(), ["pause:1"]);
  bench.input({ type: "elapsed", timer: "pause:1" });
  assert.deepEqual(bench.sent().map(({ body }) => body), ["\"1\""]);
  bench.input({ type: "elapsed", timer: "answer:1" });
  bench.input({ type: "elapsed", timer: "pause:1" });
  // The answer to the second try comes after the third was sent.
  bench.reply({ id: 3, publish: {} });
  assert.deepEqual(bench.effects.filter(({ type }) => type === "settle").map(({ id }) => id), [1]);
  assert.deepEqual(bench.sent().map(({ body }) => body), ["\"2\""]);
  bench.reply({ id: 4, publish: {} });
  assert.deepEqual(bench.effects, [], "the answer to the third try");
  bench.reply({ id: 5, error: { code: 103, message: "permission denied" } });
  assert.equal(bench.effects.find(({ type }) => type === "settle").error.code, 103);
  assert.equal(bench.machine.lanes.size, 0);
});

test("what may have been done, and whose key may be forgotten, is not sent twice", () => {
  const bench = new Bench().connect();
  bench.input({ type: "call", id: 1, body: "", bytes: 1, keyed: keyed("k") });
  assert.equal(bench.effects.find(({ timer }) => timer === "old:1").ms, 270_000);
  bench.event({ type: "closed", code: 1006, reason: "" });
  bench.input({ type: "elapsed", timer: "old:1" });
  assert.equal(bench.effects.find(({ type }) => type === "settle").error.code, codes.inDoubt);
  bench.connect();
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.event({ type: "opened" });
  bench.reply({ id: 1, connect: {} });
  bench.input({ type: "call", id: 3, body: "", bytes: 1, keyed: keyed("i") });
  bench.input({ type: "elapsed", timer: "old:3" });
  assert.deepEqual(bench.effects, [], "its answer may come yet");
  bench.input({ type: "elapsed", timer: "answer:3" });
  assert.equal(bench.effects.find(({ type }) => type === "settle").error.code, codes.inDoubt);
  bench.event({ type: "closed", code: 1006, reason: "" });
  bench.input({ type: "call", id: 2, body: "", bytes: 1, keyed: keyed("j") });
  bench.input({ type: "elapsed", timer: "keep:2" });
  assert.equal(bench.effects[0].error.code, codes.keptTooLong, "never sent, so not in doubt");
});

test("a message in doubt waits for its channel to recover, and is struck out where it stands there", () => {
  const bench = new Bench();
  bench.input({ type: "subscribe", id: 9, channel: "chat", options: { recoverable: true } });
  bench.connect();
  bench.reply({ id: 2, subscribe: { recoverable: true, epoch: "e", offset: 0 } });
  bench.input({ type: "call", id: 1, body: "", bytes: 1, after: "chat", keyed: keyed("k", "clique") });
  bench.event({ type: "closed", code: 1006, reason: "" });
  bench.input({ type: "elapsed", timer: "reconnect" });
  bench.event({ type: "opened" });
  bench.reply({ id: 1, connect: {} });
  assert.deepEqual(bench.sent().map(({ body }) => Object.keys(body)), [["subscribe"]], "not the message yet");
  bench.reply({
    id: 2,
    subscribe: {
      recoverable: true, epoch: "e", offset: 1, was_recovering: true, recovered: true,
      publications: [{ data: { text: "hi", key: "k" }, offset: 1 }],
    },
  });
  const settled = bench.effects.find(({ type }) => type === "settle");
  assert.deepEqual(settled.result, { witness: { channel: "chat", offset: 1 } });
  assert.deepEqual(bench.sent(), []);
});

test("a call that is cancelled or not answered leaves nothing behind", () => {
  const bench = new Bench().connect();
  bench.input({ type: "call", id: 1, body: "", bytes: 1 });
  bench.input({ type: "cancel", id: 1 });
  bench.input({ type: "call", id: 2, body: "", bytes: 1 });
  bench.input({ type: "elapsed", timer: "call:2" });
  assert.match(bench.effects[0].error.message, /did not answer in time/);
  assert.equal(bench.machine.pending.size, 0);
  assert.deepEqual(bench.reply({ id: 3, rpc: {} }), [], "an answer that nobody waits for");
});

test("a call on a channel waits until the subscription to it stands", () => {
  const bench = new Bench();
  bench.input({ type: "subscribe", id: 9, channel: "room", options: {} });
  bench.connect();
  bench.input({ type: "call", id: 1, body: "one", bytes: 1, after: "room" });
  bench.input({ type: "call", id: 2, body: "two", bytes: 1, after: "room", keyed: keyed("k") });
  assert.deepEqual(bench.sent(), []);
  bench.input({ type: "call", id: 3, body: "three", bytes: 1, after: "elsewhere" });
  assert.deepEqual(bench.sent().map(({ body }) => body), ["three"]);
  bench.reply({ id: 2, subscribe: {} });
  assert.deepEqual(bench.sent().map(({ body }) => body), ["one", "two"]);
  bench.reply({ push: { channel: "room", unsubscribe: { code: 2500 } } });
  bench.input({ type: "call", id: 4, body: "four", bytes: 1, after: "room" });
  assert.deepEqual(bench.sent(), []);
  bench.input({ type: "unsubscribe", id: 9 });
  assert.ok(bench.sent().some(({ body }) => body === "four"), "without a subscription nothing is waited for");
});

test("queues have an end", () => {
  const bench = new Bench({ maximumCalls: 2, maximumQueued: 2, maximumQueuedBytes: 10 });
  bench.input({ type: "connect" });
  for (const id of [1, 2, 3]) bench.input({ type: "call", id, body: "", bytes: 1 });
  assert.equal(bench.effects[0].error.code, codes.tooManyCalls);
  for (const id of [4, 5, 6]) bench.input({ type: "call", id, body: "", bytes: 4, keyed: keyed(`${id}`) });
  assert.equal(bench.effects[0].error.code, codes.queueFull);
  bench.input({ type: "cancel", id: 4 });
  bench.input({ type: "call", id: 7, body: "", bytes: 7, keyed: keyed("7") });
  assert.equal(bench.effects[0].error.code, codes.queueFull, "by bytes");
});

test("disconnect() ends calls and keeps subscriptions, which go on with connect()", () => {
  const bench = new Bench();
  bench.input({ type: "subscribe", id: 1, channel: "a", options: {} });
  bench.connect();
  bench.reply({ id: 2, subscribe: {} });
  bench.input({ type: "call", id: 3, body: "", bytes: 1 });
  bench.input({ type: "disconnect" });
  assert.deepEqual(bench.events(), ["subscribing"]);
  assert.equal(bench.effects.filter(({ type }) => type === "settle").length, 1);
  assert.deepEqual(bench.machine.calls.size, 0);
  bench.connect();
  assert.deepEqual(bench.sent()[0].body, { subscribe: { channel: "a" } });
});

// Whole runs, by seed

const runs = Number(process.env.FANFARE_WEB_RUNS ?? 300);

test(`${runs} seeded runs of a connection that is cut, of servers that restart and answer late`, () => {
  const reached = { recovered: 0, unrecovered: 0, mapRecovered: 0, mapRead: 0, inDoubt: 0, cut: 0, taken: 0, witnessed: 0 };
  for (let seed = 1; seed <= runs; seed += 1) {
    try {
      run(seed, reached);
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
  }
  // The runs come to what they are there for.
  for (const [what, count] of Object.entries(reached)) assert.ok(count > 0, `no run reached: ${what}`);
});

function run(seed, reached) {
  const world = new World(seed);
  world.input({ type: "connect" });
  const stream = world.subscribe("news");
  const map = world.subscribe("places", { map: { pageSize: 1 + world.draw(4), reverse: false, maximumEntries: 1000 } });
  const publishes = [];
  for (let step = 0; step < 400; step += 1) {
    switch (world.draw(12)) {
      case 0: world.publishElsewhere("news", `other ${step}`); break;
      case 1: {
        const removed = world.random() < 0.3;
        world.changeElsewhere("places", { key: `p${world.draw(9)}`, score: world.draw(5), removed, data: step });
        break;
      }
      case 2: {
        // Some carry their key, as messages of Clique do: what was recovered tells that they were taken.
        const [number, key] = [publishes.length, `k${publishes.length}`];
        publishes.push([world.publish("news", world.random() < 0.5 ? { number } : { number, key }, key), number]);
        break;
      }
      case 3: world.elapse(); break;
      case 4:
        if (world.random() > 0.15) break;
        reached.cut += 1;
        world.cut([1006, 3001, 3010, 3012][world.draw(4)]);
        break;
      case 5:
        if (world.random() < 0.03) { world.cut(); world.server.restart(); }
        if (world.random() < 0.03) world.outage(6 * 60_000);
        if (world.random() < 0.05 && world.connection) {
          const channel = ["news", "places"][world.draw(2)];
          world.push(channel, { unsubscribe: { code: 2500, reason: "insufficient" } });
          world.connection?.subscribed.delete(channel);
        }
        break;
      case 6: case 7: case 8: world.serve(); break;
      default: world.deliver();
    }
  }
  world.settle();
  checkStream(stream, world, reached);
  checkMap(map, world, reached);
  checkPublishes(publishes, world, reached);
  assert.equal(world.machine.pending.size, 0);
  assert.equal(world.machine.calls.size, 0);
  assert.equal(world.machine.queuedBytes, 0);
}

/** No gap and no double but where "subscribed" says that something is lost; and at the end nothing is missing. */
function checkStream({ told, subscription }, world, reached) {
  let last;
  for (const [name, event] of told) {
    if (name === "subscribed") {
      if (event.wasRecovering) reached[event.recovered ? "recovered" : "unrecovered"] += 1;
      if (!event.recovered) last = event.position.offset;
    } else if (name === "publication") {
      assert.equal(event.offset, last + 1, "the next publication");
      last = event.offset;
    }
  }
  assert.equal(subscription.state, "subscribed");
  assert.deepEqual(subscription.position, {
    epoch: world.server.stream("news").epoch, offset: world.server.stream("news").offset,
  });
}

/** The view is the server's map, in its order, and the changes that were told make the same map. */
function checkMap({ told, subscription }, world, reached) {
  const expected = world.server.sorted("places").map(({ key, data }) => [key, data]);
  assert.deepEqual([...subscription.view], expected);
  const replayed = new Map();
  for (const [name, event] of told) {
    if (name === "subscribed") reached[event.recovered ? "mapRecovered" : "mapRead"] += 1;
    if (name !== "change") continue;
    assert.deepEqual(replayed.get(event.key), event.previous);
    if (event.removed) replayed.delete(event.key); else replayed.set(event.key, event.data);
  }
  assert.deepEqual(new Map(expected), replayed);
}

/** Each was published at most once, in order; all that were answered were; what is in doubt says so. */
function checkPublishes(publishes, world, reached) {
  const published = world.server.published.map(({ data }) => data.number);
  assert.deepEqual(published, [...new Set(published)].sort((a, b) => a - b), "once, and in order");
  for (const [id, number] of publishes) {
    const { error, result } = world.settled.get(id);
    if (!error) {
      reached[result.witness ? "witnessed" : "taken"] += 1;
      assert.ok(published.includes(number));
    } else {
      assert.equal(error.code, codes.inDoubt);
      reached.inDoubt += 1;
    }
  }
}
