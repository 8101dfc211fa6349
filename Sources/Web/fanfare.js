/*
 * The client of Fanfare for browsers and Node (18 or newer): one module, no dependencies, JSON over WebSocket.
 * How to use it stands in docs/JAVASCRIPT.md, its types in fanfare.d.ts, what it says on the wire in docs/PROTOCOL.md.
 *
 *   1 Codes and errors        4 Maps in order        7 Fanfare: sockets, timers, effects
 *   2 Machine: calls          5 Events               8 Pictures, of Clique and of State
 *   3 Machine: connection,    6 Subscriptions        9 Clique
 *     subscriptions                                 10 State
 *                                                   11 Notifications
 *
 * `Machine` decides everything and does nothing: an input changes its state and gives effects, in order. It has no
 * clock, no socket and no randomness of its own. `Fanfare` performs the effects and tells the machine what happens.
 *
 * The connection (input → next phase):
 *
 *   phase           connect   token        opened           connect's answer   lost (1)     disconnect, final code
 *   idle            token (2) –            –                –                  –            –
 *   token           –         opening (3)  –                –                  backingOff   idle
 *   opening         –         –            authenticating   –                  backingOff   idle
 *   authenticating  –         –            –                connected (4)      backingOff   idle
 *   connected       –         –            –                –                  backingOff   idle
 *   backingOff      –         –            –                –                  –            idle
 *
 *   (1) closed with a code that lets it come back, no answer or no ping in time, a token that could not be fetched. The
 *       timer `reconnect`, and the browser's "online", lead from backingOff to token.
 *   (2) straight to opening where there is a token, or none is to be fetched.
 *   (3) idle where the token is refused.
 *   (4) an error: 109 with getToken and temporary ones are "lost", all others final. 3500 with getToken is "lost" once:
 *       another token is fetched, and where that is refused too, it is final.
 *
 * A subscription, while the connection stands; when it is lost every phase but none becomes idle:
 *
 *   phase        begin       token       answer                    error                    server's unsubscribe
 *   idle         token (5)   –           –                         –                        none below 2500
 *   token        –           requested   –                         –                        none below 2500
 *   requested    –           –           live; a map's page: (6)   backingOff or none (7)   none below 2500
 *   live         –           –           –                         –                        token; none below 2500
 *   backingOff   token       –           –                         –                        none below 2500
 *
 *   (5) straight to requested where there is a token, or none is to be fetched.
 *   (6) requested again: the next page of the state, then the changes since, until the server says that it is live.
 *   (7) temporary, or 109 with getToken: backingOff. 112 of a map: requested, from its start. All others: none.
 *
 * A call with a key waits in a lane, of which one at a time is under way, so that none overtakes another:
 *
 *   phase     may go (8)            answer     error 100, 111, no answer   connection lost   key may be forgotten
 *   waiting   sent                  –          –                           waiting           in doubt, if it was sent
 *   sent      –                     ends       pausing                     waiting           when it leaves `sent`
 *   pausing   sent, after a while   ends (9)   –                           waiting           in doubt: ends
 *
 *   (8) connected, the first of its lane, and a subscription to the call's channel is live, where there is one.
 *   (9) the answer to an earlier try. A call without a key is sent once; where its answer is lost, it fails.
 */

// ------------------------------------------------------------------------------------------- 1 Codes and errors

/** Codes of this client itself. The server's errors begin at 100, WebSocket's codes at 1000, the protocol's at 2000. */
export const codes = Object.freeze({
  disconnectCalled: 0, unauthorized: 1, badProtocol: 2, messageTooLarge: 3, connectionLost: 4, noPing: 5, timedOut: 6,
  tokenUnavailable: 7, noTransport: 8, slowReader: 9, tooManyCalls: 10, notConnected: 11, queueFull: 12, inDoubt: 13,
  cancelled: 14, unsubscribeCalled: 15, badCall: 16, pictures: 17, keptTooLong: 18,
});

/** What went wrong, as a sentence that says what to do, with the server's code or one of `codes`. */
export class FanfareError extends Error {
  constructor(code, message, { temporary = false, status } = {}) {
    super(message);
    this.name = "FanfareError";
    this.code = code;
    /** The same again, after a moment, may succeed. */
    this.temporary = temporary;
    /** HTTP status, of pictures. */
    if (status !== undefined) this.status = status;
  }
}

/** Throw it from a `getToken` to say that there is no token for this user: the connection or subscription ends. */
export class TokenRefused extends Error {
  constructor(message = "there is no token for this user") {
    super(message);
    this.name = "TokenRefused";
  }
}

const serverError = ({ code, message, temporary }) =>
  new FanfareError(code, message ?? `the server answered with error ${code}`, { temporary: temporary === true });

/** Whether a client comes back by itself after a close code (docs/PROTOCOL.md, "Disconnects and unsubscribes"). */
const reconnectsAfter = (code) => code < 3500 || (code >= 4000 && code < 4500) || code >= 5000;

/** The server does not take the token. */
const invalidToken = 3500;

/** An epoch that no server gives out: a recovery from it fails, and the reader learns that something is lost. */
const invalidEpoch = "_";

/** A random time that grows with the failures in a row. The whole span is random, so that clients of a server that was
 *  restarted do not all come back at the same moment. Milliseconds. */
export function backoffDelay({ minimum, maximum }, failures, random) {
  const ceiling = Math.min(maximum, minimum * 2 ** (Math.min(failures, 20) + 1));
  return Math.round(minimum + Math.max(0, ceiling - minimum) * random);
}

/** The conditions of a subscription's filter on tags. */
export const filter = Object.freeze({
  eq: (key, val) => ({ key, cmp: "eq", val }), neq: (key, val) => ({ key, cmp: "neq", val }),
  in: (key, vals) => ({ key, cmp: "in", vals }), nin: (key, vals) => ({ key, cmp: "nin", vals }),
  exists: (key) => ({ key, cmp: "ex" }), missing: (key) => ({ key, cmp: "nex" }),
  startsWith: (key, val) => ({ key, cmp: "sw", val }), endsWith: (key, val) => ({ key, cmp: "ew", val }),
  contains: (key, val) => ({ key, cmp: "ct", val }),
  gt: (key, val) => ({ key, cmp: "gt", val: String(val) }), gte: (key, val) => ({ key, cmp: "gte", val: String(val) }),
  lt: (key, val) => ({ key, cmp: "lt", val: String(val) }), lte: (key, val) => ({ key, cmp: "lte", val: String(val) }),
  and: (...nodes) => ({ op: "and", nodes }), or: (...nodes) => ({ op: "or", nodes }),
  not: (node) => ({ op: "not", nodes: [node] }),
});

// ------------------------------------------------------------------------------------------- 2 Machine: calls

/** Calls that wait: those without a key in no order, those with one in lanes. `Machine` adds the connection to it. */
class CallMachine {
  constructor(settings) {
    this.settings = settings;
    this.phase = "idle";
    this.effects = [];
    this.lastCommand = 0;
    /** Command id → who waits for its answer. */
    this.pending = new Map();
    this.calls = new Map();
    /** Lane → ids of its calls, the first of which may be under way. */
    this.lanes = new Map();
    this.queuedBytes = 0;
    this.subscriptions = new Map();
    this.byChannel = new Map();
  }

  emit(type, fields) { this.effects.push({ type, ...fields }); }
  start(timer, ms) { this.emit("start", { timer, ms }); }
  stop(timer) { this.emit("stop", { timer }); }
  event(id, name, fields) { this.emit("event", { id, name, fields }); }
  jitter(low, high) { return Math.round(low + (high - low) * this.settings.random()); }

  send(body, waiting, timed = true) {
    this.lastCommand = this.lastCommand >= 0xffffffff ? 1 : this.lastCommand + 1;
    this.pending.set(this.lastCommand, waiting);
    this.emit("send", { id: this.lastCommand, body });
    if (timed) this.start(`command:${this.lastCommand}`, this.settings.timeout);
    return this.lastCommand;
  }

  /** `keyed`: { key, lane, lifetime }, the lifetime being how long the server knows the key in milliseconds. `after`: a
   *  channel; where there is a subscription to it, the call waits until that stands. So one publishes where only
   *  subscribers may, and a message in doubt is looked for among what was recovered before it is sent again. */
  onCall({ id, body, bytes, keyed, after }) {
    const { maximumCalls, maximumQueued, maximumQueuedBytes, keepFor, timeout } = this.settings;
    const fail = (code, message) => this.emit("settle", { id, error: new FanfareError(code, message) });
    if (!keyed) {
      if (this.phase === "idle") return fail(codes.notConnected, "there is no connection; call connect() first");
      if (this.calls.size - this.queued >= maximumCalls) {
        return fail(codes.tooManyCalls, `${maximumCalls} calls wait already; wait for one of them`);
      }
    } else if (this.queued >= maximumQueued || this.queuedBytes + bytes > maximumQueuedBytes) {
      return fail(codes.queueFull, `${this.queued} calls wait to be sent; try again when the connection is back`);
    }
    const call = {
      id, body, bytes, keyed, after, phase: "waiting", commands: [], failures: 0, wasSent: false, isOld: false,
    };
    this.calls.set(id, call);
    if (!keyed) {
      this.start(`call:${id}`, timeout);
      if (this.mayGo(call)) this.transmit(call);
      return;
    }
    this.queuedBytes += bytes;
    this.start(`keep:${id}`, keepFor);
    if (!this.lanes.has(keyed.lane)) this.lanes.set(keyed.lane, []);
    this.lanes.get(keyed.lane).push(id);
    this.pump(keyed.lane);
  }

  get queued() {
    let count = 0;
    for (const lane of this.lanes.values()) count += lane.length;
    return count;
  }

  transmit(call) {
    call.phase = "sent";
    // Any of the tries may be answered.
    const { wasSent } = call;
    call.wasSent = true;
    call.commands.push(this.send(call.body, { type: "call", id: call.id }, false));
    if (!call.keyed) return;
    this.start(`answer:${call.id}`, this.settings.timeout);
    // A tenth of the time is kept back for the way to the server and for two clocks that run at different speeds.
    if (!wasSent) this.start(`old:${call.id}`, Math.round(call.keyed.lifetime * 0.9));
  }

  pump(lane) {
    const call = this.calls.get(this.lanes.get(lane)?.[0]);
    if (call && this.mayGo(call)) this.transmit(call);
  }

  pumpAll() {
    for (const call of [...this.calls.values()]) if (!call.keyed && this.mayGo(call)) this.transmit(call);
    for (const lane of [...this.lanes.keys()]) this.pump(lane);
  }

  mayGo({ phase, after }) {
    if (phase !== "waiting" || this.phase !== "connected") return false;
    const id = after === undefined ? undefined : this.byChannel.get(after);
    return id === undefined || this.subscriptions.get(id).phase === "live";
  }

  settle(id, outcome) {
    const call = this.calls.get(id);
    if (!call) return;
    this.calls.delete(id);
    this.emit("settle", { id, ...outcome });
    for (const command of call.commands) this.pending.delete(command);
    if (!call.keyed) return this.stop(`call:${id}`);
    for (const timer of ["keep", "answer", "old", "pause"]) this.stop(`${timer}:${id}`);
    this.queuedBytes -= call.bytes;
    const lane = this.lanes.get(call.keyed.lane).filter((other) => other !== id);
    if (lane.length > 0) this.lanes.set(call.keyed.lane, lane); else this.lanes.delete(call.keyed.lane);
    this.pump(call.keyed.lane);
  }

  callAnswered(id, reply) {
    const call = this.calls.get(id);
    if (!call) return;
    if (!reply.error) return this.settle(id, { result: reply });
    if (call.keyed && (reply.error.code === 100 || reply.error.code === 111)) return this.pause(call);
    this.settle(id, { error: serverError(reply.error) });
  }

  pause(call) {
    if (call.phase === "pausing") return;
    if (call.isOld) return this.doubt(call.id);
    call.phase = "pausing";
    this.stop(`answer:${call.id}`);
    this.start(`pause:${call.id}`, backoffDelay(this.settings.backoff, call.failures, this.settings.random()));
    call.failures += 1;
  }

  doubt(id) {
    this.settle(id, {
      error: new FanfareError(
        codes.inDoubt,
        "the answer was lost, and the server may have forgotten the key by now; look whether it was done"),
    });
  }

  callElapsed(kind, id) {
    const call = this.calls.get(id);
    if (!call) return;
    switch (kind) {
      case "call":
        return this.settle(id, {
          error: new FanfareError(
            codes.timedOut,
            call.phase === "sent"
              ? "the server did not answer in time; whether it was done is not known"
              : "there was no connection or subscription in time, and nothing was sent; try again",
            { temporary: true }),
        });
      case "keep":
        if (call.wasSent) return this.doubt(id);
        return this.settle(id, {
          error: new FanfareError(codes.keptTooLong, "there was no connection for too long, and nothing was sent"),
        });
      case "answer": if (call.phase === "sent") this.pause(call); return;
      case "pause": call.phase = "waiting"; return this.pump(call.keyed.lane);
      case "old": call.isOld = true; if (call.phase !== "sent") this.doubt(id);
    }
  }

  /** The connection is gone: calls with a key wait for the next, the others fail where they were sent. */
  interruptCalls() {
    for (const call of [...this.calls.values()]) {
      if (call.keyed) {
        // The next connection counts its commands anew.
        call.commands = [];
        if (call.phase === "waiting") continue;
        for (const timer of ["answer", "pause"]) this.stop(`${timer}:${call.id}`);
        call.phase = "waiting";
        if (call.isOld) this.doubt(call.id);
      } else if (call.phase === "sent") {
        this.settle(call.id, {
          error: new FanfareError(
            codes.connectionLost, "the connection was lost before the answer; whether it was done is not known",
            { temporary: true }),
        });
      }
    }
  }

  /** A publication that carries the key of a call in doubt is its answer. */
  witnessed(channel, data, offset) {
    const key = data?.key;
    if (key === undefined || this.lanes.size === 0) return;
    for (const [first] of [...this.lanes.values()]) {
      const call = this.calls.get(first);
      if (call.wasSent && call.after === channel && call.keyed.key === key) {
        this.settle(first, { result: { witness: { channel, offset } } });
      }
    }
  }
}

// ------------------------------------------------------------------------ 3 Machine: connection, subscriptions

/** Every decision of the client. `handle(input)` gives the effects of an input. */
export class Machine extends CallMachine {
  constructor(settings) {
    super(settings);
    this.token = settings.token;
    this.attempt = 0;
    this.failures = 0;
    this.needsFreshToken = false;
    this.wasRefused = false;
    /** Server-side subscriptions: channel → { epoch, offset } to recover from, or null. */
    this.serverSide = new Map();
  }

  handle(input) {
    this.effects = [];
    switch (input.type) {
      case "connect": if (this.phase === "idle") { this.failures = 0; this.beginAttempt(); } break;
      case "disconnect":
        if (this.phase !== "idle") this.end(codes.disconnectCalled, "disconnect() was called");
        break;
      case "online": if (this.phase === "backingOff") { this.stop("reconnect"); this.beginAttempt(); } break;
      case "transport": if (input.attempt === this.attempt && this.isOpen) this.onTransport(input.event); break;
      case "elapsed": this.onElapsed(input.timer); break;
      case "token": this.onToken(input); break;
      case "subscribe": this.onSubscribe(input); break;
      case "unsubscribe": this.unsubscribe(input.id, codes.unsubscribeCalled, "unsubscribe() was called"); break;
      case "call": this.onCall(input); break;
      case "cancel":
        this.settle(input.id, { error: new FanfareError(codes.cancelled, "the call was cancelled") });
        break;
      default: throw new Error(`no such input: ${input.type}`);
    }
    return this.effects;
  }

  get isOpen() { return ["opening", "authenticating", "connected"].includes(this.phase); }

  onTransport(event) {
    switch (event.type) {
      case "opened": return this.authenticate();
      case "reply": return this.onReply(event.reply);
      case "malformed": return this.end(codes.badProtocol, event.reason);
      case "closed": return this.onClosed(event.code, event.reason);
    }
  }

  onElapsed(timer) {
    const [kind, rest] = timer.split(":");
    const id = Number(rest);
    switch (kind) {
      case "connect": return this.lose(codes.timedOut, "the server did not answer in time");
      case "reconnect": if (this.phase === "backingOff") this.beginAttempt(); return;
      case "ping": return this.lose(codes.noPing, "no ping came from the server");
      case "refresh":
        if (this.phase === "connected") this.fetchToken({ kind: "refresh", attempt: this.attempt });
        return;
      case "command": return this.commandTimedOut(id);
      case "resubscribe": {
        const record = this.subscriptions.get(id);
        if (this.phase === "connected" && record?.phase === "backingOff") this.beginSubscription(record);
        return;
      }
      case "subRefresh": {
        const record = this.subscriptions.get(id);
        if (record?.phase === "live") this.fetchToken({ kind: "subRefresh", id, session: record.session });
        return;
      }
      default: return this.callElapsed(kind, id);
    }
  }

  // Attempts

  beginAttempt() {
    this.attempt += 1;
    if (this.failures === 0) this.emit("state", { state: "connecting", code: 0, reason: "connect() was called" });
    if (this.settings.hasGetToken && (this.token === "" || this.needsFreshToken)) {
      this.phase = "token";
      this.fetchToken({ kind: "connect", attempt: this.attempt });
    } else {
      this.open();
    }
  }

  open() {
    this.phase = "opening";
    this.emit("open", { attempt: this.attempt });
    this.start("connect", this.settings.timeout);
  }

  authenticate() {
    if (this.phase !== "opening") return;
    this.phase = "authenticating";
    const { name, version, data } = this.settings;
    const connect = { name };
    if (this.token !== "") connect.token = this.token;
    if (version) connect.version = version;
    if (data !== undefined) connect.data = data;
    for (const [channel, position] of this.serverSide) {
      if (position) (connect.subs ??= {})[channel] = { recover: true, ...position };
    }
    this.lastCommand = 0;
    this.send({ connect }, { type: "connect" }, false);
  }

  connected(result) {
    this.phase = "connected";
    this.failures = 0;
    this.wasRefused = false;
    this.stop("connect");
    this.pingInterval = (result.ping ?? 0) * 1000;
    this.answersPings = result.pong === true;
    this.expectPing();
    this.scheduleRefresh(result);
    this.emit("state", { state: "connected", result });
    const subs = result.subs ?? {};
    for (const channel of [...this.serverSide.keys()]) {
      if (!Object.hasOwn(subs, channel)) this.serverUnsubscribed(channel, 2000, "the server does not keep it any more");
    }
    for (const [channel, sub] of Object.entries(subs)) this.serverSubscribed(channel, sub);
    for (const record of this.subscriptions.values()) if (record.phase === "idle") this.beginSubscription(record);
    this.pumpAll();
  }

  connectFailed(error) {
    if (error.code === 109) {
      this.needsFreshToken = true;
      if (this.settings.hasGetToken) return this.lose(error.code, error.message);
      return this.end(codes.unauthorized, "the token has expired, and there is no getToken to fetch another");
    }
    if (error.temporary || error.code < 100) this.lose(error.code, error.message);
    else this.end(error.code, error.message);
  }

  expectPing() { if (this.pingInterval > 0) this.start("ping", this.pingInterval + this.settings.pingDelay); }

  scheduleRefresh({ expires, ttl }) {
    if (!this.settings.hasGetToken) return;
    if (expires) this.start("refresh", (ttl ?? 0) * 1000); else this.stop("refresh");
  }

  /** Ends the attempt or the connection; another attempt follows, unless there were too many. */
  lose(code, reason) {
    const limit = this.settings.maximumReconnects;
    if (limit !== undefined && this.failures >= limit) return this.end(code, reason);
    this.tearDown();
    this.phase = "backingOff";
    this.emit("state", { state: "connecting", code, reason });
    this.start("reconnect", backoffDelay(this.settings.backoff, this.failures, this.settings.random()));
    this.failures += 1;
    this.interruptCalls();
    this.interruptSubscriptions(code, reason);
  }

  /** Ends the connection until `connect()` is called again. Subscriptions stay, to go on from where they were. */
  end(code, reason) {
    this.tearDown();
    this.phase = "idle";
    this.wasRefused = false;
    this.stop("reconnect");
    this.emit("state", { state: "disconnected", code, reason });
    for (const channel of [...this.serverSide.keys()]) this.serverUnsubscribed(channel, code, reason);
    this.interruptCalls();
    for (const { id, keyed, wasSent } of [...this.calls.values()]) {
      if (keyed && wasSent) this.doubt(id);
      else this.settle(id, { error: new FanfareError(code, `not connected: ${reason}`) });
    }
    this.interruptSubscriptions(code, reason);
  }

  tearDown() {
    if (this.isOpen) this.emit("close", { attempt: this.attempt });
    for (const timer of ["connect", "ping", "refresh"]) this.stop(timer);
    for (const [command, waiting] of this.pending) if (waiting.type !== "call") this.stop(`command:${command}`);
    this.pending.clear();
  }

  onClosed(code, reason) {
    if (code === 3014) {
      if (this.settings.hasGetToken) this.token = "";
      for (const record of this.subscriptions.values()) this.invalidate(record);
      for (const [channel, position] of this.serverSide) {
        if (position) this.serverSide.set(channel, { epoch: invalidEpoch, offset: 0 });
      }
    }
    // The server's keys may have changed since the token was given out: another token tells.
    const isRefused = code === invalidToken && this.phase === "authenticating";
    if (isRefused && this.settings.hasGetToken && !this.wasRefused) {
      this.needsFreshToken = this.wasRefused = true;
      return this.lose(code, reason);
    }
    // 1009 is the server's WebSocket layer: the same message would be too large again.
    if (code === 1009) return this.end(codes.messageTooLarge, "a message was larger than the server takes");
    const why = reason || (code === 1006 ? "connection lost" : `the connection was closed with code ${code}`);
    if (reconnectsAfter(code)) this.lose(code === 1006 ? codes.connectionLost : code, why); else this.end(code, why);
  }

  // Replies and pushes

  onReply(reply) {
    if (reply.push) return this.onPush(reply.push);
    if (!reply.id) {
      if (this.phase !== "connected") return;
      if (this.answersPings) this.emit("send", { id: 0, body: null });
      return this.expectPing();
    }
    const waiting = this.pending.get(reply.id);
    if (!waiting) return;
    this.pending.delete(reply.id);
    if (waiting.type === "call") return this.callAnswered(waiting.id, reply);
    this.stop(`command:${reply.id}`);
    const { error } = reply;
    const record = this.subscriptions.get(waiting.id);
    const isCurrent = record !== undefined && record.session === waiting.session;
    switch (waiting.type) {
      case "connect": return error ? this.connectFailed(error) : this.connected(reply.connect ?? {});
      case "refresh": return error ? this.refreshFailed(error) : this.scheduleRefresh(reply.refresh ?? {});
      case "subscribe":
        if (!isCurrent || record.phase !== "requested") return;
        return error ? this.subscribeFailed(record, error) : this.subscribeAnswered(record, reply.subscribe ?? {});
      // Whether the server still has the subscription is not known: the client connects anew, and begins with none.
      case "unsubscribe": if (error) this.lose(codes.connectionLost, error.message); return;
      case "subRefresh":
        if (!isCurrent) return;
        return error ? this.subRefreshFailed(record, error) : this.scheduleSubRefresh(record, reply.sub_refresh ?? {});
    }
  }

  commandTimedOut(command) {
    const waiting = this.pending.get(command);
    if (!waiting) return;
    this.pending.delete(command);
    const record = this.subscriptions.get(waiting.id);
    switch (waiting.type) {
      case "subscribe":
      case "unsubscribe": return this.lose(codes.timedOut, "the server did not answer in time");
      case "refresh": return this.start("refresh", this.jitter(5000, 10000));
      case "subRefresh": if (record?.session === waiting.session) this.retrySubRefresh(record);
    }
  }

  onPush(push) {
    const { channel } = push;
    if (push.disconnect) return this.onClosed(push.disconnect.code, push.disconnect.reason ?? "");
    if (this.phase !== "connected") return;
    const record = this.subscriptions.get(this.byChannel.get(channel));
    if (push.pub) return this.onPublication(channel, record, push.pub);
    if (push.join || push.leave) {
      const [name, info] = push.join ? ["join", push.join.info] : ["leave", push.leave.info];
      // What comes before the answer to a subscribe belongs to an earlier subscription to the channel.
      if (record) { if (record.phase === "live") this.event(record.id, name, { info }); }
      else if (this.serverSide.has(channel)) this.event(0, name, { channel, info });
      return;
    }
    if (push.unsubscribe) {
      const { code = 0, reason = "" } = push.unsubscribe;
      return record ? this.unsubscribedByServer(record, code, reason) : this.serverUnsubscribed(channel, code, reason);
    }
    if (push.subscribe) return this.serverSubscribed(channel, push.subscribe);
    if (push.refresh) return this.scheduleRefresh(push.refresh);
    if (push.message) this.event(0, "message", { data: push.message.data });
  }

  onPublication(channel, record, publication) {
    const offset = publication.offset ?? 0;
    if (record) {
      if (record.phase !== "live" || !this.advances(record.position, record.recoverable, offset)) return;
      this.event(record.id, "publication", { publication });
      this.witnessed(channel, publication.data, offset);
    } else if (this.serverSide.has(channel)) {
      const position = this.serverSide.get(channel);
      if (this.advances(position, position !== null, offset)) this.event(0, "publication", { channel, publication });
    }
  }

  /** Moves a position on. False for a publication that was handed on already. */
  advances(position, recoverable, offset) {
    if (!position || offset === 0) return true;
    if (recoverable && offset <= position.offset) return false;
    position.offset = offset;
    return true;
  }

  // Server-side subscriptions

  serverSubscribed(channel, result) {
    const position = result.recoverable ? { epoch: result.epoch ?? "", offset: result.offset ?? 0 } : null;
    this.serverSide.set(channel, position);
    this.event(0, "subscribed", { channel, result });
    for (const publication of result.publications ?? []) this.event(0, "publication", { channel, publication });
  }

  serverUnsubscribed(channel, code, reason) {
    if (this.serverSide.delete(channel)) this.event(0, "unsubscribed", { channel, code, reason });
  }

  // Subscriptions

  /** `options`: { token, hasGetToken, since, recoverable, positioned, joinLeave, filter, data, map }, and `map`:
   *  { pageSize, reverse, maximumEntries }. */
  onSubscribe({ id, channel, options }) {
    if (this.byChannel.has(channel)) throw new Error(`there is a subscription to ${channel} already`);
    const record = {
      id, channel, options, token: options.token ?? "", phase: "idle", session: 0, failures: 0, recoverable: false,
      position: options.since ? { ...options.since } : null, reading: null,
    };
    this.subscriptions.set(id, record);
    this.byChannel.set(channel, id);
    if (this.phase === "connected") this.beginSubscription(record);
  }

  beginSubscription(record) {
    record.session += 1;
    if (record.token === "" && record.options.hasGetToken) {
      record.phase = "token";
      this.fetchToken({ kind: "subscribe", id: record.id, session: record.session });
    } else {
      this.requestSubscription(record);
    }
  }

  requestSubscription(record) {
    const { options, position } = record;
    record.phase = "requested";
    if (options.map) {
      record.reading = position
        ? { part: "stream", recover: true, position: { ...position }, cursor: "", entries: [] }
        : { part: "state", recover: false, position: null, cursor: "", entries: [] };
      return this.requestMapPart(record);
    }
    const subscribe = { channel: record.channel };
    if (options.recoverable) subscribe.recoverable = true;
    if (position) Object.assign(subscribe, { recover: true, epoch: position.epoch, offset: position.offset });
    this.sendSubscribe(record, subscribe);
  }

  sendSubscribe(record, subscribe) {
    const { options } = record;
    if (record.token !== "") subscribe.token = record.token;
    if (options.positioned) subscribe.positioned = true;
    if (options.joinLeave) subscribe.join_leave = true;
    if (options.filter) subscribe.tf = options.filter;
    if (options.data !== undefined) subscribe.data = options.data;
    this.send({ subscribe }, { type: "subscribe", id: record.id, session: record.session });
  }

  requestMapPart(record) {
    const { part, recover, position, cursor } = record.reading;
    const { pageSize, reverse } = record.options.map;
    const subscribe = { channel: record.channel, type: 1, phase: part === "state" ? 2 : 1 };
    if (pageSize) subscribe.limit = pageSize;
    if (reverse) subscribe.asc = true;
    if (cursor !== "") subscribe.cursor = cursor;
    if (position) Object.assign(subscribe, { epoch: position.epoch, offset: position.offset });
    if (recover) subscribe.recover = true;
    this.sendSubscribe(record, subscribe);
  }

  subscribeAnswered(record, result) {
    if (!record.options.map) return this.subscribed(record, result);
    const { reading } = record;
    const isState = reading.part === "state";
    for (const entry of (isState ? result.state : result.publications) ?? []) reading.entries.push(entry);
    if (reading.entries.length > record.options.map.maximumEntries) {
      // The server has no subscription yet, or one that it is told to forget.
      return this.unsubscribe(record.id, codes.slowReader, "the map has more entries than maximumEntries allows");
    }
    if ((result.phase ?? 0) === 0) return this.subscribed(record, result);
    const position = { epoch: result.epoch ?? "", offset: result.offset ?? 0 };
    if (isState) {
      // All pages have the position of the first: what changed since then comes from the stream.
      reading.position ??= position;
      reading.cursor = result.cursor ?? "";
      if (reading.cursor === "") {
        Object.assign(reading, { part: "stream", state: reading.entries, entries: [] });
      }
    } else {
      reading.position = position;
    }
    this.requestMapPart(record);
  }

  subscribed(record, result) {
    record.phase = "live";
    record.failures = 0;
    record.recoverable = result.recoverable === true;
    const hasPosition = record.recoverable || result.positioned === true;
    const position = hasPosition ? { epoch: result.epoch ?? "", offset: result.offset ?? 0 } : null;
    // Without recovery no position is kept: the server would refuse it, or answer with nothing.
    record.position = record.recoverable ? { ...position } : null;
    this.scheduleSubRefresh(record, result);
    const { reading } = record;
    record.reading = null;
    const fields = { result, position };
    if (reading) {
      const isWhole = !reading.recover;
      fields.map = reading.part === "state"
        ? { isWhole, state: reading.entries, changes: [] }
        : { isWhole, state: reading.state ?? [], changes: reading.entries };
    }
    this.event(record.id, "subscribed", fields);
    if (!reading) {
      for (const publication of result.publications ?? []) {
        this.event(record.id, "publication", { publication });
        this.witnessed(record.channel, publication.data, publication.offset);
      }
    }
    this.pumpAll();
  }

  subscribeFailed(record, error) {
    const isFirstRead = record.reading && !record.reading.recover;
    if (error.code === 112 && record.options.map) {
      record.position = null;
      // Recovery from a position that is too old: the state is read at once. A state that changes faster than it is
      // read is tried again after a while.
      if (isFirstRead) return this.retrySubscribing(record, error);
      return this.requestSubscription(record);
    }
    if (error.code === 109 && record.options.hasGetToken) {
      record.token = "";
      return this.retrySubscribing(record, error);
    }
    if (error.temporary || error.code < 100) return this.retrySubscribing(record, error);
    this.remove(record, error.code, error.message);
  }

  retrySubscribing(record, error) {
    record.phase = "backingOff";
    record.reading = null;
    this.event(record.id, "error", { error: serverError(error) });
    this.start(
      `resubscribe:${record.id}`, backoffDelay(this.settings.backoff, record.failures, this.settings.random()));
    record.failures += 1;
  }

  unsubscribedByServer(record, code, reason) {
    if (code < 2500) return this.remove(record, code, reason);
    // Before the answer to our subscribe, the answer decides.
    if (record.phase !== "live") return;
    if (code === 2502) this.invalidate(record);
    if (code === 2501 && record.options.hasGetToken) record.token = "";
    this.stop(`subRefresh:${record.id}`);
    this.event(record.id, "subscribing", { code, reason });
    this.beginSubscription(record);
  }

  invalidate(record) {
    if (record.options.hasGetToken) record.token = "";
    if (record.position) record.position = { epoch: invalidEpoch, offset: 0 };
  }

  interruptSubscriptions(code, reason) {
    for (const record of this.subscriptions.values()) {
      const wasLive = record.phase === "live";
      record.phase = "idle";
      record.session += 1;
      record.reading = null;
      for (const timer of ["resubscribe", "subRefresh"]) this.stop(`${timer}:${record.id}`);
      if (wasLive) this.event(record.id, "subscribing", { code, reason });
    }
  }

  unsubscribe(id, code, reason) {
    const record = this.subscriptions.get(id);
    if (!record) return;
    const isKnown = record.phase === "requested" || record.phase === "live";
    this.remove(record, code, reason);
    if (this.phase === "connected" && isKnown) {
      this.send({ unsubscribe: { channel: record.channel } }, { type: "unsubscribe" });
    }
  }

  remove(record, code, reason) {
    this.subscriptions.delete(record.id);
    this.byChannel.delete(record.channel);
    for (const timer of ["resubscribe", "subRefresh"]) this.stop(`${timer}:${record.id}`);
    this.event(record.id, "unsubscribed", { code, reason });
    this.pumpAll();
  }

  // Tokens

  fetchToken(request) { this.emit("fetchToken", { request }); }

  /** `outcome`: { token }, { refused: true } or { failed: true }. */
  onToken({ request, outcome }) {
    const { token } = outcome;
    const isRefused = outcome.refused === true || token === "";
    const isOfConnection = request.kind === "connect" || request.kind === "refresh";
    if (isOfConnection) {
      const phase = request.kind === "connect" ? "token" : "connected";
      if (request.attempt !== this.attempt || this.phase !== phase) return;
      if (isRefused) return this.end(codes.unauthorized, "there is no token for this user");
      if (outcome.failed) {
        if (request.kind === "refresh") return this.start("refresh", this.jitter(5000, 10000));
        return this.lose(codes.tokenUnavailable, "no token could be fetched");
      }
      this.token = token;
      this.needsFreshToken = false;
      if (request.kind === "connect") return this.open();
      return void this.send({ refresh: { token } }, { type: "refresh" });
    }
    const record = this.subscriptions.get(request.id);
    const phase = request.kind === "subscribe" ? "token" : "live";
    if (record?.session !== request.session || record.phase !== phase) return;
    if (isRefused) return this.unsubscribe(record.id, codes.unauthorized, "there is no token for this channel");
    if (outcome.failed) {
      if (request.kind === "subRefresh") return this.retrySubRefresh(record);
      return this.retrySubscribing(record, { code: codes.tokenUnavailable, message: "no token could be fetched" });
    }
    record.token = token;
    if (request.kind === "subscribe") return this.requestSubscription(record);
    this.send(
      { sub_refresh: { channel: record.channel, token } },
      { type: "subRefresh", id: record.id, session: record.session });
  }

  refreshFailed(error) {
    const mayPass = error.temporary || error.code < 100 || error.code === 109;
    if (mayPass) return this.start("refresh", this.jitter(5000, 10000));
    this.end(error.code, error.message);
  }

  scheduleSubRefresh(record, { expires, ttl }) {
    if (expires && record.options.hasGetToken) this.start(`subRefresh:${record.id}`, (ttl ?? 0) * 1000);
  }

  retrySubRefresh(record) { this.start(`subRefresh:${record.id}`, this.jitter(10000, 20000)); }

  subRefreshFailed(record, error) {
    if (error.temporary || error.code < 100 || error.code === 109) return this.retrySubRefresh(record);
    this.unsubscribe(record.id, error.code, error.message);
  }
}

// ------------------------------------------------------------------------------------------- 4 Maps in order

/** Keys are compared as the server does, by the bytes of UTF-8; UTF-16 has another order above U+D7FF. */
function compareKeys(a, b) {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (x === y) continue;
    const [isX, isY] = [x >= 0xd800 && x <= 0xdfff, y >= 0xd800 && y <= 0xdfff];
    return isX === isY ? x - y : isX ? 1 : -1;
  }
  return a.length - b.length;
}

/** What a map channel holds now, in the channel's order; read like a `Map` from key to data. */
export class MapView {
  /** The order is known, and not only assumed. */
  hasOrder;
  #entries = new Map();
  #sorted = [];
  #isGiven;
  #sign = 1;

  /** `order`: "key", "ascending", "descending" (by score), or undefined: as the first two entries show. */
  constructor({ order, reverse = false } = {}) {
    this.#isGiven = this.hasOrder = order !== undefined;
    this.reverse = reverse;
    this.#setOrder(order ?? "ascending");
  }

  get size() { return this.#sorted.length; }
  has(key) { return this.#entries.has(key); }
  get(key) { return this.#entries.get(key)?.data; }
  /** The whole entry: { key, data, score, offset, info, tags, time }. */
  entry(key) { return this.#entries.get(key); }
  at(index) { return this.#sorted.at(index); }
  *keys() { for (const entry of this.#sorted) yield entry.key; }
  *values() { for (const entry of this.#sorted) yield entry.data; }
  *entries() { for (const entry of this.#sorted) yield [entry.key, entry.data]; }
  [Symbol.iterator]() { return this.entries(); }
  forEach(f, self) { for (const [key, data] of this) f.call(self, data, key, this); }

  /** What changed: { key, data, previous, removed, entry }; null where nothing did. */
  apply(entry) {
    const old = this.#entries.get(entry.key);
    if (old) this.#sorted.splice(this.#place(old), 1);
    if (entry.removed) {
      this.#entries.delete(entry.key);
      return old ? { key: entry.key, data: undefined, previous: old.data, removed: true, entry } : null;
    }
    this.#entries.set(entry.key, entry);
    this.#sorted.splice(this.#place(entry), 0, entry);
    return { key: entry.key, data: entry.data, previous: old?.data, removed: false, entry };
  }

  /** Holds these entries and no others. The differences, as of `apply`. */
  replace(entries) {
    const old = this.#entries;
    if (!this.#isGiven) this.#infer(entries);
    this.#entries = new Map(entries.map((entry) => [entry.key, entry]));
    this.#sorted = [...this.#entries.values()].sort((a, b) => this.#compare(a, b));
    const changes = [];
    for (const [key, entry] of old) {
      if (!this.#entries.has(key)) changes.push({ key, data: undefined, previous: entry.data, removed: true, entry });
    }
    for (const entry of this.#sorted) {
      const before = old.get(entry.key);
      const isSame = before?.score === entry.score && JSON.stringify(before?.data) === JSON.stringify(entry.data);
      if (before && isSame) continue;
      changes.push({ key: entry.key, data: entry.data, previous: before?.data, removed: false, entry });
    }
    return changes;
  }

  /** Takes the order over that a page of the map shows. Whether it does. */
  learn(entries) {
    if (this.#isGiven || !this.#infer(entries)) return false;
    this.#sorted.sort((a, b) => this.#compare(a, b));
    return true;
  }

  #infer(entries) {
    const order = this.#orderOf(entries);
    if (order === undefined) return false;
    this.#setOrder(order);
    this.hasOrder = true;
    return true;
  }

  #setOrder(order) {
    if (!["key", "ascending", "descending"].includes(order)) {
      throw new FanfareError(codes.badCall, `a map's order is "key", "ascending" or "descending", not "${order}"`);
    }
    this.order = order;
    this.#sign = (order === "descending") !== this.reverse ? -1 : 1;
  }

  #compare(a, b, order = this.order, sign = this.#sign) {
    return sign * ((order === "key" ? 0 : a.score - b.score) || compareKeys(a.key, b.key));
  }

  /** Where the entry stands, or is to stand. */
  #place(entry) {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(this.#sorted[middle], entry) < 0) low = middle + 1; else high = middle;
    }
    return low;
  }

  /** The order in which the server sent a snapshot. By score comes before by key where both fit. */
  #orderOf(entries) {
    if (entries.length < 2) return undefined;
    return ["ascending", "descending", "key"].find((order) => {
      const sign = (order === "descending") !== this.reverse ? -1 : 1;
      return entries.every((entry, index) => index === 0 || this.#compare(entries[index - 1], entry, order, sign) <= 0);
    });
  }
}

// ------------------------------------------------------------------------------------------- 5 Events

const throwLater = (error) => { setTimeout(() => { throw error; }); };

/** `on(name, f)` gives a function that takes `f` away again. What `f` throws is uncaught, and stops nothing here. */
class Emitter {
  #listeners = new Map();

  on(name, f) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(f);
    return () => this.off(name, f);
  }

  once(name, f) {
    const off = this.on(name, (event) => { off(); f(event); });
    return off;
  }

  off(name, f) { this.#listeners.get(name)?.delete(f); }

  /** For the classes of this file. */
  emit(name, event) {
    for (const f of [...(this.#listeners.get(name) ?? [])]) {
      try { f(event); } catch (error) { (globalThis.reportError ?? throwLater)(error); }
    }
  }
}

/** Events for one `for await` loop; a loop that is further behind than the limit ends with an error. What is over when
 *  the loop comes to it is left out. */
class Feed {
  #waiting = [];
  #wake = null;
  #end = null;
  #isOver;
  #onReturn;

  constructor(limit, isOver, onReturn) {
    this.limit = limit;
    this.#isOver = isOver;
    this.#onReturn = onReturn;
  }

  push(value) {
    if (this.#end) return;
    if (this.#waiting.length >= this.limit) {
      return this.finish(new FanfareError(
        codes.slowReader, `${this.limit} events wait for this loop; read faster, or begin again at the last offset`));
    }
    this.#waiting.push(value);
    this.#wake?.();
  }

  finish(error) {
    this.#end ??= { error };
    this.#wake?.();
  }

  async next() {
    for (;;) {
      while (this.#waiting.length > 0) {
        const value = this.#waiting.shift();
        if (!this.#isOver(value)) return { done: false, value };
      }
      if (this.#end) {
        const { error } = this.#end;
        this.#end = { error: undefined };
        this.#onReturn();
        if (error) throw error;
        return { done: true, value: undefined };
      }
      await new Promise((resolve) => { this.#wake = resolve; });
    }
  }

  async return() {
    this.#waiting = [];
    this.finish();
    this.#onReturn();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator]() { return this; }
}

const infoOf = (info) => info && {
  user: info.user ?? "", client: info.client ?? "", connInfo: info.conn_info, chanInfo: info.chan_info,
};

const publicationOf = (channel, wire) => ({
  channel, data: wire.data ?? null, offset: wire.offset ?? 0, info: infoOf(wire.info), tags: wire.tags ?? {},
  time: wire.time ?? 0,
});

const entryOf = (channel, wire) => ({
  ...publicationOf(channel, wire), key: wire.key ?? "", removed: wire.removed === true, score: wire.score ?? 0,
});

const subscribedOf = (channel, result, position) => ({
  channel, position, recoverable: result.recoverable === true, positioned: result.positioned === true,
  wasRecovering: result.was_recovering === true, recovered: result.recovered === true, data: result.data,
});

// ------------------------------------------------------------------------------------------- 6 Subscriptions

/** A subscription to a channel. It begins by itself, and goes on after each reconnect until `unsubscribe()`. */
export class Subscription extends Emitter {
  /** "subscribing", "subscribed" or "unsubscribed". */
  state = "unsubscribed";
  /** The last position from which the subscription could go on; null where the channel keeps no history. */
  position = null;
  #feeds = new Set();
  #feedLimit;

  constructor(client, hooks, channel, options) {
    super();
    this.client = client;
    this.channel = channel;
    this.options = options;
    this.hooks = hooks;
    this.#feedLimit = options.waiting ?? 1000;
  }

  /** Begins again after `unsubscribe()`, from `since` where it is given. */
  subscribe({ since = this.options.since } = {}) { this.hooks.begin(this, since); return this; }
  unsubscribe() { this.hooks.end(this); }

  /** Settles when the subscription stands, or has ended. */
  ready() {
    if (this.state === "subscribed") return Promise.resolve(this);
    return new Promise((resolve, reject) => {
      const fail = ({ code, reason }) => reject(new FanfareError(code, reason));
      if (this.state === "unsubscribed") {
        return fail({ code: codes.unsubscribeCalled, reason: "there is no subscription" });
      }
      const offs = [
        this.on("subscribed", () => { offs.forEach((off) => off()); resolve(this); }),
        this.on("unsubscribed", (event) => { offs.forEach((off) => off()); fail(event); }),
      ];
    });
  }

  publish(data, options) { return this.client.publish(this.channel, data, options); }
  history(options) { return this.client.history(this.channel, options); }
  walk(options) { return this.client.walk(this.channel, options); }
  presence(options) { return this.client.presence(this.channel, options); }
  presenceStats(options) { return this.client.presenceStats(this.channel, options); }
  edit(offset, data, options) { return this.client.edit(this.channel, offset, data, options); }
  delete(offset, options) { return this.client.delete(this.channel, offset, options); }

  /** Publications from now on (of a map: changes), until the subscription ends. */
  [Symbol.asyncIterator]() {
    const { isOver = () => false } = this.options;
    const feed = new Feed(this.#feedLimit, isOver, () => this.#feeds.delete(feed));
    if (this.state === "unsubscribed") feed.finish(); else this.#feeds.add(feed);
    return feed;
  }

  /** For `Fanfare`: what the machine says of this subscription. */
  take(name, fields) {
    const { channel } = this;
    switch (name) {
      case "publication": {
        const publication = publicationOf(channel, fields.publication);
        this.advance(publication);
        return this.feed("publication", publication);
      }
      case "join": case "leave": return this.emit(name, { channel, info: infoOf(fields.info) });
      case "subscribed":
        this.state = "subscribed";
        this.position = fields.position && { ...fields.position };
        return this.emit(name, subscribedOf(channel, fields.result, fields.position));
      case "error": return this.emit(name, { channel, error: fields.error });
      case "subscribing":
        this.state = name;
        return this.emit(name, { channel, ...fields });
      case "unsubscribed":
        this.state = name;
        for (const feed of [...this.#feeds]) feed.finish();
        return this.emit(name, { channel, ...fields });
    }
  }

  advance(publication) { if (this.position && publication.offset > 0) this.position.offset = publication.offset; }

  feed(name, event) {
    for (const feed of this.#feeds) feed.push(event);
    this.emit(name, event);
  }
}

/** A subscription to a map channel. `view` is what it holds; "change" tells of each difference. */
export class MapSubscription extends Subscription {
  #isLearning = false;

  constructor(client, hooks, channel, options) {
    super(client, hooks, channel, options);
    this.view = new MapView(options);
  }

  take(name, fields) {
    if (name === "publication") {
      const entry = entryOf(this.channel, fields.publication);
      this.advance(entry);
      const change = this.view.apply(entry);
      if (change) this.feed("change", change);
      return void this.#learnOrder();
    }
    if (name !== "subscribed") return super.take(name, fields);
    const { isWhole, state, changes } = fields.map;
    const told = isWhole ? this.view.replace(state.map((wire) => entryOf(this.channel, wire))) : [];
    for (const wire of changes) {
      const change = this.view.apply(entryOf(this.channel, wire));
      if (change) told.push(change);
    }
    // The view is whole before anybody hears of it.
    super.take(name, fields);
    for (const change of told) this.feed("change", change);
    this.#learnOrder();
  }

  set(key, data, { score, ...options } = {}) {
    const { client, channel } = this;
    return client.rpc("map.set", { channel, key, data, score }, { after: channel, ...options });
  }

  remove(key, options) {
    return this.client.rpc("map.remove", { channel: this.channel, key }, { after: this.channel, ...options });
  }

  /** A map that began empty does not show its order: the server is asked once there are two entries. */
  async #learnOrder() {
    if (this.view.hasOrder || this.view.size < 2 || this.#isLearning) return;
    this.#isLearning = true;
    try {
      const { entries } = await this.client.mapPage(this.channel, { limit: 100, reverse: this.view.reverse });
      if (this.view.learn(entries)) this.emit("order", { channel: this.channel, order: this.view.order });
    } catch {
      // Asked again with the next change.
    } finally {
      this.#isLearning = false;
    }
  }
}

// ------------------------------------------------------------------------------------------- 7 Fanfare

/** Sixteen random bytes, as 32 hexadecimal digits: a key of a message, or a picture's id. */
export function newKey() {
  const bytes = new Uint8Array(16);
  if (globalThis.crypto?.getRandomValues) globalThis.crypto.getRandomValues(bytes);
  else for (const index of bytes.keys()) bytes[index] = Math.floor(Math.random() * 256);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The user that a token names, unchecked: to name one's own channels. */
function userOf(token) {
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)).sub ?? "";
  } catch {
    return "";
  }
}

const encoder = new TextEncoder();
const byteCount = (text) => encoder.encode(text).length;
const keyLifetime = 5 * 60_000;
const day = 24 * 3_600_000;
const longestTimer = 2 ** 31 - 1;

/** The client. `new Fanfare("wss://example.com/connection/websocket", { getToken }).connect()` */
export class Fanfare extends Emitter {
  /** "disconnected", "connecting" or "connected". */
  connectionState = "disconnected";
  /** The connection's id, as presence shows it to others; "" while there is none. */
  clientId = "";
  #options;
  #machine;
  #socket = null;
  #timers = new Map();
  #outbox = [];
  #effects = [];
  #isPerforming = false;
  #subscriptions = new Map();
  #channels = new Map();
  #calls = new Map();
  #lastId = 0;
  #user;
  #token;
  #onOnline;

  constructor(url, options = {}) {
    super();
    const address = new URL(url, globalThis.location?.href);
    address.protocol = { "http:": "ws:", "https:": "wss:" }[address.protocol] ?? address.protocol;
    this.url = address.href;
    this.#options = {
      timeout: 10_000, maximumMessageBytes: 65_536, commandsPerMessage: 128, tokenTimeout: 30_000,
      WebSocket: globalThis.WebSocket, fetch: globalThis.fetch?.bind(globalThis), random: Math.random, ...options,
    };
    if (!this.#options.WebSocket) {
      throw new FanfareError(codes.noTransport, "there is no WebSocket here; give one with the option WebSocket");
    }
    this.#token = options.token ?? "";
    this.#user = options.user;
    this.#machine = new Machine({
      token: this.#token, hasGetToken: options.getToken !== undefined, name: options.name ?? "fanfare-js",
      version: options.version ?? "", data: options.data, timeout: this.#options.timeout,
      pingDelay: options.pingDelay ?? 10_000, backoff: { minimum: 200, maximum: 20_000, ...options.backoff },
      maximumReconnects: options.maximumReconnects, maximumCalls: options.maximumCalls ?? 1024,
      maximumQueued: options.maximumQueued ?? 1000, maximumQueuedBytes: options.maximumQueuedBytes ?? 4 << 20,
      keepFor: options.keepFor ?? day, random: this.#options.random,
    });
    const { picturesUrl = "/state/pictures", cliquePicturesUrl = "/clique/pictures" } = this.#options;
    const pictures = (path) => new Pictures(this.url, path, this.#options, (isRefused) => this.#httpToken(isRefused));
    this.clique = new Clique(this, pictures(cliquePicturesUrl));
    this.state = new State(this, pictures(picturesUrl));
    this.push = new Push(this);
    this.#onOnline = () => this.#feed({ type: "online" });
  }

  /** The user of the option `user`, or of the token; "" while neither is known. */
  get user() { return this.#user ?? userOf(this.#token); }

  connect() { this.#feed({ type: "connect" }); return this; }
  disconnect() { this.#feed({ type: "disconnect" }); }

  /** Settles when there is a connection, or none will come. */
  ready() {
    if (this.connectionState === "connected") return Promise.resolve(this);
    return new Promise((resolve, reject) => {
      const fail = ({ code, reason }) => reject(new FanfareError(code, reason));
      if (this.connectionState === "disconnected") {
        return fail({ code: codes.notConnected, reason: "call connect() first" });
      }
      const offs = [
        this.on("connected", () => { offs.forEach((off) => off()); resolve(this); }),
        this.on("disconnected", (event) => { offs.forEach((off) => off()); fail(event); }),
      ];
    });
  }

  // Subscriptions

  /** `options`: { recover, since, positioned, joinLeave, filter, token, getToken, data, waiting }. */
  subscribe(channel, options) { return this.#subscription(Subscription, channel, options); }

  /** `options`: { order, reverse, pageSize, maximumEntries, filter, token, getToken, data, waiting }. */
  map(channel, options) { return this.#subscription(MapSubscription, channel, options); }

  subscription(channel) { return this.#channels.get(channel); }

  #subscription(Kind, channel, options) {
    const there = this.#channels.get(channel);
    if (there && there.state !== "unsubscribed") {
      if (options === undefined && there instanceof Kind) return there;
      throw new FanfareError(
        codes.badCall, `there is a subscription to ${channel} already: take subscription(channel), or unsubscribe`);
    }
    const hooks = { begin: (one, since) => this.#begin(one, since), end: (one) => this.#end(one) };
    const subscription = new Kind(this, hooks, channel, options ?? {});
    this.#begin(subscription, subscription.options.since);
    return subscription;
  }

  #begin(subscription, since) {
    const { channel, options } = subscription;
    if (subscription.state !== "unsubscribed") return;
    const there = this.#channels.get(channel);
    if (there && there !== subscription && there.state !== "unsubscribed") {
      throw new FanfareError(codes.badCall, `there is another subscription to ${channel} already`);
    }
    const isMap = subscription instanceof MapSubscription;
    subscription.state = "subscribing";
    subscription.machineId = this.#lastId += 1;
    this.#channels.set(channel, subscription);
    this.#subscriptions.set(subscription.machineId, subscription);
    const map = isMap && {
      pageSize: options.pageSize ?? 0, reverse: options.reverse === true,
      maximumEntries: options.maximumEntries ?? 100_000,
    };
    this.#feed({
      type: "subscribe", id: subscription.machineId, channel,
      options: {
        token: options.token, hasGetToken: options.getToken !== undefined, since: isMap ? undefined : since,
        recoverable: options.recover === true, positioned: options.positioned === true,
        joinLeave: options.joinLeave === true, filter: options.filter, data: options.data, map,
      },
    });
  }

  #end(subscription) {
    if (subscription.state !== "unsubscribed") this.#feed({ type: "unsubscribe", id: subscription.machineId });
  }

  // Calls

  /** With `key` the publication is kept over lost connections, sent again in order, and published once. */
  async publish(channel, data, { key, signal } = {}) {
    const publish = { channel, data, idempotency_key: key };
    const keyed = key === undefined ? undefined : { key, lane: `publish:${channel}`, lifetime: keyLifetime };
    await this.#call({ publish }, { keyed, signal, after: channel });
  }

  async history(channel, { limit = 0, since, reverse, signal } = {}) {
    const { history } = await this.#call({ history: { channel, limit, since, reverse } }, { signal, after: channel });
    return {
      publications: (history.publications ?? []).map((wire) => publicationOf(channel, wire)),
      epoch: history.epoch ?? "", offset: history.offset ?? 0,
    };
  }

  /** Publications of the history, page by page, until its end at the time of the first page. */
  async *walk(channel, { since, reverse = false, pageSize = 100, signal } = {}) {
    let position = since;
    let end;
    for (;;) {
      const page = await this.history(channel, { limit: pageSize, since: position, reverse, signal });
      end ??= page.offset;
      yield* page.publications;
      const last = page.publications.at(-1);
      if (!last || last.offset === 0 || (!reverse && last.offset >= end)) return;
      position = { epoch: page.epoch, offset: last.offset };
    }
  }

  /** `partial`: there are more clients than are named; show the number of `presenceStats`. */
  async presence(channel, { signal } = {}) {
    const { presence } = await this.#call({ presence: { channel } }, { signal, after: channel });
    const clients = Object.entries(presence.presence ?? {}).map(([client, info]) => [client, infoOf(info)]);
    return { clients: new Map(clients), partial: presence.partial === true };
  }

  async presenceStats(channel, { signal } = {}) {
    const { presence_stats: stats } = await this.#call({ presence_stats: { channel } }, { signal, after: channel });
    return { clients: stats.num_clients ?? 0, users: stats.num_users ?? 0 };
  }

  /** `keyed` is for methods that the server does once for a key: { key, lane, lifetime }; the call waits until a
   *  subscription to the channel `after` stands, where there is one. */
  async rpc(method, data = {}, { keyed, signal, after } = {}) {
    const reply = await this.#call({ rpc: { method, data } }, { keyed, signal, after });
    return reply.rpc ? reply.rpc.data : reply;
  }

  edit(channel, offset, data, options) {
    return this.rpc("publication.edit", { channel, offset, data }, { after: channel, ...options });
  }

  delete(channel, offset, options) {
    return this.rpc("publication.delete", { channel, offset }, { after: channel, ...options });
  }

  /** One entry of a map without a subscription; undefined where there is none. */
  async mapEntry(channel, key, options) {
    const { entries } = await this.rpc("map.get", { channel, key }, options);
    return entries.length > 0 ? entryOf(channel, entries[0]) : undefined;
  }

  /** A page of a map without a subscription, in its order. */
  async mapPage(channel, { limit, cursor, reverse, ...options } = {}) {
    const page = await this.rpc("map.list", { channel, limit, cursor, reverse }, options);
    return { ...page, entries: page.entries.map((wire) => entryOf(channel, wire)) };
  }

  /** On a channel of receipts: up to which offset something has arrived, or was seen. */
  delivered(channel, offset, options) { return this.rpc("receipt.delivered", { channel, offset }, options); }
  read(channel, offset, options) { return this.rpc("receipt.read", { channel, offset }, options); }
  unread(channels, options) { return this.rpc("receipt.unread", { channels }, options); }

  /** What the server keeps of this user (docs/PRIVACY.md). */
  accountData(options) { return this.rpc("fanfare.account.data", {}, options); }
  accountExport(cursor = "", options = undefined) { return this.rpc("fanfare.account.export", { cursor }, options); }
  accountDelete(user, options) { return this.rpc("fanfare.account.delete", { user }, options); }

  #call(command, { keyed, signal, after } = {}) {
    const body = JSON.stringify(command).slice(1, -1);
    const bytes = byteCount(body);
    const most = this.#options.maximumMessageBytes - 32;
    if (bytes > most) {
      return Promise.reject(new FanfareError(
        codes.messageTooLarge, `the call has ${bytes} bytes, and the server takes ${most}; send less`));
    }
    if (signal?.aborted) return Promise.reject(new FanfareError(codes.cancelled, "the call was cancelled"));
    return new Promise((resolve, reject) => {
      const id = (this.#lastId += 1);
      const cancel = () => this.#feed({ type: "cancel", id });
      signal?.addEventListener("abort", cancel, { once: true });
      this.#calls.set(id, ({ result, error }) => {
        signal?.removeEventListener("abort", cancel);
        if (error) reject(error); else resolve(result);
      });
      this.#feed({ type: "call", id, body, bytes, keyed, after });
    });
  }

  // Inputs and effects

  /** What listeners call comes after the effects at hand, so that everybody hears of events in their order. */
  #feed(input) {
    this.#effects.push(...this.#machine.handle(input));
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    try {
      for (let effect = this.#effects.shift(); effect; effect = this.#effects.shift()) this.#perform(effect);
    } finally {
      this.#isPerforming = false;
    }
  }

  #perform(effect) {
    switch (effect.type) {
      case "open": return this.#open(effect.attempt);
      case "close": return this.#close();
      case "send":
        if (this.#outbox.push(effect) === 1) queueMicrotask(() => this.#flush());
        return;
      case "start": return this.#startTimer(effect.timer, effect.ms);
      case "stop": return this.#stopTimer(effect.timer);
      case "fetchToken": return void this.#fetchToken(effect.request);
      case "state": return this.#stateChanged(effect);
      case "event": return this.#event(effect);
      case "settle": {
        const settle = this.#calls.get(effect.id);
        this.#calls.delete(effect.id);
        return settle?.(effect);
      }
    }
  }

  #open(attempt) {
    const tell = (event) => this.#feed({ type: "transport", attempt, event });
    let socket;
    try {
      socket = new this.#options.WebSocket(this.url);
    } catch (error) {
      queueMicrotask(() => tell({ type: "closed", code: 1006, reason: error.message }));
      return;
    }
    this.#socket = socket;
    socket.onopen = () => tell({ type: "opened" });
    socket.onmessage = ({ data }) => this.#received(data, tell);
    socket.onerror = () => {};  // "close" follows, with all that is known.
    socket.onclose = ({ code, reason }) => tell({ type: "closed", code, reason: String(reason ?? "") });
  }

  #received(text, tell) {
    let replies;
    try {
      replies = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    } catch {
      return tell({ type: "malformed", reason: "the server's answer was not understood" });
    }
    for (const reply of replies) tell({ type: "reply", reply });
  }

  #close() {
    const socket = this.#socket;
    this.#socket = null;
    this.#outbox = [];
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    try { socket.close(); } catch { /* A socket that was never open has nothing to close. */ }
  }

  /** Puts what was said in one turn into few messages: bounded by commands, and by the bytes that the server takes. */
  #flush() {
    const [waiting, socket] = [this.#outbox, this.#socket];
    this.#outbox = [];
    let [frame, bytes] = [[], 0];
    const send = () => {
      if (frame.length > 0) socket?.send(frame.join("\n"));
      [frame, bytes] = [[], 0];
    };
    for (const { id, body } of waiting) {
      const text = body === null ? "{}"
        : typeof body === "string" ? `{"id":${id},${body}}` : JSON.stringify({ id, ...body });
      const more = byteCount(text) + 1;
      const { maximumMessageBytes, commandsPerMessage } = this.#options;
      if (bytes + more > maximumMessageBytes || frame.length >= commandsPerMessage) send();
      frame.push(text);
      bytes += more;
    }
    send();
  }

  #startTimer(timer, ms) {
    this.#stopTimer(timer);
    this.#timers.set(timer, setTimeout(() => {
      this.#timers.delete(timer);
      this.#feed({ type: "elapsed", timer });
    }, Math.min(ms, longestTimer)));
  }

  #stopTimer(timer) {
    clearTimeout(this.#timers.get(timer));
    this.#timers.delete(timer);
  }

  async #fetchToken(request) {
    const subscription = this.#subscriptions.get(request.id);
    const fetchToken = subscription ? subscription.options.getToken : this.#options.getToken;
    const isOfConnection = request.kind === "connect" || request.kind === "refresh";
    const outcome = await this.#tokenFrom(fetchToken, subscription && { channel: subscription.channel });
    if (isOfConnection && outcome.token) this.#token = outcome.token;
    this.#feed({ type: "token", request, outcome });
  }

  async #tokenFrom(fetchToken, context) {
    let timer;
    try {
      const tooLate = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error("getToken gave no token in time")), this.#options.tokenTimeout);
      });
      const token = await Promise.race([Promise.resolve().then(() => fetchToken(context)), tooLate]);
      return token ? { token } : { refused: true };
    } catch (error) {
      if (error instanceof TokenRefused) return { refused: true };
      this.emit("error", { error });
      return { failed: true };
    } finally {
      clearTimeout(timer);
    }
  }

  /** A token for a request over HTTP: another one where `isRefused` says that the last was not taken. */
  async #httpToken(isRefused = false) {
    if ((isRefused || this.#token === "") && this.#options.getToken) {
      const outcome = await this.#tokenFrom(this.#options.getToken);
      if (outcome.token) this.#token = outcome.token;
    }
    return this.#token;
  }

  #stateChanged({ state, result, code, reason }) {
    this.connectionState = state;
    if (state === "disconnected") globalThis.removeEventListener?.("online", this.#onOnline);
    else globalThis.addEventListener?.("online", this.#onOnline);
    this.clientId = result?.client ?? "";
    if (result) this.emit("connected", { client: this.clientId, version: result.version ?? "", data: result.data });
    else this.emit(state, { code, reason });
  }

  #event({ id, name, fields }) {
    if (id > 0) {
      const subscription = this.#subscriptions.get(id);
      if (name === "unsubscribed") this.#subscriptions.delete(id);
      return subscription?.take(name, fields);
    }
    const { channel, publication, info, result } = fields;
    if (publication) return this.emit(name, entryOf(channel, publication));
    if (info) return this.emit(name, { channel, info: infoOf(info) });
    this.emit(name, result ? subscribedOf(channel, result, null) : fields);
  }
}

// ------------------------------------------------------------------------------------------- 8 Pictures

/** Pictures of one app over HTTP: Clique's and State's go the same way, on a path each. What is cut off goes on where
 *  it was; what does not get further ten times in a row fails. */
class Pictures {
  static attempts = 10;
  /** Statuses after which the same may succeed within a moment. */
  static passing = [408, 429, 500, 503];
  /** The server keeps an upload in pieces of this size. */
  static pieceBytes = 65_536;
  #options;
  #token;

  /** `path`: an address, or one beside that of the client. */
  constructor(url, path, options, token) {
    const address = new URL(path, url);
    address.protocol = { "ws:": "http:", "wss:": "https:" }[address.protocol] ?? address.protocol;
    this.url = address.href;
    this.#options = { maximumPictureBytes: 16 << 20, ...options };
    this.#token = token;
  }

  /** `body`: a Blob or bytes. Settles when the picture is on the server's disk: { id, bytes }. */
  async upload(body, { id = newKey(), partBytes, onProgress, signal } = {}) {
    const blob = body instanceof Blob ? body : new Blob([body]);
    const part = partBytes ? Math.ceil(partBytes / Pictures.pieceBytes) * Pictures.pieceBytes : blob.size;
    let offset = 0;
    for (let failures = 0; ;) {
      const end = Math.min(blob.size, offset + part);
      const isWhole = offset === 0 && end === blob.size;
      const headers = isWhole ? {} : { "Content-Range": `bytes ${offset}-${end - 1}/${blob.size}` };
      const answer = await this.#ask("PUT", `?id=${id}`, { body: blob.slice(offset, end), headers, signal });
      if (answer?.status === 201) {
        onProgress?.(blob.size, blob.size);
        return { id, bytes: blob.size };
      }
      const told = answer?.headers.get("Upload-Offset");
      const hasConflict = answer?.status === 409;
      const mayPass = !answer || Pictures.passing.includes(answer.status)
        || (hasConflict && (told !== null || failures > 0)) || answer.status === 202;
      if (!mayPass) throw await this.#refusal(answer);
      const before = offset;
      if (told !== null && told !== undefined) offset = Number(told);
      else {
        await this.#pause(failures, answer, signal);
        offset = await this.progress(id, { signal });
      }
      // A picture that is whole and was not answered as such is said again.
      if (offset >= blob.size) offset = 0;
      if (offset > before) { failures = 0; onProgress?.(offset, blob.size); } else failures += 1;
      if (failures >= Pictures.attempts) throw await this.#refusal(answer);
    }
  }

  /** How many bytes of an upload the server has. */
  async progress(id, { signal } = {}) {
    const answer = await this.#ask("HEAD", `?id=${id}`, { signal });
    return answer?.ok ? Number(answer.headers.get("Upload-Offset") ?? 0) : 0;
  }

  /** Discards an upload, or a picture that was not sent. */
  async discard(id, { signal } = {}) {
    const answer = await this.#ask("DELETE", `?id=${id}`, { signal });
    if (!answer?.ok) throw await this.#refusal(answer);
  }

  /** { bytes, type, etag } of a picture that this user may see. */
  async download(id, { onProgress, signal } = {}) {
    const most = this.#options.maximumPictureBytes;
    const got = { chunks: [], length: 0, total: NaN, type: "", etag: null };
    for (let failures = 0; ;) {
      const isRest = got.length > 0 && got.etag !== null;
      const headers = isRest ? { Range: `bytes=${got.length}-`, "If-Range": got.etag } : {};
      const answer = await this.#ask("GET", `/${id}`, { headers, signal });
      const before = got.length;
      if (answer?.status === 200 || answer?.status === 206) {
        if (answer.status === 200) [got.chunks, got.length] = [[], 0];
        got.total = answer.status === 200
          ? Number(answer.headers.get("Content-Length") ?? NaN)
          : Number(answer.headers.get("Content-Range")?.split("/")[1] ?? NaN);
        got.type = answer.headers.get("Content-Type") ?? "";
        got.etag = answer.headers.get("ETag");
        if (await this.#read(answer, got, most, onProgress, signal)) {
          const bytes = new Uint8Array(await new Blob(got.chunks).arrayBuffer());
          return { bytes, type: got.type, etag: got.etag };
        }
      } else if (answer && !Pictures.passing.includes(answer.status)) {
        throw await this.#refusal(answer);
      }
      failures = got.length > before ? 0 : failures + 1;
      if (failures >= Pictures.attempts) throw await this.#refusal(answer);
      await this.#pause(failures, answer, signal);
    }
  }

  /** Reads a body as far as it comes. True where the picture is whole. */
  async #read(answer, got, most, onProgress, signal) {
    try {
      for (const reader = answer.body.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) return Number.isNaN(got.total) || got.length === got.total;
        got.length += value.length;
        if (got.length > most) {
          await reader.cancel();
          throw new FanfareError(codes.pictures, `the picture has more than ${most} bytes (maximumPictureBytes)`);
        }
        got.chunks.push(value);
        onProgress?.(got.length, got.total);
      }
    } catch (error) {
      if (error instanceof FanfareError || signal?.aborted) throw error;
      return false;
    }
  }

  /** The answer; undefined where none came. A token that is refused is fetched anew once. */
  async #ask(method, path, { headers, ...rest }) {
    for (let isRefused = false; ; isRefused = true) {
      const token = await this.#token(isRefused);
      let answer;
      try {
        answer = await this.#options.fetch(
          this.url + path, { method, headers: { Authorization: `Bearer ${token}`, ...headers }, ...rest });
      } catch (error) {
        if (rest.signal?.aborted) throw error;
        return undefined;
      }
      if (answer.status !== 401 || isRefused || !this.#options.getToken) return answer;
    }
  }

  async #refusal(answer) {
    if (!answer) {
      return new FanfareError(codes.pictures, "the server could not be reached; try again", { temporary: true });
    }
    const sentence = (await answer.text().catch(() => "")).trim();
    return new FanfareError(codes.pictures, sentence || `the server answered with status ${answer.status}`, {
      // A disk that is full (507) has room again some time, and not within the moments that are tried here.
      status: answer.status, temporary: [...Pictures.passing, 507].includes(answer.status),
    });
  }

  async #pause(failures, answer, signal) {
    const asked = Number(answer?.headers.get("Retry-After") ?? 0) * 1000;
    const backoff = { minimum: 200, maximum: 20_000, ...this.#options.backoff };
    const ms = Math.max(Math.min(asked, 60_000), backoffDelay(backoff, failures, this.#options.random()));
    await new Promise((resolve, reject) => {
      const cancel = () => { clearTimeout(timer); reject(signal.reason); };
      const timer = setTimeout(() => { signal?.removeEventListener("abort", cancel); resolve(); }, ms);
      if (signal?.aborted) cancel(); else signal?.addEventListener("abort", cancel, { once: true });
    });
  }
}

// ------------------------------------------------------------------------------------------- 9 Clique

/** Whom a call is about: a person's id, { person } or { conversation }. */
const whoIs = (who) => (typeof who === "string" ? { person: who } : who);

/** Whether a message of Clique has disappeared, by this device's clock: it is to be hidden then, without a network too.
 *  `message`: a publication's data. */
export const isOver = (message, now = Date.now()) => (message?.expires ?? Infinity) <= now;

/** The methods, channels and pictures of Clique (docs/CLIQUE.md). */
class Clique {
  #client;

  constructor(client, pictures) {
    this.#client = client;
    this.pictures = pictures;
    const call = (method, data) => this.call(`group.${method}`, data);
    this.group = Object.freeze({
      create: ({ members, name, key = newKey() }) => {
        const keyed = { key, lane: "clique", lifetime: 7 * day };
        return this.call("group.create", { members, name, key }, { keyed });
      },
      leave: (conversation) => call("leave", { conversation }),
      add: (conversation, members) => call("add", { conversation, members }),
      remove: (conversation, person) => call("remove", { conversation, person }),
      rename: (conversation, name) => call("rename", { conversation, name }),
      appoint: (conversation, person) => call("appoint", { conversation, person }),
      dismiss: (conversation, person) => call("dismiss", { conversation, person }),
      link: (conversation, options) => call("link", { conversation, ...options }),
      links: async (conversation) => (await call("links", { conversation })).links,
      revoke: (conversation, id) => call("revoke", { conversation, id }),
      join: (link) => call("join", { link }),
    });
  }

  /** Any method of Clique by its name behind "clique.". */
  call(method, data, options) { return this.#client.rpc(`clique.${method}`, data, options); }

  /** Sends a message, or makes a request. It is kept over lost connections and sent once, after those before it.
   *  `picture`: { id, hash } of one that `pictures.upload` has brought there. */
  async send({ key = newKey(), signal, ...message }) {
    if (message.picture) message.picture = { id: message.picture.id, hash: message.picture.hash };
    const conversation = message.conversation ?? this.#conversationWith(message.to ?? message.person);
    const after = conversation && `clique.chat:${conversation}`;
    const answer = await this.call(
      "send", { ...message, key }, { signal, after, keyed: { key, lane: "clique", lifetime: keyLifetime } });
    return answer.witness ? { conversation, offset: answer.witness.offset } : answer;
  }

  #conversationWith(person) {
    const list = this.#client.subscription(`clique.list:${this.#client.user}`);
    for (const [conversation, entry] of list?.view ?? []) if (entry.with === person) return conversation;
    return undefined;
  }

  accept(who) { return this.call("accept", whoIs(who)); }
  decline(who) { return this.call("decline", whoIs(who)); }
  disconnect(who) { return this.call("disconnect", whoIs(who)); }
  block(who) { return this.call("block", whoIs(who)); }
  unblock(who) { return this.call("unblock", whoIs(who)); }
  read(conversation, offset) { return this.call("read", { conversation, offset }); }
  delivered(conversation, offset) { return this.call("delivered", { conversation, offset }); }
  /** Say it every three seconds while somebody types. */
  typing(conversation) { return this.call("typing", { conversation }); }
  keep(conversation, { muted, archived, pinned }) {
    return this.call("keep", { conversation, muted, archived, pinned });
  }
  draft(conversation, text, { reply } = {}) { return this.call("draft", { conversation, text, reply }); }
  /** "" takes the reaction back. */
  react(conversation, offset, reaction) { return this.call("react", { conversation, offset, reaction }); }
  edit(conversation, offset, text) { return this.#client.edit(`clique.chat:${conversation}`, offset, { text }); }
  remove(conversation, offset) { return this.#client.delete(`clique.chat:${conversation}`, offset); }
  /** After how many milliseconds messages disappear, 0 for never: proposed to one person, decided for a group. */
  disappear(conversation, after) { return this.call("disappear", { conversation, after }); }
  totals() { return this.call("totals", {}); }
  report(who, { reason, text, offset }) { return this.call("report", { ...whoIs(who), reason, text, offset }); }
  async search(text, { person, conversation, limit } = {}) {
    return (await this.call("search", { text, person, conversation, limit })).messages;
  }
  enter(place, { token } = {}) { return this.call("enter", { place, token }); }
  leave(place) { return this.call("leave", { place }); }
  invisible(on) { return this.call("invisible", { on }); }
  async crossings({ order, limit } = {}) { return (await this.call("crossings", { order, limit })).people; }
  /** Changes what it names of one's own profile; "" or null removes. */
  setProfile({ name, fields, picture }) { return this.call("profile.set", { name, fields, picture }); }
  /** Those of the people whose profiles one may see. */
  async profiles(people) { return (await this.call("profiles", { people })).people; }
  /** People whom one may see, by the beginnings of words of their names. */
  async findPeople(text, { limit } = {}) { return (await this.call("people", { text, limit })).people; }

  // Channels: the subscription that is there, or a new one.

  list() { return this.#map("list", this.#client.user, "descending"); }
  crossed() { return this.#map("crossings", this.#client.user, "descending"); }
  blocked() { return this.#map("blocked", this.#client.user, "descending"); }
  drafts() { return this.#map("drafts", this.#client.user, "descending"); }
  reports() { return this.#map("reports", this.#client.user, "descending"); }
  badge() { return this.#map("totals", this.#client.user, "key"); }
  profile() { return this.#map("profile", this.#client.user, "descending"); }
  people() { return this.#map("people", this.#client.user, "key"); }
  reactions(conversation) { return this.#map("reactions", conversation, "descending"); }
  receipts(conversation) { return this.#map("receipts", conversation, "key"); }
  typists(conversation) { return this.#map("typing", conversation, "key"); }

  /** `since`: the position of the last message that the device keeps. */
  chat(conversation, { since } = {}) {
    const options = { recover: true, since, joinLeave: true, isOver: ({ data }) => isOver(data) };
    return there(this.#client, `clique.chat:${conversation}`)
      ?? this.#client.subscribe(`clique.chat:${conversation}`, options);
  }

  #map(kind, of, order) { return mapOf(this.#client, `clique.${kind}`, of, order); }
}

function there(client, channel) {
  const subscription = client.subscription(channel);
  return subscription?.state === "unsubscribed" ? undefined : subscription;
}

function mapOf(client, kind, of, order) {
  if (!of) throw new FanfareError(codes.badCall, "whose? The client has no token yet; give the option user");
  return there(client, `${kind}:${of}`) ?? client.map(`${kind}:${of}`, { order });
}

// ------------------------------------------------------------------------------------------- 10 State

/** The methods, channels and pictures of State (docs/STATE.md). */
class State {
  #client;

  constructor(client, pictures) {
    this.#client = client;
    this.pictures = pictures;
  }

  /** Any method of State by its name behind "state.". */
  call(method, data, options) { return this.#client.rpc(`state.${method}`, data, options); }

  begin(to) { return this.call("begin", { to }); }

  /** Sends two pictures that were uploaded. Kept over lost connections: the server takes them once. */
  send({ to, front, rear, caption, replyLimit, key = newKey(), signal }) {
    const data = { to, front, rear, caption, reply_limit: replyLimit, key };
    return this.call("send", data, { signal, keyed: { key, lane: `state:${to}`, lifetime: day } });
  }

  cancel(to, pictures) { return this.call("cancel", { to, pictures }); }
  discard(pictures) { return this.call("discard", { pictures }); }
  /** Without a reaction, one's own is taken back. */
  react(person, reaction) { return this.call("react", { with: person, reaction }); }
  seen(person) { return this.call("seen", { with: person }); }
  delivered(person) { return this.call("delivered", { with: person }); }
  settings(settings = {}) { return this.call("settings", settings); }
  block(user) { return this.call("block", { user }); }
  unblock(user) { return this.call("unblock", { user }); }

  threads() { return mapOf(this.#client, "state.threads", this.#client.user, "descending"); }

  /** `since`: the position of the last event that the device has dealt with. */
  events({ since } = {}) {
    const user = this.#client.user;
    if (!user) throw new FanfareError(codes.badCall, "whose? The client has no token yet; give the option user");
    const channel = `state.events:${user}`;
    return there(this.#client, channel) ?? this.#client.subscribe(channel, { recover: true, since });
  }
}

// ------------------------------------------------------------------------------------------- 11 Notifications

/** Which of a person's devices are notified, and of what (docs/PUSH.md). */
class Push {
  #client;

  constructor(client) { this.#client = client; }

  call(method, data, options) { return this.#client.rpc(`push.${method}`, data, options); }

  /** `device`: { kind: "web" | "apns" | "fcm", … }. */
  register(device, { language, topics, preview } = {}) {
    return this.call("register", { device, language, topics, preview });
  }

  /** Subscribes a browser by its service worker, and registers it. `vapidKey` is what `fanfare push keys` prints. */
  async registerWeb(registration, { vapidKey, ...options }) {
    const wanted = { userVisibleOnly: true, applicationServerKey: vapidKey };
    const subscription = await registration.pushManager.subscribe(wanted);
    return this.register({ kind: "web", ...subscription.toJSON() }, options);
  }

  unregister(device) { return this.call("unregister", { device }); }
  devices() { return this.call("devices", {}); }
  settings(settings = {}) { return this.call("settings", settings); }
  delivered(subject, offset) { return this.call("delivered", { subject, offset }); }
  seen(subject, offset) { return this.call("seen", { subject, offset }); }
  deviceMap() { return mapOf(this.#client, "push.devices", this.#client.user, "descending"); }
}

/**
 * For a service worker: does what a message of the Push API asks for, and settles when it is done.
 *
 *   message          shown under that name   what is done, once the number on the icon is set
 *   `withdraw`       any                     closed
 *   `update`         yes                     replaced by `notification`
 *   `update`         no, it was wiped away   nothing
 *   neither                                  `notification` is shown
 *
 * `message`: event.data.json(). What `navigate` says, the page to open, is among the data of what is shown.
 */
export async function showPush(message, { registration, navigator } = globalThis) {
  const { notification, withdraw, update, app_badge: badge } = message;
  if (badge !== undefined) await navigator?.setAppBadge?.(badge);
  const name = withdraw ?? update;
  const shown = name === undefined ? [] : await registration.getNotifications({ tag: name });
  if (withdraw !== undefined) return shown.forEach((one) => one.close());
  if (update !== undefined && shown.length === 0) return;
  const { title, navigate, ...options } = notification;
  await registration.showNotification(title, { ...options, data: { ...options.data, navigate } });
}
