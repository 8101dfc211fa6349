// The rules of the console's page that need no browser. The server gives it `ui.js` of the demo beside its own files.
import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";

register(`data:text/javascript,${encodeURIComponent(`
  export async function resolve(specifier, context, next) {
    if (specifier !== "./ui.js" || !context.parentURL?.includes("/Web/console/")) return next(specifier, context);
    return next(new URL("../demo/ui.js", context.parentURL).href, context);
  }`)}`);
globalThis.matchMedia = () => ({ addEventListener() {}, matches: false });

const module = (name) => import(new URL(`../../../Sources/Web/console/${name}.js`, import.meta.url));
const { addressOf, readAddress } = await module("address");
const { CallError, call, eventReader, newKey, onSignedOut } = await module("server");
const format = await module("format");
const { live, readFrame } = await module("live");
const { filterOf, rulesOf } = await module("filter");
const { bodyOf } = await module("channel-publish");
const { chosen, kindOf } = await module("settings");
const { meaningOf } = await module("limit-names");
const { niceCeiling, runs } = await module("plot");
const { findings, placeOf } = await module("overview");
const { oddities } = await module("links");

test("addresses of any name come back as they were", () => {
  for (const name of ["chat:42", "a/b?c#d%", "<img src=x onerror=alert(1)>", "ä ö", "%zz"]) {
    const address = addressOf(["channels", name], { view: "tail", filter: '{"key":"a&b"}', none: "" });
    assert.deepEqual(readAddress(address), {
      path: ["channels", name], query: { view: "tail", filter: '{"key":"a&b"}' },
    });
  }
  assert.deepEqual(readAddress("#/channels/%zz"), { path: ["channels", "%zz"], query: {} });
  assert.deepEqual(readAddress(""), { path: [], query: {} });
});

test("events are whole however the bytes are cut", () => {
  const text = 'data: {"a":1}\r\n\r\n: comment\n\ndata: {"b":\r\ndata: 2}\n\nevent: x\ndata:3\n\n';
  for (let size = 1; size <= text.length; size += 1) {
    const seen = [];
    const take = eventReader((data) => seen.push(JSON.parse(data)));
    for (let at = 0; at < text.length; at += size) take(text.slice(at, at + size));
    assert.deepEqual(seen, [{ a: 1 }, { b: 2 }, 3], `in pieces of ${size}`);
  }
});

test("an event without an end is refused", () => {
  const take = eventReader(() => assert.fail("nothing is whole"));
  assert.throws(() => take(`data: ${"x".repeat(5 << 20)}`), CallError);
});

test("a call that met the end of a session is made again once somebody is signed in", async (t) => {
  const answers = [401, 401, 200];
  const seen = [];
  t.mock.method(globalThis, "fetch", async (address, { headers, body }) => {
    seen.push([String(address).split("/").at(-1), headers["x-fanfare-console"], body]);
    const status = answers.shift();
    return new Response(status === 200 ? '{"result":{"offset":7}}' : '{"message":"ended"}', { status });
  });
  let asked = 0;
  onSignedOut(async () => {
    asked += 1;
  });
  assert.deepEqual(await call("publish", { channel: "a" }), { offset: 7 });
  assert.equal(asked, 2);
  assert.deepEqual(seen, Array(3).fill(["publish", "1", '{"channel":"a"}']));
});

test("calls that meet the end of a session together ask for one password", async (t) => {
  let isIn = false;
  t.mock.method(globalThis, "fetch", async () => (
    isIn ? new Response('{"result":1}') : new Response("{}", { status: 401 })));
  let asked = 0;
  onSignedOut(async () => {
    asked += 1;
    await new Promise((resolve) => { setImmediate(resolve); });
    isIn = true;
  });
  assert.deepEqual(await Promise.all([call("a"), call("b"), call("c")]), [1, 1, 1]);
  assert.equal(asked, 1);
});

test("what a call could not do is a sentence", async (t) => {
  const bodies = [
    [200, '{"error":{"code":103,"message":"not allowed"}}', { code: 103, message: "not allowed" }],
    [413, "the body is too large", { status: 413, message: "the body is too large" }],
    [403, '{"message":"forged"}', { status: 403, message: "forged" }],
    [502, "<html>Bad gateway</html>", { message: "The server answered with status 502.", temporary: true }],
    [200, "{broken", { isLost: true, message: "The answer broke off. Try again." }],
  ];
  for (const [status, body, wanted] of bodies) {
    t.mock.method(globalThis, "fetch", async () => new Response(body, { status }));
    await assert.rejects(call("publish"), wanted);
  }
  t.mock.method(globalThis, "fetch", async () => { throw new TypeError("fetch failed"); });
  await assert.rejects(call("publish"), { name: "Error", isLost: true });
});

test("keys of calls differ", () => {
  const keys = new Set(Array.from({ length: 100 }, newKey));
  assert.equal(keys.size, 100);
  for (const key of keys) assert.match(key, /^[0-9a-f]{32}$/u);
});

test("numbers read well", () => {
  // The point is the language's.
  assert.match(format.seconds(0.0000049), /^4[.,]9 µs$/u);
  assert.match(format.seconds(0.0025), /^2[.,]5 ms$/u);
  assert.equal(format.seconds(3), "3 s");
  assert.match(format.bytes(1536), /^1[.,]5 KiB$/u);
  assert.equal(format.bytes(0), "0 B");
  assert.equal(format.number(NaN), format.unknown);
  assert.equal(format.rate(undefined), format.unknown);
  assert.equal(format.age(64), "64 s");
  assert.equal(format.age(11_100), "3 h 5 min");
  assert.equal(format.percent(0.004), "under 1 %");
  assert.equal(format.oneLine({ a: "x".repeat(500) }, 10).length, 11);
});

test("axes end at numbers that read well, above what they show", () => {
  for (const [value, wanted] of [[0, 1], [3, 5], [1081, 2000], [5123, 10_000], [10, 10], [2400, 2500]]) {
    assert.equal(niceCeiling(value), wanted);
  }
  assert.equal(niceCeiling(0, true), 1024);
  assert.equal(niceCeiling(3000, true), 5 * 1024);
  for (let value = 1; value < 1e9; value *= 1.37) {
    for (const isBytes of [false, true]) {
      const top = niceCeiling(value, isBytes);
      assert.ok(top >= value * 0.999 && top <= Math.max(1024, value * 2.6), `${value} → ${top}`);
    }
  }
});

test("a line is broken where nothing is known", () => {
  const at = (times) => times.map((time) => ({ at: time, value: 1 }));
  assert.deepEqual(runs(at([0, 1000, 2000, 9000, 10_000])).map((run) => run.length), [3, 2]);
  assert.deepEqual(runs([]), []);
});

test("bars of times lie between a microsecond and a second", () => {
  assert.equal(placeOf(1e-9), 0);
  assert.equal(placeOf(0.001), 0.5);
  assert.equal(placeOf(60), 1);
});

test("rules make filters, and filters rules where they can", () => {
  assert.equal(filterOf([{ key: "", cmp: "eq", value: "x" }]), undefined);
  const rules = [
    { key: "user", cmp: "eq", value: "ada" }, { key: "lang", cmp: "in", value: "en, de" },
    { key: "edited", cmp: "nex", value: "" },
  ];
  assert.deepEqual(filterOf(rules.slice(0, 1)), { key: "user", cmp: "eq", val: "ada" });
  const filter = filterOf(rules, "or");
  assert.deepEqual(filter, { op: "or", nodes: [
    { key: "user", cmp: "eq", val: "ada" }, { key: "lang", cmp: "in", vals: ["en", "de"] },
    { key: "edited", cmp: "nex" },
  ] });
  assert.deepEqual(rulesOf(filter), { op: "or", rules });
  assert.equal(rulesOf({ op: "not", nodes: [filter] }), null);
  assert.equal(rulesOf({ op: "and", nodes: [filter] }), null);
  assert.equal(rulesOf({ key: "a", cmp: "like", val: "b" }), null);
});

test("what is published is checked before it is sent", () => {
  const tags = [{ name: "lang", value: "en" }, { name: "", value: "x" }];
  const draft = { data: '{"a":1}', tags, key: "", score: "" };
  assert.deepEqual(bodyOf("c", draft, false), { channel: "c", data: { a: 1 }, tags: { lang: "en" } });
  assert.throws(() => bodyOf("c", draft, true), /needs a key/u);
  assert.deepEqual(bodyOf("c", { ...draft, tags: [], key: "k", score: "-3" }, true),
    { channel: "c", data: { a: 1 }, key: "k", score: -3 });
  assert.throws(() => bodyOf("c", { ...draft, key: "k", score: "1.5" }, true), /whole number/u);
  assert.throws(() => bodyOf("c", { ...draft, data: "null" }, false), /but null/u);
  assert.throws(() => bodyOf("c", { ...draft, data: "{" }, false), /is not JSON/u);
});

test("settings are found by words and by where they come from", () => {
  const settings = [
    { key: "server.port", value: "8000", source: "default", help: "Port for clients." },
    { key: "channel.history_size", value: "100", source: "fanfare.json:24", help: "Publications that are kept." },
    { key: "admin.port", value: "9000", source: "FANFARE_ADMIN_PORT", help: "Port for backends; history too." },
    { key: "log.level", value: "debug", source: "--set", help: "From which level on." },
  ];
  assert.deepEqual(settings.map(({ source }) => kindOf(source)), ["default", "file", "environment", "set"]);
  const keys = (text, kind) => chosen(settings, text, kind).map(({ key }) => key);
  assert.deepEqual(keys("history", ""), ["channel.history_size", "admin.port"]);
  assert.deepEqual(keys("port clients", ""), ["server.port"]);
  assert.deepEqual(keys("", "given"), ["channel.history_size", "admin.port", "log.level"]);
  assert.deepEqual(keys("port", "environment"), ["admin.port"]);
});

test("limits have a meaning and a setting", () => {
  assert.equal(meaningOf("gateway slow").setting, "client.queue_bytes");
  assert.equal(meaningOf("app clique_max_places").setting, "clique.max_places");
  assert.match(meaningOf("app state_max_received").text, /nobody was refused/u);
  assert.equal(meaningOf("gateway user_publications_refused").setting, "client.user_limits.publications_per_second");
  assert.equal(meaningOf("gateway connection_publications").setting, "client.limits.publications_per_second");
  assert.match(meaningOf("gateway disconnect_3012").text, /3012/u);
  for (const name of ["", "something new", "gateway constructor", "__proto__"]) {
    assert.deepEqual(Object.values(meaningOf(name)).filter(Boolean), [], name);
  }
});

test("what somebody should look at is said, the worst first", () => {
  const frame = (more) => readFrame({ now: [], limits: [], ...more }, 1_000_000);
  const say = (given) => {
    live.history.splice(0, Infinity, given);
    return findings(given).map(({ text, isBad }) => [isBad, text]);
  };
  assert.deepEqual(say(frame({})), []);
  const found = say(frame({
    now: [{ name: "refusals of the disk", value: 1, unit: "count" }], troubles: ["gateways that did not answer: 1"],
    limits: [{ name: "gateway slow", value: 2, unit: "per_second" }],
  }));
  assert.deepEqual(found.map(([isBad]) => isBad), [true, true, false]);
  assert.match(found[0][1], /disk/u);
  assert.match(found[2][1], /gateway slow/u);
  live.history.length = 0;
});

test("frames of an older server, without lists, are read", () => {
  const frame = readFrame({}, 5);
  assert.equal(frame.rates.get("publications"), undefined);
  assert.equal(frame.channels.size, 0);
  assert.deepEqual(frame.troubles, []);
});

test("processes that do not fit together are told of", () => {
  const node = { version: "Fanfare 1", name: "a" };
  assert.deepEqual(oddities({ nodes: [node], broker: { version: "Fanfare 1" } }), []);
  assert.equal(oddities({ nodes: [node], broker: { version: "Fanfare 2" }, unanswered: 1 }).length, 2);
});
