import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Fanfare, codes } from "../../../Sources/Web/fanfare.js";
import { fakeWebSocket } from "./support.mjs";

const piece = 65_536;

/** A server of pictures that keeps whole pieces of what comes, and does to each request what the plan says next. */
async function pictureServer(t, plan = []) {
  const kept = new Map();
  const requests = [];
  const paths = new Set();
  const server = createServer((request, response) => {
    const address = new URL(request.url, "http://localhost");
    const id = address.searchParams.get("id") ?? address.pathname.split("/").at(-1);
    const fault = plan.shift() ?? {};
    requests.push([request.method, request.headers["content-range"] ?? request.headers.range ?? ""]);
    paths.add(address.pathname);
    const say = (status, headers = {}, body = "") => { response.writeHead(status, { Connection: "close", ...headers }).end(body); };
    if (fault.status) { request.resume(); return say(fault.status, fault.headers, fault.body); }
    if (request.headers.authorization !== "Bearer good") { request.resume(); return say(401, {}, "get a new token"); }
    const picture = kept.get(id);
    switch (request.method) {
      case "HEAD": return picture ? say(200, { "Upload-Offset": `${picture.length}` }) : say(404);
      case "DELETE": kept.delete(id); return say(200, {}, "{}");
      case "PUT": return put({ id, fault, kept, request, response, say });
      default: return get({ picture, fault, request, response, say });
    }
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  t.after(() => { server.closeAllConnections(); server.close(); });
  const client = new Fanfare(`ws://127.0.0.1:${server.address().port}/connection/websocket`, {
    WebSocket: fakeWebSocket().WebSocket, token: "good", backoff: { minimum: 1, maximum: 2 },
  });
  return { pictures: client.state.pictures, ofClique: client.clique.pictures, kept, requests, paths, address: client.url };
}

function put({ id, fault, kept, request, response, say }) {
  const range = /bytes (\d+)-(\d+)\/(\d+)/.exec(request.headers["content-range"] ?? "");
  const start = range ? Number(range[1]) : 0;
  const total = range ? Number(range[3]) : Number(request.headers["content-length"]);
  const before = start === 0 ? Buffer.alloc(0) : kept.get(id) ?? Buffer.alloc(0);
  if (start !== before.length) { request.resume(); return say(409, { "Upload-Offset": `${before.length}` }); }
  let body = before;
  let isCut = false;
  request.on("data", (chunk) => {
    if (isCut) return;
    body = Buffer.concat([body, chunk]);
    isCut = fault.cutAfter !== undefined && body.length - start > fault.cutAfter;
    const whole = body.length === total ? total : Math.floor(body.length / piece) * piece;
    if (whole > 0) kept.set(id, body.subarray(0, whole));
    if (isCut) response.socket.destroy();
  });
  request.on("end", () => {
    if (!isCut) say(body.length === total ? 201 : 202, { "Upload-Offset": `${kept.get(id)?.length ?? 0}` });
  });
}

function get({ picture, fault, request, response, say }) {
  if (!picture) return say(404, {}, "there is no picture here that you can see");
  const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const isRest = start > 0 && request.headers["if-range"] === "\"v1\"" && !fault.isOther;
  const from = isRest ? start : 0;
  response.writeHead(isRest ? 206 : 200, {
    "Content-Type": "image/png", ETag: "\"v1\"", Connection: "close", "Content-Length": `${picture.length - from}`,
    ...(isRest && { "Content-Range": `bytes ${from}-${picture.length - 1}/${picture.length}` }),
  });
  if (fault.cutAfter === undefined) return response.end(picture.subarray(from));
  response.write(picture.subarray(from, from + fault.cutAfter), () => { response.socket.destroy(); });
}

const bytes = (count) => Uint8Array.from({ length: count }, (_, index) => (index * 31) % 251);

test("a picture is uploaded and fetched", async (t) => {
  const { pictures, kept, requests } = await pictureServer(t);
  const progress = [];
  const { id } = await pictures.upload(bytes(1000), { onProgress: (...at) => progress.push(at) });
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.deepEqual(requests, [["PUT", ""]]);
  assert.deepEqual(progress, [[1000, 1000]]);
  const { bytes: got, type, etag } = await pictures.download(id);
  assert.deepEqual([got, type, etag], [bytes(1000), "image/png", "\"v1\""]);
  await pictures.discard(id);
  assert.equal(kept.size, 0);
});

test("an upload that is cut off goes on with what the server has not", async (t) => {
  const { pictures, kept, requests } = await pictureServer(t, [{ cutAfter: 3 * piece }]);
  const body = bytes(10 * piece + 7);
  const { id } = await pictures.upload(new Blob([body]));
  assert.deepEqual(new Uint8Array(kept.get(id)), body);
  assert.deepEqual(requests.map(([method]) => method), ["PUT", "HEAD", "PUT"]);
  const start = Number(/bytes (\d+)-/.exec(requests[2][1])[1]);
  assert.ok(start >= 3 * piece && start % piece === 0, `${start}`);
});

test("an upload in parts, with a wait where the server asks for one", async (t) => {
  const { pictures, kept, requests } = await pictureServer(
    t, [{}, { status: 429, headers: { "Retry-After": "0" } }]);
  const progress = [];
  const body = bytes(2 * piece + 7);
  const { id } = await pictures.upload(body, { partBytes: 1, onProgress: (done) => progress.push(done) });
  assert.deepEqual(new Uint8Array(kept.get(id)), body);
  assert.deepEqual(progress, [piece, 2 * piece, 2 * piece + 7]);
  assert.deepEqual(requests.map(([method]) => method), ["PUT", "PUT", "HEAD", "PUT", "PUT"]);
});

test("what is refused fails with the server's sentence, and what gets no further fails in the end", async (t) => {
  const refused = await pictureServer(t, [{ status: 413, body: "a picture has at most 8388608 bytes\n" }]);
  await assert.rejects(refused.pictures.upload(bytes(5)), {
    code: codes.pictures, status: 413, message: "a picture has at most 8388608 bytes", temporary: false,
  });
  const taken = await pictureServer(t, [{ status: 409, body: "this id is in use" }]);
  await assert.rejects(taken.pictures.upload(bytes(5)), { status: 409, message: "this id is in use" });
  const busy = await pictureServer(t, Array.from({ length: 100 }, () => ({ status: 503 })));
  await assert.rejects(busy.pictures.upload(bytes(5)), { status: 503, temporary: true });
  assert.ok(busy.requests.length < 30);
  await assert.rejects(busy.pictures.download("x"), { status: 503 });
});

test("a download goes on where it was cut off, and begins anew where the picture is another one", async (t) => {
  const body = bytes(5 * piece);
  for (const [plan, methods] of [
    [[{ cutAfter: 2 * piece }], 2],
    [[{ cutAfter: 2 * piece }, { cutAfter: 2 * piece }], 3],
    [[{ cutAfter: 2 * piece }, { isOther: true }], 2],
  ]) {
    const { pictures, kept, requests } = await pictureServer(t, plan);
    kept.set("x", Buffer.from(body));
    const got = await pictures.download("x");
    assert.deepEqual(got.bytes, body);
    assert.equal(requests.length, methods);
    assert.match(requests[1][1], /^bytes=\d+-$/);
  }
});

test("a download has an end: 404 at once, and no more bytes than are allowed", async (t) => {
  const { pictures, kept, address } = await pictureServer(t);
  await assert.rejects(pictures.download("x"), { status: 404, message: /no picture here/ });
  kept.set("x", Buffer.from(bytes(1001)));
  const client = new Fanfare(address, { WebSocket: fakeWebSocket().WebSocket, token: "good", maximumPictureBytes: 1000 });
  await assert.rejects(client.state.pictures.download("x"), { code: codes.pictures, message: /1000 bytes/ });
});

test("a token that is refused is fetched anew, once", async (t) => {
  const { address, kept } = await pictureServer(t);
  const client = (getToken) => new Fanfare(address, { WebSocket: fakeWebSocket().WebSocket, token: "old", getToken });
  await client(async () => "good").state.pictures.upload(bytes(5), { id: "x" });
  assert.equal(kept.size, 1);
  let asked = 0;
  await assert.rejects(
    client(async () => { asked += 1; return "bad"; }).state.pictures.upload(bytes(5)), { status: 401 });
  assert.equal(asked, 1);
});

test("an upload can be cancelled", async (t) => {
  const { pictures } = await pictureServer(t, Array.from({ length: 100 }, () => ({ status: 503 })));
  const controller = new AbortController();
  const upload = pictures.upload(bytes(5), { signal: controller.signal, onProgress: () => {} });
  controller.abort(new Error("given up"));
  await assert.rejects(upload, /given up|abort/);
});

test("pictures of Clique go the same way on their own path, with the server's sentence where one is damaged", async (t) => {
  const { ofClique, kept, requests, paths } = await pictureServer(
    t, [{ cutAfter: 3 * piece }, {}, {}, { cutAfter: 2 * piece }]);
  const body = bytes(10 * piece + 7);
  const { id } = await ofClique.upload(body);
  assert.deepEqual((await ofClique.download(id)).bytes, body);
  assert.deepEqual(requests.map(([method]) => method), ["PUT", "HEAD", "PUT", "GET", "GET"]);
  assert.match(requests.at(-1)[1], /^bytes=\d+-$/);
  await ofClique.discard(id);
  assert.equal(kept.size, 0);
  assert.deepEqual([...paths], ["/clique/pictures", `/clique/pictures/${id}`]);
  const refused = await pictureServer(t, [{ status: 422, body: "the picture is damaged" }, { status: 507, body: "full" }]);
  await assert.rejects(refused.ofClique.upload(bytes(5)), { status: 422, message: "the picture is damaged", temporary: false });
  await assert.rejects(refused.ofClique.upload(bytes(5)), { status: 507, temporary: true });
  assert.equal(refused.requests.length, 2);
});
