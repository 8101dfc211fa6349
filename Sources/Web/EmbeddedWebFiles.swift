// swift-format-ignore-file

/// `fanfare.js`, `fanfare.d.ts` and the files of demo and console, built in so that every server can serve them. Made by `make web`; a test
/// compares.
enum EmbeddedWebFiles {
  /// The beginning of each file's SHA-256, in hexadecimal.
  static let scriptDigest = "da3f35feef08d0c9519202f139f03a84"
  static let typesDigest = "e908bcb923614af216844aeb5bbea1fc"

  static let script = #"""
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

    """#

  static let types = #"""
    // Types of fanfare.js. What each call does stands in docs/JAVASCRIPT.md. Times are milliseconds.

    /** Anything that JSON can hold; give a type of your own where you know it. */
    export type Json = unknown;

    export declare const codes: Readonly<{
      disconnectCalled: 0; unauthorized: 1; badProtocol: 2; messageTooLarge: 3; connectionLost: 4; noPing: 5; timedOut: 6;
      tokenUnavailable: 7; noTransport: 8; slowReader: 9; tooManyCalls: 10; notConnected: 11; queueFull: 12; inDoubt: 13;
      cancelled: 14; unsubscribeCalled: 15; badCall: 16; pictures: 17; keptTooLong: 18;
    }>;

    /** What went wrong, as a sentence that says what to do. */
    export declare class FanfareError extends Error {
      constructor(code: number, message: string, options?: { temporary?: boolean; status?: number });
      /** The server's code (docs/PROTOCOL.md), or one of `codes`. */
      code: number;
      /** The same again, after a moment, may succeed. */
      temporary: boolean;
      /** HTTP status, of pictures. */
      status?: number;
    }

    /** Throw it from a `getToken` to say that there is no token for this user. */
    export declare class TokenRefused extends Error {
      constructor(message?: string);
    }

    // Publications and positions

    export interface Position { epoch: string; offset: number; }

    export interface ClientInfo { user: string; client: string; connInfo?: Json; chanInfo?: Json; }

    export interface Publication<Data = any> {
      channel: string;
      data: Data;
      /** 0 on channels without history. */
      offset: number;
      /** Of the client that published; undefined where a service did. */
      info?: ClientInfo;
      tags: Record<string, string>;
      /** When it was published; 0 where the server did not say. */
      time: number;
    }

    export interface Entry<Data = any> extends Publication<Data> { key: string; removed: boolean; score: number; }

    export interface Change<Data = any> {
      key: string;
      /** undefined where the key was removed. */
      data: Data | undefined;
      /** undefined where the key was not there before. */
      previous: Data | undefined;
      removed: boolean;
      entry: Entry<Data>;
    }

    export interface Page<Data = any> extends Position { publications: Publication<Data>[]; }
    export interface MapPage<Data = any> extends Position { entries: Entry<Data>[]; cursor?: string; }
    export interface Presence { clients: Map<string, ClientInfo>; partial: boolean; }
    export interface PresenceStats { clients: number; users: number; }

    // Filters on tags

    export type FilterNode =
      | { key: string; cmp: string; val?: string; vals?: string[] }
      | { op: "and" | "or" | "not"; nodes: FilterNode[] };

    export declare const filter: Readonly<{
      eq(key: string, val: string): FilterNode;
      neq(key: string, val: string): FilterNode;
      in(key: string, vals: string[]): FilterNode;
      nin(key: string, vals: string[]): FilterNode;
      exists(key: string): FilterNode;
      missing(key: string): FilterNode;
      startsWith(key: string, val: string): FilterNode;
      endsWith(key: string, val: string): FilterNode;
      contains(key: string, val: string): FilterNode;
      gt(key: string, val: number | string): FilterNode;
      gte(key: string, val: number | string): FilterNode;
      lt(key: string, val: number | string): FilterNode;
      lte(key: string, val: number | string): FilterNode;
      and(...nodes: FilterNode[]): FilterNode;
      or(...nodes: FilterNode[]): FilterNode;
      not(node: FilterNode): FilterNode;
    }>;

    // Events

    /** Takes a listener away again. */
    export type Off = () => void;

    declare class Emitter<Events> {
      on<Name extends keyof Events>(name: Name, f: (event: Events[Name]) => void): Off;
      once<Name extends keyof Events>(name: Name, f: (event: Events[Name]) => void): Off;
      off<Name extends keyof Events>(name: Name, f: (event: Events[Name]) => void): void;
    }

    export interface Reason { code: number; reason: string; }

    export interface Subscribed {
      channel: string;
      position: Position | null;
      recoverable: boolean;
      positioned: boolean;
      /** The subscription went on from a position. */
      wasRecovering: boolean;
      /** Nothing is missing since that position; else read the channel anew. */
      recovered: boolean;
      data?: Json;
    }

    export interface SubscriptionEvents<Data = any> {
      publication: Publication<Data>;
      join: { channel: string; info: ClientInfo };
      leave: { channel: string; info: ClientInfo };
      subscribing: { channel: string } & Reason;
      subscribed: Subscribed;
      unsubscribed: { channel: string } & Reason;
      /** The server refused for now; the client tries again. */
      error: { channel: string; error: FanfareError };
    }

    export interface MapEvents<Data = any> extends SubscriptionEvents<Data> {
      change: Change<Data>;
      /** The server has said in which order the map stands. */
      order: { channel: string; order: MapOrder };
    }

    export interface ClientEvents {
      connecting: Reason;
      connected: { client: string; version: string; data?: Json };
      disconnected: Reason;
      /** A `getToken` failed; it is asked again. */
      error: { error: unknown };
      message: { data: Json };
      // Of subscriptions that the server made:
      publication: Entry;
      join: { channel: string; info: ClientInfo };
      leave: { channel: string; info: ClientInfo };
      subscribed: Subscribed;
      unsubscribed: { channel: string } & Reason;
    }

    // Subscriptions

    export type SubscriptionState = "subscribing" | "subscribed" | "unsubscribed";

    export interface CommonOptions {
      filter?: FilterNode;
      token?: string;
      getToken?: (context: { channel: string }) => string | Promise<string>;
      data?: Json;
      /** Events that may wait for a `for await` loop; 1000 unless it is given. */
      waiting?: number;
    }

    export interface SubscribeOptions extends CommonOptions {
      /** Keeps the position, and after a lost connection brings what was missed. */
      recover?: boolean;
      /** Begins behind this position. */
      since?: Position;
      positioned?: boolean;
      joinLeave?: boolean;
    }

    export type MapOrder = "key" | "ascending" | "descending";

    export interface MapOptions extends CommonOptions {
      /** The channel's `map_order`; without it, what the first two entries show. */
      order?: MapOrder;
      /** Turns the order around. */
      reverse?: boolean;
      pageSize?: number;
      maximumEntries?: number;
    }

    export interface CallOptions { signal?: AbortSignal; }
    export interface PublishOptions extends CallOptions { key?: string; }
    export interface HistoryOptions extends CallOptions { limit?: number; since?: Position; reverse?: boolean; }
    export interface WalkOptions extends CallOptions { since?: Position; reverse?: boolean; pageSize?: number; }
    export interface MapPageOptions extends CallOptions { limit?: number; cursor?: string; reverse?: boolean; }
    export interface Keyed { key: string; lane: string; lifetime: number; }
    export interface RpcOptions extends CallOptions { keyed?: Keyed; after?: string; }

    declare class BaseSubscription<Data, Events, Item> extends Emitter<Events> implements AsyncIterable<Item> {
      readonly client: Fanfare;
      readonly channel: string;
      readonly state: SubscriptionState;
      readonly position: Position | null;
      subscribe(options?: { since?: Position }): this;
      unsubscribe(): void;
      ready(): Promise<this>;
      publish(data: Data, options?: PublishOptions): Promise<void>;
      history(options?: HistoryOptions): Promise<Page<Data>>;
      walk(options?: WalkOptions): AsyncGenerator<Publication<Data>, void>;
      presence(options?: CallOptions): Promise<Presence>;
      presenceStats(options?: CallOptions): Promise<PresenceStats>;
      edit(offset: number, data: Data, options?: CallOptions): Promise<{ offset: number }>;
      delete(offset: number, options?: CallOptions): Promise<{ offset: number }>;
      [Symbol.asyncIterator](): AsyncIterator<Item>;
    }

    export declare class Subscription<Data = any>
      extends BaseSubscription<Data, SubscriptionEvents<Data>, Publication<Data>> {}

    export declare class MapSubscription<Data = any> extends BaseSubscription<Data, MapEvents<Data>, Change<Data>> {
      readonly view: MapView<Data>;
      /** The answer has no `offset` where the value waits for `publish_interval`. */
      set(key: string, data: Data, options?: CallOptions & { score?: number }): Promise<{ offset?: number }>;
      remove(key: string, options?: CallOptions): Promise<{ offset?: number }>;
    }

    export declare class MapView<Data = any> implements Iterable<[string, Data]> {
      constructor(options?: { order?: MapOrder; reverse?: boolean });
      readonly size: number;
      readonly order: MapOrder;
      readonly reverse: boolean;
      /** The order is known, and not only assumed. */
      readonly hasOrder: boolean;
      has(key: string): boolean;
      get(key: string): Data | undefined;
      entry(key: string): Entry<Data> | undefined;
      at(index: number): Entry<Data> | undefined;
      keys(): IterableIterator<string>;
      values(): IterableIterator<Data>;
      entries(): IterableIterator<[string, Data]>;
      [Symbol.iterator](): IterableIterator<[string, Data]>;
      forEach(f: (data: Data, key: string, view: MapView<Data>) => void, self?: unknown): void;
      apply(entry: { key: string; data?: Data; score: number; removed?: boolean }): Change<Data> | null;
      replace(entries: { key: string; data?: Data; score: number }[]): Change<Data>[];
      learn(entries: { key: string; score: number }[]): boolean;
    }

    // The client

    /** As much of a WebSocket as the client needs: that of browsers, of Node 22, and of the package ws. */
    export interface WebSocketLike {
      onopen: any;
      onmessage: any;
      onerror: any;
      onclose: any;
      send(text: string): void;
      close(): void;
    }

    export interface FanfareOptions {
      token?: string;
      /** Gives the connection token: at first, where `token` is not given, and whenever it expires. */
      getToken?: () => string | Promise<string>;
      /** One's own user id, for the channels of Clique and State; without it, that of the token. */
      user?: string;
      name?: string;
      version?: string;
      /** For your backend, where it decides about connections (docs/PROXIES.md). */
      data?: Json;
      WebSocket?: new (url: string) => WebSocketLike;
      fetch?: typeof fetch;
      /** Where pictures of State are, `/state/pictures`, and those of Clique, `/clique/pictures`. */
      picturesUrl?: string;
      cliquePicturesUrl?: string;
      /** For connecting, and for each answer; 10,000. */
      timeout?: number;
      /** For a `getToken`; 30,000. */
      tokenTimeout?: number;
      /** How much later than announced a ping may come; 10,000. */
      pingDelay?: number;
      backoff?: { minimum?: number; maximum?: number };
      /** Failures in a row after which the client gives up; never, unless it is given. */
      maximumReconnects?: number;
      /** Calls without a key that may wait for their answers; 1024. */
      maximumCalls?: number;
      /** Calls with a key that may wait to be sent; 1000. */
      maximumQueued?: number;
      /** Bytes of these; 4 MiB. */
      maximumQueuedBytes?: number;
      /** How long a call with a key waits for a connection; a day. */
      keepFor?: number;
      /** The server's `client.max_message_bytes`; 64 KiB. */
      maximumMessageBytes?: number;
      /** Commands in one message; 128. */
      commandsPerMessage?: number;
      /** 16 MiB. */
      maximumPictureBytes?: number;
      /** In 0..<1, for the delays. */
      random?: () => number;
    }

    export declare class Fanfare extends Emitter<ClientEvents> {
      constructor(url: string | URL, options?: FanfareOptions);
      readonly url: string;
      readonly connectionState: "disconnected" | "connecting" | "connected";
      readonly clientId: string;
      readonly user: string;
      readonly clique: Clique;
      readonly state: State;
      readonly push: Push;
      connect(): this;
      disconnect(): void;
      ready(): Promise<this>;

      subscribe<Data = any>(channel: string, options?: SubscribeOptions): Subscription<Data>;
      map<Data = any>(channel: string, options?: MapOptions): MapSubscription<Data>;
      subscription(channel: string): Subscription | MapSubscription | undefined;

      publish(channel: string, data: Json, options?: PublishOptions): Promise<void>;
      history<Data = any>(channel: string, options?: HistoryOptions): Promise<Page<Data>>;
      walk<Data = any>(channel: string, options?: WalkOptions): AsyncGenerator<Publication<Data>, void>;
      presence(channel: string, options?: CallOptions): Promise<Presence>;
      presenceStats(channel: string, options?: CallOptions): Promise<PresenceStats>;
      rpc<Answer = any>(method: string, data?: Json, options?: RpcOptions): Promise<Answer>;
      edit(channel: string, offset: number, data: Json, options?: CallOptions): Promise<{ offset: number }>;
      delete(channel: string, offset: number, options?: CallOptions): Promise<{ offset: number }>;
      mapEntry<Data = any>(channel: string, key: string, options?: CallOptions): Promise<Entry<Data> | undefined>;
      mapPage<Data = any>(channel: string, options?: MapPageOptions): Promise<MapPage<Data>>;
      delivered(channel: string, offset: number, options?: CallOptions): Promise<{}>;
      read(channel: string, offset: number, options?: CallOptions): Promise<{}>;
      unread(channels: string[], options?: CallOptions): Promise<Record<string, number>>;
      accountData(options?: CallOptions): Promise<any>;
      accountExport(cursor?: string, options?: CallOptions): Promise<{ items: any[]; cursor?: string }>;
      accountDelete(user: string, options?: CallOptions): Promise<{ state: string; since: number }>;
    }

    // Pictures, of Clique and of State

    export interface PictureOptions {
      onProgress?: (done: number, total: number) => void;
      signal?: AbortSignal;
    }

    export interface Pictures {
      readonly url: string;
      /** `partBytes`: how much goes out in one request, rounded up to 64 KiB; without it, all. `bytes` is what was sent. */
      upload(
        body: Blob | ArrayBuffer | ArrayBufferView, options?: PictureOptions & { id?: string; partBytes?: number },
      ): Promise<{ id: string; bytes: number }>;
      progress(id: string, options?: CallOptions): Promise<number>;
      discard(id: string, options?: CallOptions): Promise<void>;
      download(id: string, options?: PictureOptions): Promise<{ bytes: Uint8Array; type: string; etag: string | null }>;
    }

    // Clique

    /** A person's id, or one of the two. */
    export type Who = string | { person: string } | { conversation: string };

    export interface Conversation {
      conversation: string;
      with?: string;
      group?: true;
      name?: string;
      members?: string[];
      admins?: string[];
      state: "request_out" | "request_in" | "active" | "ended" | "blocked";
      last?: string;
      from?: string;
      /** The last message has a picture. */
      picture?: true;
      /** When the last message is gone, in place of `last`. */
      expires?: number;
      /** After how long messages disappear. */
      disappear?: number;
      /** What one of two has proposed; 0 for messages that stay. */
      disappear_asked?: { after: number; by: string };
      time: number;
      unread?: number;
      read?: number;
      messages?: { text: string; time: number; key?: string }[];
      crossing?: { place: string; time: number };
      muted?: true;
      archived?: true;
      pinned?: number;
    }

    export interface Message {
      text?: string;
      key?: string;
      reply?: number;
      /** Of a message that waited in a request. */
      from?: string;
      sent?: number;
      picture?: MessagePicture;
      /** When the message is gone. */
      expires?: number;
      /** Of a change of the conversation; then there is no text. */
      event?: "added" | "removed" | "appointed" | "dismissed" | "joined" | "left" | "renamed" | "disappear";
      user?: string;
      name?: string;
      /** Of `disappear`; 0 for messages that stay. */
      after?: number;
    }

    /** What the server has measured, and the `hash` as it was sent. */
    export interface MessagePicture {
      id: string;
      type: string;
      bytes: number;
      width: number;
      height: number;
      hash?: string;
    }

    /** `small` is one of its own, for lists. */
    export interface ProfilePicture { id: string; small?: string; }

    export interface Profile {
      user: string;
      name?: string;
      fields?: Record<string, string>;
      picture?: ProfilePicture;
    }

    /** What it names is changed; "" and null remove. */
    export interface ProfileChange {
      name?: string | null;
      fields?: Record<string, string | null>;
      picture?: ProfilePicture | null;
    }

    /** Whether a message has disappeared, by this device's clock. */
    export declare function isOver(message: { expires?: number } | null | undefined, now?: number): boolean;

    /** A picture that was uploaded; others draw the `hash` until it is there. */
    export interface SentPicture { id: string; hash?: string; }

    /** With a text, a picture, or both. */
    export type NewMessage = CallOptions & {
      to?: string;
      person?: string;
      conversation?: string;
      reply?: number;
      mentions?: string[];
      /** Drawn by the client where it is not given. */
      key?: string;
    } & ({ text: string; picture?: SentPicture } | { text?: string; picture: SentPicture });

    export interface Crossing {
      user: string;
      seen: number;
      total: number;
      together: boolean;
      latest: { place: string; time: number; minutes: number }[];
    }

    export interface Totals { conversations: number; messages: number; requests: number; }
    export interface InConversation { conversation: string; }
    export interface GroupLink { link: string; id: string; ends: number; }
    export interface FoundMessage { channel: string; offset: number; time: number; user: string; data: Message; }
    export type ReportReason = "spam" | "harassment" | "threat" | "nudity" | "minor" | "impersonation" | "other";

    export interface Report {
      report: string;
      user: string;
      conversation: string;
      offset?: number;
      reason: ReportReason;
      text?: string;
      time: number;
      state: "open" | "settled";
    }

    export interface Clique {
      readonly pictures: Pictures;
      readonly group: Readonly<{
        create(group: { members: string[]; name?: string; key?: string }): Promise<InConversation>;
        leave(conversation: string): Promise<{}>;
        add(conversation: string, members: string[]): Promise<{}>;
        remove(conversation: string, person: string): Promise<{}>;
        rename(conversation: string, name: string): Promise<{}>;
        appoint(conversation: string, person: string): Promise<{}>;
        dismiss(conversation: string, person: string): Promise<{}>;
        link(conversation: string, options?: { lifetime?: number; uses?: number }): Promise<GroupLink>;
        links(conversation: string): Promise<{ id: string; by: string; ends: number; uses?: number }[]>;
        /** Without `id` all of them. */
        revoke(conversation: string, id?: string): Promise<{}>;
        join(link: string): Promise<InConversation>;
      }>;
      call<Answer = any>(method: string, data: Json, options?: RpcOptions): Promise<Answer>;
      send(message: NewMessage): Promise<InConversation & { offset?: number; waiting?: number }>;
      accept(who: Who): Promise<InConversation>;
      decline(who: Who): Promise<InConversation>;
      disconnect(who: Who): Promise<InConversation>;
      block(who: Who): Promise<{}>;
      unblock(who: Who): Promise<{}>;
      read(conversation: string, offset: number): Promise<{}>;
      delivered(conversation: string, offset: number): Promise<{}>;
      typing(conversation: string): Promise<{}>;
      keep(conversation: string, what: { muted?: boolean; archived?: boolean; pinned?: boolean }): Promise<{}>;
      draft(conversation: string, text: string, options?: { reply?: number }): Promise<{}>;
      react(conversation: string, offset: number, reaction: string): Promise<{}>;
      edit(conversation: string, offset: number, text: string): Promise<{ offset: number }>;
      remove(conversation: string, offset: number): Promise<{ offset: number }>;
      /** `after` in milliseconds; 0 for never. */
      disappear(conversation: string, after: number): Promise<{}>;
      totals(): Promise<Totals>;
      report(who: Who, what: { reason: ReportReason; text?: string; offset?: number }): Promise<{ report: string }>;
      search(text: string, options?: { person?: string; conversation?: string; limit?: number }): Promise<FoundMessage[]>;
      enter(place: string, options?: { token?: string }): Promise<{ visible: boolean }>;
      leave(place: string): Promise<{}>;
      invisible(on: boolean): Promise<{ visible: boolean }>;
      crossings(options?: { order?: "recent" | "time"; limit?: number }): Promise<Crossing[]>;
      setProfile(change: ProfileChange): Promise<Profile & { changed?: number }>;
      profiles(people: string[]): Promise<Profile[]>;
      findPeople(text: string, options?: { limit?: number }): Promise<Profile[]>;

      list(): MapSubscription<Conversation>;
      crossed(): MapSubscription<Crossing>;
      blocked(): MapSubscription<{ user: string; name?: string; time: number }>;
      drafts(): MapSubscription<{ text: string; reply?: number; time: number }>;
      reports(): MapSubscription<Report>;
      badge(): MapSubscription<Totals>;
      profile(): MapSubscription<Profile & { changed: number }>;
      people(): MapSubscription<Profile>;
      reactions(conversation: string): MapSubscription<{ reaction: string; time: number }>;
      receipts(conversation: string): MapSubscription<{ read?: number; delivered?: number }>;
      typists(conversation: string): MapSubscription<any>;
      chat(conversation: string, options?: { since?: Position }): Subscription<Message>;
    }

    // State

    export type Phase = "idle" | "sent" | "received" | "revealed" | "expired";
    export interface Sealed { front: string; rear: string; caption?: string; reaction?: string; }

    export interface Thread {
      with: string;
      phase: Phase;
      colour: string;
      since: number;
      until?: number;
      limit?: number;
      unread?: true;
      mine?: Sealed;
      theirs?: Sealed;
      blocked?: true;
    }

    export interface StateEvent {
      event: "sent" | "received" | "revealed" | "expired" | "ended" | "reacted";
      with: string;
      since: number;
      until: number;
      limit?: number;
    }

    export interface State {
      readonly pictures: Pictures;
      call<Answer = any>(method: string, data: Json, options?: RpcOptions): Promise<Answer>;
      begin(to: string): Promise<{ at: number; limit: number; deadline: number; now: number }>;
      send(state: CallOptions & {
        to: string; front: string; rear: string; caption?: string; replyLimit?: number; key?: string;
      }): Promise<{ phase: Phase; since: number; until: number }>;
      cancel(to: string, pictures?: string[]): Promise<{}>;
      discard(pictures: string[]): Promise<{}>;
      react(person: string, reaction?: string): Promise<{}>;
      seen(person: string): Promise<{}>;
      delivered(person: string): Promise<{}>;
      settings(settings?: { limit?: number }): Promise<{ limit: number }>;
      block(user: string): Promise<{}>;
      unblock(user: string): Promise<{}>;
      threads(): MapSubscription<Thread>;
      events(options?: { since?: Position }): Subscription<StateEvent>;
    }

    // Notifications

    export type Device =
      | { kind: "web"; endpoint: string; keys: { p256dh: string; auth: string } }
      | { kind: "apns"; token: string; topic?: string; environment?: "production" | "sandbox" }
      | { kind: "fcm"; token: string };

    export type Preview = "nothing" | "sender" | "text";
    export interface DeviceOptions { language?: string; topics?: string[]; preview?: Preview; }

    export interface PushSettings {
      topics?: string[];
      preview?: Preview;
      request_preview?: boolean;
      quiet?: { from: string; to: string; zone: string | number } | null;
      muted_until?: number;
    }

    export interface Push {
      call<Answer = any>(method: string, data: Json, options?: RpcOptions): Promise<Answer>;
      register(device: Device, options?: DeviceOptions): Promise<{ device: string }>;
      /** `registration` is a ServiceWorkerRegistration. */
      registerWeb(
        registration: { pushManager: { subscribe(options: any): Promise<{ toJSON(): any }> } },
        options: DeviceOptions & { vapidKey: string },
      ): Promise<{ device: string }>;
      unregister(device: string): Promise<{}>;
      devices(): Promise<{ devices: any[]; settings: PushSettings }>;
      settings(settings?: PushSettings): Promise<PushSettings>;
      delivered(subject: string, offset?: number): Promise<{}>;
      seen(subject: string, offset?: number): Promise<{}>;
      deviceMap(): MapSubscription<any>;
    }

    /** A message of the Push API, as this server sends it: shown, an update of what is shown, or a withdrawal. */
    export interface PushMessage {
      notification?: {
        title: string; body?: string; navigate?: string; tag?: string; silent?: boolean; data?: Record<string, string>;
      };
      update?: string;
      withdraw?: string;
      app_badge?: number;
      data?: Record<string, string>;
    }

    /** For a service worker: does what a message asks for. Without `worker`, it is the global one. */
    export declare function showPush(message: PushMessage, worker?: {
      registration: {
        getNotifications(filter: { tag: string }): Promise<{ close(): void }[]>;
        showNotification(title: string, options?: any): Promise<void>;
      };
      navigator?: { setAppBadge?(badge: number): Promise<void> };
    }): Promise<void>;

    /** Sixteen random bytes, as 32 hexadecimal digits: a key of a message, or a picture's id. */
    export declare function newKey(): string;

    export declare function backoffDelay(
      backoff: { minimum: number; maximum: number }, failures: number, random: number,
    ): number;

    /** The decisions of the client, without I/O: for its tests. */
    export declare class Machine {
      constructor(settings: Record<string, any>);
      handle(input: { type: string; [field: string]: any }): { type: string; [field: string]: any }[];
    }

    """#

  static let demo: [(name: String, digest: String, text: String)] = [
    ("apps.css", "a6440a48f75fe6d421aa1198c7dbf4d9", demo0),
    ("busy.css", "a16f676c552e4a103ad07bc65850c38a", demo1),
    ("busy.js", "fc157f3071d0898f148f64c19a3bf8db", demo2),
    ("clique-actions.js", "6aa7b36ce5504ce57bfc4f95fdd395f8", demo3),
    ("clique-chat.js", "189ad5f7044450e834e08a32d3298263", demo4),
    ("clique-composer.js", "fe67e0edb70670faf32cc69e7245bc82", demo5),
    ("clique-group.js", "f72def3334ff871129b58d4741461590", demo6),
    ("clique-home.js", "268ebc3cebd738b05ce45b602cbcb3bf", demo7),
    ("clique-list.js", "225a6c1453ea5e1721b2056d5d26b6ef", demo8),
    ("clique-log.js", "d991c139c36f133c4f5b9a27ced36246", demo9),
    ("clique-map.js", "98239877db7e2639e036312fcc732418", demo10),
    ("clique-message.js", "d1db5270a0ad497707cc2264e0867c64", demo11),
    ("clique-outbox.js", "5580f4fc594b9e99bacfab39da598d45", demo12),
    ("clique-privacy.js", "696ce662e3bef599055cf483c9a657f6", demo13),
    ("clique-profile.js", "2ce39c8f314e3d424907340b940e1f93", demo14),
    ("clique-store.js", "2ad4a76a0eda89f6028547c59fa83c4d", demo15),
    ("clique.css", "10b585c6a6db9aa7e74a200bc172b2a5", demo16),
    ("clique.js", "1bb1048369ae2725840b7257bf522293", demo17),
    ("demo.css", "75a1da791f1bba34bbb3f4ba1596b005", demo18),
    ("favorites.css", "7e7c7c6df729ec8de5e382fb0f784269", demo19),
    ("favorites.js", "a05d7a36600ca598e7489d2ffffff14e", demo20),
    ("index.html", "0c5defe71ada9191f61945621bfbfca2", demo21),
    ("journal.css", "50ca9835923ceb85eebe54d6c1524c20", demo22),
    ("journal.js", "654afddff8efd4138414dc886c9740ea", demo23),
    ("people.js", "73937018e3e4b037b8d657ee8523fcc6", demo24),
    ("server-clock.js", "d8b82df669e38dd4eff00f0ccf4b3976", demo25),
    ("shell.js", "e4c11d5ac64fae01ba3d5049390c337a", demo26),
    ("sites-column.js", "f941b24651a15f9ce6b0aa9438e502d0", demo27),
    ("sites.css", "dcc7461e4d1c0813a2afc732851bcf67", demo28),
    ("sites.js", "3606eaaac7fb2122842f421e29e39a86", demo29),
    ("state-camera.js", "650ffcd6d75c25c0fdc8aa579e4351c9", demo30),
    ("state-news.js", "8e520d660460845d79dea16f78adc0e9", demo31),
    ("state-recorder.js", "bb503de867cac5d658fa8aa54120b017", demo32),
    ("state-reveal.js", "b28a29b339b50a53f65bdfb3aed0d1b2", demo33),
    ("state.css", "06110e3adda4560071319bb8d54c7c2d", demo34),
    ("state.js", "69d9be1c1df6fc4d79b853ac8d22d26f", demo35),
    ("ui.js", "0cf8d64b86f10d05659b9cb721810899", demo36),
  ]

  private static let demo0 = ##"""
    /* What State, Six to Eight, Favorites, the journal and the busy channel share. */

    /* A narrow side beside what matters. On small screens what matters is between the first card of the side and the
       others. */
    .sided { display: flex; flex-direction: column; gap: var(--space-4); }
    .sided-side { display: contents; }
    .sided-side > * { order: 2; }
    .sided-side > :first-child { order: 0; }
    .sided-main { order: 1; min-width: 0; }
    .side-settings summary { display: list-item; min-height: var(--target); align-content: center; margin: -0.5rem 0;
      font-weight: 600; cursor: pointer; }
    .side-settings[open] summary { margin-bottom: var(--space-2); }

    .picker { display: flex; flex-direction: column; gap: var(--space-2); }
    .picker .field-help:empty { display: none; }
    .picker-found { display: flex; flex-wrap: wrap; gap: var(--space-2); }
    .picker-found:empty { display: none; }
    .picker-person { display: inline-flex; align-items: center; gap: var(--space-2); min-height: var(--target);
      padding: 0 var(--space-4) 0 var(--space-2); border: 1px solid var(--line-strong); cursor: pointer;
      border-radius: var(--radius-full); background: var(--surface); font-weight: 600; }
    .picker-person:hover { background: var(--accent-soft); border-color: var(--accent); }

    @media (min-width: 60rem) {
      .sided { display: grid; grid-template-columns: 19rem minmax(0, 1fr); gap: var(--space-5); align-items: start; }
      .sided-side { display: flex; flex-direction: column; gap: var(--space-4); position: sticky; top: 5rem; }
    }

    """##

  private static let demo1 = ##"""
    /* The busy channel. */

    .busy-people { display: flex; flex-wrap: wrap; gap: var(--space-2); }
    .busy-person { display: inline-flex; align-items: center; gap: var(--space-2); min-height: var(--target);
      padding: 0 var(--space-4) 0 var(--space-2); border: 1px solid var(--line-strong); cursor: pointer; font-weight: 600;
      border-radius: var(--radius-full); background: var(--surface); }
    .busy-person:hover { background: var(--raised); }
    .busy-person[aria-pressed="true"] { background: var(--accent-soft); border-color: var(--accent); color: var(--accent); }
    .busy-all { background: var(--accent); color: var(--accent-text); font-size: 1.125rem; }
    .busy-figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(9rem, 40%), 1fr));
      gap: var(--space-3); }
    .busy-figure { display: flex; flex-direction: column-reverse; justify-content: flex-end; padding: var(--space-3)
      var(--space-4); background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius);
      box-shadow: var(--shadow); }
    .busy-figure dt { color: var(--text-soft); font-size: var(--small); }
    .busy-figure dd { font-size: var(--title); font-weight: 700; font-variant-numeric: tabular-nums; line-height: 1.2; }
    .busy-card { display: flex; flex-direction: column; gap: var(--space-2); }
    .busy-plot { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 var(--space-2); contain: layout; }
    .busy-canvas { width: 100%; height: clamp(11rem, calc(100dvh - 27rem), 24rem);
      background: linear-gradient(var(--line) 1px, transparent 1px) 0 0 / 100% 50%;
      border-bottom: 1px solid var(--line); }
    .busy-marks { display: flex; flex-direction: column; justify-content: space-between; text-align: end;
      color: var(--text-soft); font-size: 0.75rem; font-variant-numeric: tabular-nums; min-width: 3.5rem; line-height: 1; }
    .busy-times { grid-column: 2; display: flex; justify-content: space-between; }

    @media (max-width: 45rem) {
      .busy-people { flex-wrap: nowrap; overflow-x: auto; margin-inline: calc(-1 * var(--space-4));
        padding: 0.25rem var(--space-4) var(--space-2); scrollbar-width: thin; }
      .busy-person { flex: none; }
    }

    """##

  private static let demo2 = ##"""
    // A busy channel: a thousand messages a second, of which a filter on the server lets one person's through. The plot
    // shows how long each took from the server that made it to this page. A page that does this has to be light: a message
    // costs two numbers in a ring, and a frame of the plot moves what is drawn already and adds what has come since.

    import { filter } from "../fanfare.js";
    import { readable } from "./people.js";
    import { avatar, bag, button, calm, fill, h, hue } from "./ui.js";

    const channel = "busy:all";
    /** The tag by which the server filters. */
    const tag = "from";
    /** How much of the past is drawn, in milliseconds. */
    const span = 20_000;
    /** Messages that are kept for the plot: what a thousand a second need for `span`, and no more. */
    const mostKept = 20_000;
    /** Milliseconds between two frames of the plot; for those who do not want things to move, a second. */
    const [frame, calmFrame] = [100, 1000];
    /** Those whom one can choose; a channel with more people than that is for a search. */
    const mostPeople = 24;
    const everybody = "*";

    /** The last messages in two rings of numbers: no object for each of a thousand a second. */
    export class Samples {
      #times = new Float64Array(mostKept);
      #delays = new Float64Array(mostKept);
      /** How many were ever added: the number of the next. */
      total = 0;

      add(time, delay) {
        this.#times[this.total % mostKept] = time;
        this.#delays[this.total % mostKept] = delay;
        this.total += 1;
      }

      clear() { this.total = 0; }

      /** Calls `f(time, delay)` for those from number `from` on that are kept still, the oldest first. */
      from(from, f) {
        for (let each = Math.max(from, this.total - mostKept, 0); each < this.total; each += 1) {
          f(this.#times[each % mostKept], this.#delays[each % mostKept]);
        }
      }

      /** The delays since `time`, in no order. */
      since(time) {
        const delays = [];
        for (let each = this.total - 1; each >= Math.max(0, this.total - mostKept); each -= 1) {
          if (this.#times[each % mostKept] < time) break;
          delays.push(this.#delays[each % mostKept]);
        }
        return delays;
      }
    }

    /** The value below which `share` of the sorted numbers lie; NaN where there are none. */
    export function quantile(sorted, share) {
      return sorted.length === 0 ? NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
    }

    /** A round number of milliseconds that is not below `value`: 1, 2, 5, 10, 20, 50 and so on. */
    export function ceiling(value) {
      for (let step = 1; ; step *= 10) {
        for (const each of [1, 2, 5]) if (each * step >= value) return each * step;
      }
    }

    /** What stands beside a line of a plot that ends at `top` milliseconds. */
    function mark(value, top) {
      return top < 1000 ? `${value} ms` : `${value / 1000} s`;
    }

    /** The delays as dots, the newest at the right. */
    class Plot {
      #drawn = 0;
      #at = 0;
      #rest = 0;
      top = 5;

      constructor(samples) {
        this.samples = samples;
        this.canvas = h("canvas", { class: "busy-canvas", role: "img", "aria-label": "No messages yet" });
        this.marks = [1, 0.5, 0].map(() => h("span", { class: "busy-mark" }));
        this.element = h("div", { class: "busy-plot" }, h("div", { class: "busy-marks", "aria-hidden": true }, this.marks),
          this.canvas, h("div", { class: "busy-times small soft", "aria-hidden": true },
            h("span", {}, `${span / 1000} seconds ago`), h("span", {}, "now")));
        this.#showMarks();
      }

      #showMarks() {
        [1, 0.5, 0].forEach((share, index) => { this.marks[index].textContent = mark(this.top * share, this.top); });
      }

      /** The scale follows the longest delay at once, and comes down again when it has left the plot. */
      #rescale(longest, comesDown) {
        const wanted = Math.max(5, ceiling(longest));
        if (wanted === this.top || (wanted < this.top && !comesDown)) return false;
        this.top = wanted;
        this.#showMarks();
        return true;
      }

      /** Once a second: whether the scale is still the right one. */
      check(now) {
        let longest = 0;
        for (const delay of this.samples.since(now - span)) longest = Math.max(longest, delay);
        if (this.#rescale(longest, true)) this.redraw();
      }

      /** Everything anew: another size, scale, colour or person. */
      redraw(colour = this.colour) {
        this.colour = colour;
        this.#drawn = 0;
        this.#at = -Infinity;
        this.draw(performance.now());
      }

      draw(now) {
        const { canvas, samples } = this;
        const density = Math.min(2, devicePixelRatio || 1);
        const [w, t] = [Math.round(canvas.clientWidth * density), Math.round(canvas.clientHeight * density)];
        if (w === 0 || t === 0) return;
        let longest = 0;
        samples.from(this.#drawn, (_, delay) => { longest = Math.max(longest, delay); });
        if (this.#rescale(longest, false)) this.#at = -Infinity;
        if (canvas.width !== w || canvas.height !== t) {
          [canvas.width, canvas.height] = [w, t];
          this.#at = -Infinity;
        }
        const pen = canvas.getContext("2d");
        const exact = (now - this.#at) / span * w + this.#rest;
        if (exact < w) {
          // What is there moves to the left by whole pixels; the rest of a pixel waits for the next frame.
          const step = Math.floor(exact);
          this.#rest = exact - step;
          if (step > 0) {
            pen.globalCompositeOperation = "copy";
            pen.drawImage(canvas, -step, 0);
            pen.globalCompositeOperation = "source-over";
          }
        } else {
          pen.clearRect(0, 0, w, t);
          this.#drawn = this.#rest = 0;
        }
        this.#at = now;
        this.#dots(pen, now, w, t, density);
        this.#drawn = samples.total;
      }

      #dots(pen, now, w, t, density) {
        const [accent, dot] = this.colour;
        const size = Math.max(1, Math.round(dot * density));
        pen.fillStyle = accent;
        pen.beginPath();
        this.samples.from(this.#drawn, (time, delay) => {
          if (time < now - span) return;
          const x = Math.round(w - (now - time) / span * w) - size;
          pen.rect(x, Math.round((t - size) * (1 - delay / this.top)), size, size);
        });
        pen.fill();
      }
    }

    /** A delay with three digits at most: whoever looks at a page under load reads seconds. */
    function shown(value) {
      if (!Number.isFinite(value)) return "–";
      return value < 1000 ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : `${(value / 1000).toFixed(1)} s`;
    }

    class Busy {
      #held = bag();
      #samples = new Samples();
      #person = everybody;
      #people = new Map();
      #received = 0;
      #lastSecond = 0;
      #paused = false;
      #subscription = null;
      /** How far the server's clock is ahead of this one, at least: no message arrives before it was sent. */
      #ahead = 0;
      /** What the page's finer clock counts from. A machine that slept may have stopped it, so it is looked after. */
      #epoch = performance.timeOrigin;

      constructor(root, session) {
        this.root = root;
        this.client = session.client;
        this.plot = new Plot(this.#samples);
        this.#build();
        this.#follow(everybody);
        for (const name of ["connected", "connecting", "disconnected"]) {
          this.#held.keep(this.client.on(name, () => this.#drawStatus()));
        }
        this.#held.every(1000, () => this.#second());
        let last = 0;
        let asked = 0;
        // Not on each frame of the screen: nobody sees more of a plot that moves some pixels a second.
        this.#held.every(frame, () => {
          const now = performance.now();
          if (this.#paused || document.hidden || now - last < (calm() ? calmFrame : frame) - 20) return;
          last = now;
          asked = requestAnimationFrame(() => this.plot.draw(performance.now()));
        });
        this.#held.keep(() => cancelAnimationFrame(asked));
        this.#held.listen(window, "resize", () => this.#redraw());
        this.#held.listen(document, "visibilitychange", () => this.#redraw());
        this.#held.listen(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.#redraw());
      }

      unmount() {
        this.#held.end();
        this.#subscription?.unsubscribe();
        fill(this.root);
      }

      #build() {
        this.choices = h("div", { class: "busy-people", role: "group", "aria-label": "Follow" },
          this.#choice(everybody, "Everybody"));
        this.pause = button("Pause the plot", () => {
          this.#paused = !this.#paused;
          this.pause.setAttribute("aria-pressed", String(this.#paused));
          if (!this.#paused) this.#redraw();
        }, { "aria-pressed": "false" });
        const figure = (label) => {
          const value = h("dd", {}, "–");
          return { value, element: h("div", { class: "busy-figure" }, h("dt", {}, label), value) };
        };
        this.figures = {
          rate: figure("messages a second, to this page"), middle: figure("half arrive within"),
          slow: figure("99 of 100 arrive within"), sum: figure("messages so far"),
        };
        this.status = h("p", { class: "small", role: "status" });
        this.latest = h("p", { class: "soft small one-line" });
        fill(this.root, h("div", { class: "busy stack" },
          h("div", { class: "row row-between" }, h("h1", {}, "A busy channel"), this.pause),
          h("div", { class: "sided" },
            h("div", { class: "sided-side" }, h("section", { class: "card stack" }, h("h2", {}, "Follow"),
              h("p", { class: "soft small" }, "The server filters: what is not of this person never comes to this page."),
              this.choices)),
            h("div", { class: "sided-main stack" },
              h("dl", { class: "busy-figures" }, Object.values(this.figures).map((each) => each.element)),
              h("figure", { class: "card busy-card" }, h("figcaption", { class: "row row-between" },
                h("h2", {}, "Delivery times"), this.status), this.plot.element,
              h("p", { class: "soft small" }, "Each dot is a message: upwards how long it took, from the server that made "
                + "it to this page."), this.latest)))));
      }

      #choice(person, name) {
        const element = h("button", {
          type: "button", class: "busy-person", "aria-pressed": "false", on: { click: () => this.#follow(person) },
        }, person === everybody ? h("span", { class: "avatar avatar-small busy-all", "aria-hidden": true }, "∞")
          : avatar(person, name, "small"), h("span", {}, name));
        this.#people.set(person, element);
        return element;
      }

      /** The colours of the style sheet: canvases know no variables. */
      #redraw() {
        const dark = matchMedia("(prefers-color-scheme: dark)").matches;
        this.plot.redraw(this.#person === everybody ? [dark ? "rgb(167 159 255 / 70%)" : "rgb(74 63 209 / 60%)", 2]
          : [`hsl(${hue(this.#person)} 60% ${dark ? 68 : 36}%)`, 3]);
      }

      #follow(person) {
        this.#person = person;
        this.#samples.clear();
        this.#received = this.#lastSecond = 0;
        this.last = "";
        for (const [one, element] of this.#people) element.setAttribute("aria-pressed", String(one === person));
        const there = this.client.subscription(channel);
        if (there && there.state !== "unsubscribed") there.unsubscribe();
        const options = person === everybody ? {} : { filter: filter.eq(tag, person) };
        const subscription = this.#subscription = this.client.subscribe(channel, options);
        subscription.on("publication", (publication) => this.#take(publication));
        for (const name of ["subscribed", "subscribing", "unsubscribed"]) {
          subscription.on(name, (event) => {
            if (subscription === this.#subscription) this.#drawStatus(event);
          });
        }
        subscription.on("error", ({ error }) => { this.status.textContent = error.message; });
        this.#drawStatus();
        this.#redraw();
      }

      #take({ data, tags }) {
        const from = data?.from ?? tags[tag];
        if (typeof from !== "string" || !Number.isFinite(data?.t)) return;
        this.#received += 1;
        this.#lastSecond += 1;
        const elapsed = performance.now();
        const now = this.#epoch + elapsed;
        if (data.t - now > this.#ahead) this.#ahead = data.t - now;
        this.#samples.add(elapsed, now + this.#ahead - data.t);
        this.from = from;
        this.number = data.n;
        if (this.#people.has(from) || this.#people.size > mostPeople) return;
        const after = [...this.#people].filter(([one]) => one !== everybody && one > from).sort()[0];
        this.choices.insertBefore(this.#choice(from, readable(from)), after?.[1] ?? null);
      }

      #drawStatus(event) {
        const { connectionState } = this.client;
        const state = this.#subscription?.state;
        const who = this.#person === everybody ? "everybody" : readable(this.#person);
        const text = connectionState !== "connected"
          ? "Offline. This channel keeps nothing: what is said meanwhile is not shown later."
          : state === "subscribed" ? `Following ${who}` : state === "unsubscribed"
            ? event?.reason || "Not following anybody." : "Subscribing …";
        if (this.status.textContent !== text) this.status.textContent = text;
        this.status.classList.toggle("soft", state === "subscribed");
      }

      #second() {
        const drift = Date.now() - this.#epoch - performance.now();
        if (Math.abs(drift) > 2) this.#epoch += drift;
        const delays = this.#samples.since(performance.now() - 5000).sort((a, b) => a - b);
        const [middle, slow] = [quantile(delays, 0.5), quantile(delays, 0.99)];
        const { figures, plot } = this;
        figures.rate.value.textContent = this.#lastSecond.toLocaleString();
        figures.middle.value.textContent = shown(middle);
        figures.slow.value.textContent = shown(slow);
        figures.sum.value.textContent = this.#received.toLocaleString();
        this.latest.textContent = this.#received > 0
          ? `Latest: message ${(this.number ?? 0).toLocaleString()} of ${readable(this.from)}`
          : "The server makes these messages while somebody listens. The first come within a moment.";
        plot.canvas.setAttribute("aria-label", delays.length === 0 ? "No messages in the last seconds"
          : `Delivery times of the last seconds: half within ${shown(middle)}, 99 of 100 within ${shown(slow)}`);
        if (!this.#paused && !document.hidden) plot.check(performance.now());
        this.#lastSecond = 0;
      }
    }

    /** Shows the busy channel in `root`. */
    export function mount(root, session) {
      const app = new Busy(root, session);
      return { unmount: () => app.unmount() };
    }

    """##

  private static let demo3 = ##"""
    // What one may decide about a person or a conversation, with what it means said where it is chosen.

    import { button, confirm, field, h, openDialog, sentence } from "./ui.js";

    /** What a report may be about, and how it is said. */
    export const reasons = {
      spam: "Advertising or spam", harassment: "Harassment", threat: "A threat", nudity: "Nudity",
      minor: "A child in danger", impersonation: "Pretends to be somebody else", other: "Something else",
    };

    export const disappearTimes = [
      [0, "Never: messages stay"], [60_000, "After 1 minute"], [3_600_000, "After 1 hour"], [86_400_000, "After 1 day"],
      [604_800_000, "After 1 week"],
    ];

    /** How a time after which messages disappear is said. */
    export function disappearText(after) {
      return disappearTimes.find(([time]) => time === after)?.[1] ?? `After ${Math.round(after / 60_000)} minutes`;
    }

    /** The decisions, as functions that ask, call, and tell what has become of it. Each gives whether it was done. */
    export function makeActions(session) {
      const { client, toast, store } = session;
      const { clique, state } = client;
      const run = async (call, done) => {
        try {
          const answer = await call();
          if (done) toast(done);
          return answer ?? true;
        } catch (error) {
          toast(sentence(error));
          return false;
        }
      };
      const block = async (person) => {
        const isDone = await run(async () => {
          await clique.block({ person });
          await state.block(person);
        });
        if (isDone) toast(`${store.nameOf(person)} is blocked.`, { undo: () => unblock(person) });
        return isDone;
      };
      const unblock = (person) => run(async () => {
        await clique.unblock({ person });
        await state.unblock(person);
      }, `${store.nameOf(person)} is not blocked any more. What was sent meanwhile does not arrive.`);
      return {
        run, unblock,
        accept: (person) => run(() => clique.accept({ person }), `You and ${store.nameOf(person)} can talk now.`),
        decline: async (person) => {
          const choice = await askDecline(store.nameOf(person));
          if (choice === "block") return block(person);
          if (choice !== "decline") return false;
          return run(() => clique.decline({ person }), "Declined. Nobody is told.");
        },
        block: async (person) => await askBlock(store.nameOf(person)) && block(person),
        takeBack: (person) => run(() => clique.disconnect({ person }), "Your request is taken back."),
        clearAway: (person) => run(() => clique.disconnect({ person }), "The conversation is cleared away."),
        end: async (person) => {
          const name = store.nameOf(person);
          const text = `${name} sees that you have left, and can still read what was said. Either of you may ask again. `
            + "If you do not want to hear from them any more, block them: of that, nobody is told.";
          if (!await confirm(`End the conversation with ${name}?`, text, { action: "End it", danger: true })) return false;
          return run(() => clique.disconnect({ person }), `${name} is told that you have left.`);
        },
        report: (who, name, offset) => askReport(name, Boolean(offset)).then((what) => what
          && run(() => clique.report(who, { ...what, offset }), "Thank you. The moderators have it; nobody else is told.")),
        disappear: async (entry) => {
          const after = await askDisappear(store, entry);
          if (after === undefined) return false;
          const isAgreed = entry.group || entry.disappear_asked?.after === after;
          return run(() => clique.disappear(entry.conversation, after),
            isAgreed ? "It holds from now on, for what is sent next." : `${store.nameOf(entry.with)} is asked to agree.`);
        },
        keep: (conversation, what) => run(() => clique.keep(conversation, what)),
      };
    }

    function askDecline(name) {
      return openDialog(`Decline the request of ${name}?`, (close) => [
        h("div", { class: "choices" },
          choice("Decline", "Answers this one request.", [
            `${name} is not told: to them, it waits and then ends.`,
            "They may ask you again after 30 days.",
            "You may write to them at any time; that opens the conversation.",
            "It changes nothing else: you may still cross paths.",
          ], button("Decline", () => close("decline"), { kind: "primary" })),
          choice("Block", "Keeps the person away from you.", [
            `${name} is not told: to them, you are silent.`,
            "Nothing that they write reaches you, not even after you unblock them.",
            "You disappear from each other's crossings and searches.",
            "You undo it in your list of blocked people.",
          ], button("Block", () => close("block"), { kind: "danger" }))),
        h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet", autofocus: true })),
      ], { className: "dialog-wide" });
    }

    function choice(title, text, points, action) {
      return h("section", { class: "choice" }, h("h3", {}, title), h("p", { class: "soft small" }, text),
        h("ul", { class: "points" }, points.map((point) => h("li", {}, point))), action);
    }

    function askBlock(name) {
      return confirm(`Block ${name}?`, [
        `${name} is not told. To them it looks as if you were silent: they may go on writing, and nothing of `
        + "it reaches you, not even after the block.",
        "You see neither their messages nor their crossings. In groups that you share, neither gets what the other writes; "
        + "what others answer there may still tell of it.",
        "It holds in Clique and in State. You undo it in your list of blocked people.",
      ], { action: "Block", danger: true });
    }

    function askReport(name, isMessage) {
      const what = isMessage ? `this message of ${name}` : name;
      return openDialog(`Report ${what}?`, (close) => {
        const reason = field("Why?", { tag: "select", children: Object.entries(reasons).map(([value, text]) =>
          h("option", { value }, text)) });
        const text = field("What should the moderators know?", { tag: "textarea", rows: 3, maxlength: 1000 }, "Optional.");
        return h("form", { class: "stack", on: {
          submit: (event) => {
            event.preventDefault();
            close({ reason: reason.input.value, text: text.input.value.trim() || undefined });
          },
        } },
        h("p", { class: "soft small" }, `The moderators get the last messages of ${name} to you. ${name} is not told.`),
        reason.element, text.element,
        h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" }),
          h("button", { type: "submit", class: "button button-danger" }, "Report")));
      });
    }

    function askDisappear(store, entry) {
      const asked = entry.disappear_asked;
      const who = entry.group ? "It holds at once for all in this group."
        : `It holds when ${store.nameOf(entry.with)} chooses the same.`;
      return openDialog("Disappearing messages", (close) => [
        h("p", { class: "soft" }, `${who} Only what is sent from then on disappears. Whoever reads a message may copy it.`),
        asked ? h("p", { class: "note" }, asked.by === store.me ? "You have proposed: " : "Proposed to you: ",
          disappearText(asked.after)) : null,
        h("div", { class: "stack-tight" }, disappearTimes.map(([after, text]) => {
          const isNow = (entry.disappear ?? 0) === after;
          const words = isNow ? `${text} (as it is now)` : text;
          return button(words, () => close(after), { "aria-pressed": String(isNow) });
        })),
        h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" })),
      ]);
    }

    """##

  private static let demo4 = ##"""
    // An open conversation: who it is with, what may be decided, the messages, and the field to write in.
    //
    //   Entry of the list     Messages shown               Above the field               The field
    //   none                  nothing yet                  what a request is             writes a request
    //   request_out           those of the request         take back                     adds to the request
    //   request_in            those of the request         accept, decline or block      answers, which accepts
    //   active                the chat                     what is proposed, if any      writes, with pictures and replies
    //   ended                 the chat, to be read         who has left, clear away      writes a new request
    //   blocked               none                         unblock                       none
    //   gone                  back to the list

    import { announce, avatar, bag, button, fill, fromNow, h, openDialog, timeOfDay, fullTime } from "./ui.js";
    import { disappearText } from "./clique-actions.js";
    import { makeComposer } from "./clique-composer.js";
    import { openGroup } from "./clique-group.js";
    import { makeLog } from "./clique-log.js";
    import { placeName } from "./clique-map.js";
    import { waitingLine } from "./clique-message.js";
    import { makeOutbox } from "./clique-outbox.js";

    /** What the screen is for, by the list's entry. Pure. */
    export function modeOf(entry, isBlocked) {
      if (isBlocked || entry?.state === "blocked") return "blocked";
      return entry?.state ?? "none";
    }

    /** The screen; `start()` once it is on the page, `end()` leaves it, `goTo(offset)` shows a message. */
    export function makeChat(context, { conversation, person, offset, leave }) {
      const { store } = context;
      const held = bag();
      const outbox = makeOutbox(context, { conversation, person });
      const header = makeHeader(context, leave);
      const notice = h("div", { class: "chat-notice", hidden: true });
      const place = h("div", { class: "chat-log" });
      const below = h("div");
      const element = h("div", { class: "chat card" }, header.element, notice, place, below);
      let body = null;
      let composer = null;
      let mode = "";
      let wanted = offset;

      const entryOf = () => (conversation ? store.list.view.get(conversation) : store.entryWith(person));

      const build = (entry) => {
        body?.end();
        const hadFocus = composer?.hasFocus() ?? false;
        composer?.end();
        const hooks = {
          onReply: (message) => composer?.reply(message), onEdit: (message) => composer?.edit(message),
        };
        const isChat = mode === "active" || mode === "ended";
        body = isChat ? makeLog(context, conversation, { ...hooks, isOpen: mode === "active" })
          : makeRequest(context, outbox, mode);
        composer = mode === "blocked" ? null : makeComposer(context, {
          entry, conversation, person, mode, outbox, onSent: () => body?.scrollToEnd(),
          name: () => nameOf(context, entryOf(), person),
        });
        fill(place, body.element);
        fill(below, composer?.element);
        body.start();
        if (isChat && wanted > 0) body.goTo(wanted);
        wanted = 0;
        if (hadFocus) composer?.focus();
      };

      const show = () => {
        const entry = entryOf();
        // The list has been read, and this is not in it: taken back, cleared away, left, or ended by this person.
        if (conversation && !entry) {
          if (store.list.state === "subscribed" && mode) leave();
          return;
        }
        const now = modeOf(entry, store.isBlocked(entry?.with ?? person));
        const before = mode;
        mode = now;
        header.show(entry, person, mode);
        if (now !== before) {
          build(entry);
          if (before) announce(changeText(now, nameOf(context, entry, person)));
        }
        showNotice(context, notice, mode, entry, person);
        body?.update?.(entry);
        composer?.update(entry);
      };

      return {
        element,
        goTo(target) {
          if (mode === "active" || mode === "ended") body.goTo(target); else wanted = target;
        },
        start() {
          held.keep(store.onChange(show));
          held.every(30_000, show);
          show();
          // A phone's keyboard would hide what one came to read.
          if (matchMedia("(pointer: fine)").matches) composer?.focus();
        },
        end() {
          held.end();
          composer?.end();
          body?.end();
        },
      };
    }

    function nameOf({ store }, entry, person) {
      return entry ? store.titleOf(entry) : store.nameOf(person);
    }

    function changeText(mode, name) {
      switch (mode) {
        case "active": return `You and ${name} can talk now.`;
        case "ended": return `${name} has left the conversation.`;
        case "request_in": return `${name} wants to talk with you.`;
        case "request_out": return `Your message waits for ${name} to accept.`;
        default: return "";
      }
    }

    // The top

    function makeHeader(context, leave) {
      const { store, user } = context;
      const back = button("←", leave, { kind: "icon", label: "Back to the messages" });
      back.classList.add("chat-back");
      const name = h("span", { class: "strong one-line" });
      const detail = h("span", { class: "soft small one-line" });
      const words = h("span", { class: "stack-tight grow" }, name, detail);
      const who = h("span", { class: "chat-who row no-wrap grow" });
      const more = button("⋯", () => openMore(context, shown), {
        kind: "icon", label: "What to do with this conversation", "aria-haspopup": "dialog",
      });
      let shown = null;
      let face = null;
      let link = null;
      const element = h("header", { class: "chat-head" }, back, who, more);
      const build = (entry, person) => {
        const id = entry?.with ?? person;
        face = avatar(id || entry.conversation, store.titleOf(entry ?? { with: person }));
        link = entry?.group
          ? h("button", { type: "button", class: "chat-link", on: { click: () => openGroup(context, shown) } }, face, words)
          : h("a", { class: "chat-link", href: `#/clique/person/${encodeURIComponent(id)}` }, face, words);
        fill(who, link);
      };
      return {
        element,
        show(entry, person, mode) {
          if (!link) build(entry, person);
          shown = entry;
          const title = nameOf(context, entry, person);
          if (name.textContent !== title) name.textContent = title;
          face.rename(title);
          if (!entry?.group) store.showPicture(face, entry?.with ?? person);
          const text = detailOf(entry, mode, store, user);
          if (detail.textContent !== text) detail.textContent = text;
          link.setAttribute("aria-label", entry?.group ? `${title}: members and more` : `Profile of ${title}`);
          more.hidden = !entry || mode === "blocked";
        },
      };
    }

    function detailOf(entry, mode, store, me) {
      if (entry?.group) {
        const names = entry.members.map((one) => (one === me ? "you" : store.nameOf(one)));
        return names.join(", ");
      }
      const signs = [];
      if (entry?.crossing) signs.push(`crossed at ${placeName(entry.crossing.place)}, ${fromNow(entry.crossing.time)}`);
      if (entry?.disappear) signs.push(`messages disappear ${disappearText(entry.disappear).toLowerCase()}`);
      if (signs.length === 0 && mode === "none") signs.push("nothing said yet");
      const text = signs.join(" · ");
      return text.charAt(0).toUpperCase() + text.slice(1);
    }

    async function openMore(context, entry) {
      if (!entry) return;
      const { actions } = context;
      const { conversation } = entry;
      const isTalk = entry.state === "active" || entry.state === "ended";
      const choices = [
        isTalk ? ["Mute", "Unmute"][entry.muted ? 1 : 0] : null, isTalk ? ["Pin", "Unpin"][entry.pinned ? 1 : 0] : null,
        isTalk ? ["Archive", "Bring back from the archive"][entry.archived ? 1 : 0] : null,
        entry.state === "active" && mayDisappear(entry, context.user) ? "Disappearing messages…" : null,
        entry.group ? "Members and more…" : null,
      ].filter(Boolean);
      const dangers = entry.group ? [] : [
        entry.state === "active" ? "End the conversation…" : null, entry.state === "ended" ? "Clear away" : null, "Block…",
        "Report…",
      ].filter(Boolean);
      const choice = await openDialog("This conversation", (close) => [
        h("div", { class: "stack-tight" }, choices.map((text) => button(text, () => close(text))),
          dangers.map((text) => button(text, () => close(text), { kind: text === "Clear away" ? "" : "danger" }))),
        h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" })),
      ]);
      switch (choice) {
        case "Mute": case "Unmute": return actions.keep(conversation, { muted: !entry.muted });
        case "Pin": case "Unpin": return actions.keep(conversation, { pinned: !entry.pinned });
        case "Archive": case "Bring back from the archive":
          return actions.keep(conversation, { archived: !entry.archived });
        case "Disappearing messages…": return actions.disappear(entry);
        case "Members and more…": return openGroup(context, entry);
        case "End the conversation…": return actions.end(entry.with);
        case "Clear away": return actions.clearAway(entry.with);
        case "Block…": return actions.block(entry.with);
        case "Report…": return actions.report({ person: entry.with }, context.store.nameOf(entry.with));
        default: return undefined;
      }
    }

    function mayDisappear(entry, me) {
      return !entry.group || (entry.admins ?? []).includes(me);
    }

    // Between the top and the messages

    function showNotice(context, notice, mode, entry, person) {
      const { actions, store, user: me } = context;
      const name = nameOf(context, entry, person);
      const asked = mode === "active" && !entry.group ? entry.disappear_asked : null;
      const drawn = JSON.stringify([mode, name, asked, entry?.disappear]);
      if (notice.dataset.drawn === drawn) return;
      notice.dataset.drawn = drawn;
      const say = (text, ...buttons) => [h("p", {}, text), buttons.length ? h("div", { class: "row" }, buttons) : null];
      const small = (text, action, kind = "") => button(text, action, {
        class: `button button-small ${kind ? `button-${kind}` : ""}`,
      });
      const who = entry?.with ?? person;
      const parts = {
        none: () => say(`Your first message to ${name} is a request: they choose whether to talk with you.`),
        request_out: () => say(`Waits for ${name} to accept. You may add to it, three messages in all.`,
          small("Take back", () => actions.takeBack(who))),
        request_in: () => say(`${name} wants to talk with you. If you answer, you accept.`,
          small("Accept", () => actions.accept(who), "primary"), small("Decline or block…", () => actions.decline(who)),
          small("Report…", () => actions.report({ person: who }, name))),
        ended: () => say(`${name} has left the conversation. You can still read it; what you write is a new request.`,
          small("Clear away", () => actions.clearAway(who))),
        blocked: () => say(`You have blocked ${name}: nothing that they write reaches you, and they are not told.`,
          small("Unblock", () => actions.unblock(who))),
        active: () => (asked ? proposal(context, entry, asked, name, me, small, say) : []),
      }[mode]?.() ?? [];
      fill(notice, parts);
      notice.hidden = parts.length === 0;
    }

    function proposal(context, entry, asked, name, me, small, say) {
      const { actions, client } = context;
      const set = (after, done) => actions.run(() => client.clique.disappear(entry.conversation, after), done);
      const time = disappearText(asked.after).toLowerCase();
      const what = asked.after === 0 ? "that messages stay" : `that messages disappear ${time}`;
      if (asked.by === me) {
        return say(`You have proposed ${what}. It holds when ${name} agrees.`,
          small("Take it back", () => set(entry.disappear ?? 0, "Taken back.")));
      }
      return say(`${name} proposes ${what}, for what is sent from then on.`,
        small("Agree", () => set(asked.after, "Agreed: it holds from now on."), "primary"),
        small("Leave it as it is", () => set(entry.disappear ?? 0, "It stays as it is.")));
    }

    // A request has its messages in the list's entry, and no chat yet

    function makeRequest(context, outbox, mode) {
      const { client, user: me } = context;
      const rows = h("ol", { class: "log-rows" });
      const element = h("div", { class: "log", tabindex: "0", role: "region", "aria-label": "Messages" }, rows);
      const held = bag();
      let latest = null;
      let said = 0;
      let drawn = "";

      const show = () => {
        const messages = latest?.messages ?? [];
        const known = new Set(messages.map((message) => message.key).filter(Boolean));
        const waiting = mode === "request_in" ? [] : outbox.waiting().filter(([key]) => !known.has(key));
        const now = JSON.stringify([messages, waiting.map(([key, one]) => [key, one.state, one.problem])]);
        if (now === drawn) return;
        drawn = now;
        const isMine = mode !== "request_in";
        fill(rows, messages.map((message) => bubble(message, isMine, null, context, latest)),
          waiting.map(([, one]) => bubble({ text: one.data.text, time: one.time }, true, one, context, latest)));
        element.scrollTop = element.scrollHeight;
      };

      const read = () => {
        const number = latest?.messages?.length ?? 0;
        if (mode !== "request_in" || number <= said || document.hidden) return;
        said = number;
        client.clique.read(latest.conversation, number).catch(() => {
          said = 0;
        });
      };

      return {
        element,
        goTo() {},
        update(entry) {
          latest = entry?.with && entry.with !== me ? entry : latest;
          show();
          read();
        },
        start() {
          held.keep(outbox.onChange(show));
          held.listen(document, "visibilitychange", read);
          show();
        },
        scrollToEnd() {
          element.scrollTop = element.scrollHeight;
        },
        end: () => held.end(),
      };
    }

    function bubble(message, isMine, waiting, { store }, entry) {
      const who = isMine ? "You" : store.nameOf(entry?.with ?? "");
      return h("li", { class: `message ${isMine ? "is-mine" : ""}` }, h("div", { class: "bubble" },
        h("span", { class: "visually-hidden" }, who), h("p", { class: "message-text" }, message.text),
        h("div", { class: "message-foot small" },
          h("time", { title: fullTime(message.time) }, timeOfDay(message.time)), waiting ? waitingLine(waiting) : null)));
    }

    """##

  private static let demo5 = ##"""
    // The field to write in: text, a picture, what is replied to or changed, and the draft that all devices share.

    import { bag, button, fill, h, rested, sentence } from "./ui.js";

    const mostCharacters = { none: 1000, request_out: 1000, ended: 1000 };
    const largestSide = 2048;
    const typingEvery = 3000;
    const draftAfter = 3000;

    const prompts = {
      none: (name) => `Your first message to ${name}`, request_out: (name) => `Add to your request to ${name}`,
      request_in: (name) => `Answer ${name}`, active: () => "Message", ended: (name) => `Ask ${name} again`,
    };

    /** Who of a group is meant by the text: those whose `@name` stands in it. Pure. */
    export function mentionsIn(text, members, nameOf) {
      const lower = text.toLocaleLowerCase();
      return members.filter((user) => [nameOf(user), user].some((name) => {
        const at = lower.indexOf(`@${name.toLocaleLowerCase()}`);
        return at >= 0 && !/[\p{L}\p{N}]/u.test(lower.charAt(at + name.length + 1));
      }));
    }

    /** The field of a conversation in one mode; see clique-chat.js for what the modes are. */
    export function makeComposer(context, { entry: first, conversation, person, mode, outbox, onSent, name }) {
      const { client, store, user: me, toast } = context;
      const held = bag();
      let entry = first;
      let replied = null;
      let edited = null;
      let picture = null;
      let lastTyping = 0;

      const input = h("textarea", {
        class: "input", rows: 1, maxlength: mostCharacters[mode] ?? 4000, "aria-label": prompts[mode](name()),
        placeholder: prompts[mode](name()), autocomplete: "off", enterkeyhint: "send",
      });
      const above = h("div", { class: "composer-above", hidden: true });
      const file = h("input", { type: "file", accept: "image/*", hidden: true, on: { change: () => choosePicture() } });
      const attach = button("🖼", () => file.click(), { kind: "icon", label: "Send a picture" });
      const send = h("button", { type: "submit", class: "button button-primary" }, "Send");
      const isOpen = mode === "active";

      const grow = () => {
        input.style.setProperty("height", "auto");
        input.style.setProperty("height", `${Math.min(input.scrollHeight + 2, 160)}px`);
      };

      const keepDraft = rested(() => {
        if (!entry || edited) return;
        const text = input.value.trim();
        const before = store.drafts.view.get(entry.conversation)?.text ?? "";
        if (text === before) return;
        client.clique.draft(entry.conversation, text, { reply: replied?.offset }).catch(() => {
          // A draft that could not be kept is still in the field.
        });
      }, draftAfter);

      const showAbove = () => {
        const cancel = (label, f) => button("✕", f, { kind: "icon", label });
        const parts = [];
        if (edited) {
          parts.push(h("div", { class: "composer-note" }, h("span", { class: "grow one-line small" },
            h("span", { class: "strong" }, "You change: "), edited.data.text),
          cancel("Leave the message as it is", stopEdit)));
        } else if (replied) {
          const who = replied.user === me ? "yourself" : store.nameOf(replied.user);
          parts.push(h("div", { class: "composer-note" }, h("span", { class: "grow one-line small" },
            h("span", { class: "strong" }, `You reply to ${who}: `), replied.data.text || "a picture"),
          cancel("Reply to nothing", () => setReply(null))));
        }
        if (picture) {
          parts.push(h("div", { class: "composer-note" }, h("img", { src: picture.address, alt: "The picture to send" }),
            h("span", { class: "grow small soft" }, "Where and when it was taken is not sent."),
            cancel("Send no picture", () => setPicture(null))));
        }
        fill(above, parts);
        above.hidden = parts.length === 0;
      };
      const setReply = (message) => {
        replied = message;
        showAbove();
        input.focus();
      };
      const stopEdit = () => {
        edited = null;
        input.value = "";
        send.textContent = "Send";
        grow();
        showAbove();
        input.focus();
      };
      const setPicture = (one) => {
        if (picture && picture !== one) URL.revokeObjectURL(picture.address);
        picture = one;
        showAbove();
        input.focus();
      };

      const choosePicture = async () => {
        const [chosen] = file.files;
        file.value = "";
        if (!chosen) return;
        try {
          setPicture(await preparePicture(chosen));
        } catch (error) {
          toast(sentence(error));
        }
      };

      const submit = async () => {
        const text = input.value.trim();
        if (!text && !picture) return input.focus();
        keepDraft.cancel();
        if (edited) {
          const { offset, data } = edited;
          stopEdit();
          if (text === data.text) return undefined;
          return client.clique.edit(conversation, offset, text).then(undefined, (error) => toast(sentence(error)));
        }
        const others = (entry?.members ?? []).filter((one) => one !== me);
        const mentions = isOpen && entry?.group ? mentionsIn(text, others, store.nameOf) : [];
        const to = isOpen ? { conversation } : { to: entry?.with ?? person };
        const sent = { text, to, picture, reply: isOpen ? replied?.offset : undefined };
        outbox.send({ ...sent, mentions: mentions.length ? mentions : undefined });
        if (picture) URL.revokeObjectURL(picture.address);
        picture = replied = null;
        input.value = "";
        lastTyping = 0;
        grow();
        showAbove();
        input.focus();
        onSent();
        return undefined;
      };

      const typed = () => {
        grow();
        if (!edited) keepDraft();
        const now = Date.now();
        if (!isOpen || edited || !input.value.trim() || now - lastTyping < typingEvery) return;
        lastTyping = now;
        client.clique.typing(conversation).catch(() => {});
      };

      held.listen(input, "input", typed);
      held.listen(input, "keydown", (event) => {
        // On a phone the key makes a new line; there is a button beside it.
        const isSending = event.key === "Enter" && !event.shiftKey && !event.isComposing
          && matchMedia("(pointer: fine)").matches;
        if (isSending) {
          event.preventDefault();
          submit();
        } else if (event.key === "Escape" && (edited || replied)) {
          if (edited) stopEdit(); else setReply(null);
        }
      });
      held.listen(input, "paste", (event) => {
        const pasted = [...event.clipboardData?.files ?? []].find((one) => one.type.startsWith("image/"));
        if (!pasted || !isOpen) return;
        event.preventDefault();
        preparePicture(pasted).then(setPicture, (error) => toast(sentence(error)));
      });
      const takeDraft = () => {
        const draft = entry && store.drafts.view.get(entry.conversation);
        if (edited || document.activeElement === input || keepDraft.isWaiting()) return;
        const text = draft?.text ?? "";
        if (input.value === text || (!draft && input.value)) return;
        input.value = text;
        grow();
      };

      const element = h("form", { class: "composer", on: {
        submit: (event) => {
          event.preventDefault();
          submit();
        },
      } }, above, h("div", { class: "composer-row" }, isOpen ? [attach, file] : null, input, send));
      takeDraft();
      requestAnimationFrame(grow);

      return {
        element,
        focus: () => input.focus({ preventScroll: true }),
        hasFocus: () => element.contains(document.activeElement),
        reply: (message) => setReply(message),
        edit(message) {
          keepDraft.now();
          edited = message;
          input.value = message.data.text;
          send.textContent = "Save";
          grow();
          showAbove();
          input.focus();
        },
        update(now) {
          entry = now ?? entry;
          takeDraft();
        },
        end() {
          if (!edited) keepDraft.now();
          held.end();
          if (picture) URL.revokeObjectURL(picture.address);
        },
      };
    }

    /** The picture drawn anew, at most 2,048 pixels a side: nothing but the pixels is left of the file. */
    async function preparePicture(blob) {
      if (blob.size > 33_554_432) throw new Error("This file is larger than 32 MB: choose a smaller picture.");
      let image;
      try {
        image = await createImageBitmap(blob);
      } catch {
        throw new Error("This file cannot be shown as a picture: choose a JPEG, PNG or WebP.");
      }
      const scale = Math.min(1, largestSide / Math.max(image.width, image.height));
      const [width, height] = [image.width, image.height].map((side) => Math.max(1, Math.round(side * scale)));
      const canvas = h("canvas", { width, height });
      const surface = canvas.getContext("2d");
      surface.fillStyle = "#ffffff";
      surface.fillRect(0, 0, width, height);
      surface.drawImage(image, 0, 0, width, height);
      image.close();
      const drawn = await new Promise((resolve) => {
        canvas.toBlob(resolve, "image/jpeg", 0.86);
      });
      if (!drawn) throw new Error("The picture could not be drawn: try again, or choose another one.");
      return { blob: drawn, width, height, address: URL.createObjectURL(drawn) };
    }

    """##

  private static let demo6 = ##"""
    // The page of a group: members, its name, links, and leaving it.

    import { avatar, button, confirm, fill, h, openDialog, sentence } from "./ui.js";

    const linkLifetime = 86_400_000;

    /** Opens the page of the group whose entry this is; it follows the list while it is open. */
    export function openGroup(context, first) {
      if (!first) return undefined;
      const { store } = context;
      return openDialog("Group", (close, dialog) => {
        const place = h("div", { class: "stack" });
        let drawn = "";
        const show = () => {
          const entry = store.list.view.get(first.conversation);
          if (!entry) return close(undefined);
          const now = JSON.stringify([entry.name, entry.members, entry.admins, entry.members.map(store.nameOf)]);
          if (now === drawn) return undefined;
          drawn = now;
          return fill(place, content(context, entry, close));
        };
        const off = store.onChange(show);
        dialog.addEventListener("close", off);
        show();
        return place;
      });
    }

    function content(context, entry, close) {
      const { user: me } = context;
      const isAdmin = (entry.admins ?? []).includes(me);
      return [
        isAdmin ? nameForm(context, entry) : h("p", { class: "strong" }, context.store.titleOf(entry)),
        h("ul", { class: "list", "aria-label": "Members" },
          entry.members.map((user) => member(context, entry, user, isAdmin))),
        isAdmin ? h("div", { class: "row" },
          button("Add people…", () => addPeople(context, entry), { class: "button button-small" }),
          button("Make a link", (event) => makeLink(context, entry, event.currentTarget), { class: "button button-small" }))
          : null,
        h("div", { class: "dialog-actions" },
          button("Leave the group…", () => leave(context, entry), { kind: "danger" }),
          button("Close", () => close(undefined), { kind: "primary" })),
      ];
    }

    function nameForm({ actions, client }, entry) {
      const input = h("input", {
        class: "input", value: entry.name ?? "", maxlength: 80, "aria-label": "Name of the group", placeholder: "No name",
      });
      return h("form", { class: "row no-wrap", on: {
        submit: (event) => {
          event.preventDefault();
          const name = input.value.trim();
          actions.run(() => client.clique.group.rename(entry.conversation, name), "The group has a new name.");
        },
      } }, h("div", { class: "grow" }, input), h("button", { type: "submit", class: "button" }, "Rename"));
    }

    function member({ actions, client, store, user: me }, entry, user, isAdmin) {
      const name = user === me ? "You" : store.nameOf(user);
      const face = avatar(user, name, "small");
      store.showPicture(face, user);
      const isTheirs = (entry.admins ?? []).includes(user);
      const { group } = client.clique;
      const small = (text, label, call, done) => button(text, () => actions.run(call, done), {
        class: "button button-small", "aria-label": label,
      });
      return h("li", { class: "member-row" }, face, h("span", { class: "grow one-line" }, name),
        isTheirs ? h("span", { class: "chip" }, "Administrator") : null,
        isAdmin && user !== me ? h("span", { class: "row" },
          isTheirs
            ? small("Dismiss", `${name} is no administrator any more`, () => group.dismiss(entry.conversation, user))
            : small("Appoint", `Make ${name} an administrator`, () => group.appoint(entry.conversation, user)),
          small("Remove", `Remove ${name} from the group`, () => group.remove(entry.conversation, user),
            `${name} is not in the group any more.`)) : null);
    }

    async function addPeople({ actions, client, store }, entry) {
      const people = [...store.list.view.values()]
        .filter((one) => one.state === "active" && one.with && !entry.members.includes(one.with));
      const chosen = await openDialog("Add people", (close) => {
        const boxes = people.map((one) => h("input", { type: "checkbox", value: one.with }));
        return h("form", { class: "stack", on: {
          submit: (event) => {
            event.preventDefault();
            close(boxes.filter((box) => box.checked).map((box) => box.value));
          },
        } },
        people.length === 0 ? h("p", { class: "soft" }, "Everybody whom you talk with is here already.")
          : h("fieldset", { class: "plain" }, h("legend", { class: "soft small" },
            "They read what is said from then on, and nothing from before."),
          people.map((one, index) => h("label", { class: "check" }, boxes[index],
            avatar(one.with, store.nameOf(one.with), "small"), store.nameOf(one.with)))),
        h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" }),
          people.length ? h("button", { type: "submit", class: "button button-primary" }, "Add") : null));
      });
      if (!chosen?.length) return;
      await actions.run(() => client.clique.group.add(entry.conversation, chosen));
    }

    async function makeLink(context, entry, place) {
      const { actions, client } = context;
      const answer = await actions.run(() => client.clique.group.link(entry.conversation, { lifetime: linkLifetime }));
      if (!answer?.link) return;
      const address = new URL(`#/clique/join/${encodeURIComponent(answer.link)}`, location.href).href;
      const input = h("input", { class: "input", readOnly: true, value: address, "aria-label": "Link into the group" });
      const copy = button("Copy", async () => {
        input.select();
        await navigator.clipboard?.writeText(address).then(() => context.toast("Copied."), (error) =>
          context.toast(sentence(error)));
      }, { class: "button button-small" });
      place.parentElement.after(h("div", { class: "stack-tight" }, h("div", { class: "row no-wrap" },
        h("div", { class: "grow" }, input), copy),
      h("p", { class: "soft small" }, "Whoever opens it within a day may join. It is shown this once.")));
      input.select();
    }

    async function leave({ actions, client, store }, entry) {
      const isSure = await confirm(`Leave ${store.titleOf(entry)}?`,
        "The others see that you have left. You lose what was said; an administrator can add you again.",
        { action: "Leave", danger: true });
      if (isSure) await actions.run(() => client.clique.group.leave(entry.conversation), "You have left the group.");
    }

    /** Asks whether to join by a link that somebody has sent, and opens the group. */
    export async function joinByLink({ actions, client, navigate }, link) {
      const isSure = await confirm("Join this group?", "Its members see that you have come, and your profile.",
        { action: "Join" });
      const answer = isSure && await actions.run(() => client.clique.group.join(link));
      navigate(answer?.conversation ? `#/clique/chat/${encodeURIComponent(answer.conversation)}` : "#/clique/messages");
    }

    """##

  private static let demo7 = ##"""
    // Who crossed one's path: the campus, the people, and finding somebody by name.

    import {
      announce, avatar, bag, button, count, duration, emptyState, field, fill, fromNow, h, keyedList, rested, sentence,
    } from "./ui.js";
    import { makeCampus, placeName } from "./clique-map.js";

    /** Milliseconds below which the time together says nothing yet. */
    export const brief = 5000;

    /** How long two were together, and are: what the server counted goes on while they are. */
    export function togetherFor(crossing, toldAt, now = Date.now()) {
      return crossing.total + (crossing.together ? Math.max(0, now - toldAt) : 0);
    }

    /** The screen; `end()` leaves it. */
    export function makeHome(context) {
      const { client, session } = context;
      const held = bag();
      const crossed = client.clique.crossed();
      const toldAt = new Map();
      let order = "recent";
      const campus = makeCampus(session, { onMove: () => show() });
      held.keep(campus.end);

      const rows = h("ul", { class: "list" });
      const empty = h("div");
      const list = keyedList(rows, {
        key: (crossing) => crossing.user, make: (crossing) => makePerson(context, crossing.user),
        update: (row, crossing) => row.show(crossing, togetherFor(crossing, toldAt.get(crossing.user) ?? Date.now())),
      });

      const show = () => {
        const people = [...crossed.view.values()];
        campus.update(people);
        const total = (one) => togetherFor(one, toldAt.get(one.user) ?? Date.now());
        if (order === "time") people.sort((a, b) => total(b) - total(a));
        list.show(people);
        empty.hidden = people.length > 0;
        rows.hidden = people.length === 0;
        const isLoading = crossed.state !== "subscribed" && people.length === 0;
        if (empty.dataset.loading !== String(isLoading)) {
          empty.dataset.loading = String(isLoading);
          fill(empty, isLoading ? h("p", { class: "empty" }, "Looking who crossed your path…") : nobody());
        }
      };
      held.keep(crossed.on("change", ({ key, data, previous }) => {
        if (data) toldAt.set(key, Date.now()); else toldAt.delete(key);
        if (data?.together && !previous?.together) announce(`${context.store.nameOf(key)} is here too.`);
        show();
      }));
      held.keep(crossed.on("subscribed", show));
      held.keep(context.store.onChange(show));
      held.every(10_000, show);
      held.keep(() => crossed.unsubscribe());

      const orders = [["recent", "Recently"], ["time", "Most time together"]].map(([name, text]) =>
        button(text, (event) => {
          order = name;
          for (const one of orders) one.setAttribute("aria-pressed", String(one === event.currentTarget));
          show();
        }, { class: "button button-small", "aria-pressed": String(name === order) }));

      const element = h("div", { class: "home" },
        h("section", { class: "card stack", "aria-labelledby": "campus-title" },
          h("div", { class: "row row-between" }, h("h1", { id: "campus-title" }, "Where are you?"),
            invisibleSwitch(context, campus)), campus.element),
        h("section", { class: "card stack", "aria-labelledby": "crossed-title" },
          h("div", { class: "row row-between" }, h("h2", { id: "crossed-title" }, "Who crossed your path"),
            h("div", { class: "filters", role: "group", "aria-label": "Order" }, orders)), rows, empty),
        makeFinder(context, held));
      show();
      return { element, end: () => held.end() };
    }

    function nobody() {
      return emptyState("Nobody yet", "You cross paths by being in the same place. Open a second window, be somebody else "
        + "there, and walk both into the café.",
      h("a", { class: "button button-primary", href: location.pathname, target: "_blank", rel: "noopener" },
        "Open a second window"));
    }

    function makePerson({ store, user: me }, user) {
      const face = avatar(user, store.nameOf(user));
      const name = h("span", { class: "strong one-line" });
      const detail = h("span", { class: "soft small" });
      const chip = h("span", { class: "chip chip-good" }, "Here now");
      const write = h("a", { class: "button button-small", href: `#/clique/to/${encodeURIComponent(user)}` });
      const row = h("li", { class: "person-row" },
        h("a", { class: "list-row grow", href: `#/clique/person/${encodeURIComponent(user)}` }, face,
          h("span", { class: "stack-tight grow" }, h("span", { class: "row" }, name, chip), detail)),
        user === me ? null : write);
      const set = (element, text) => {
        if (element.textContent !== text) element.textContent = text;
      };
      row.show = (crossing, together) => {
        const title = store.nameOf(user);
        set(name, title);
        set(write, store.entryWith(user) ? "Open chat" : "Write");
        write.setAttribute("aria-label", `${write.textContent}: ${title}`);
        face.rename(title);
        store.showPicture(face, user);
        if (!crossing) return;
        chip.hidden = !crossing.together;
        const last = crossing.latest?.[0];
        const where = last ? `${placeName(last.place)}, ` : "";
        const when = crossing.together ? "now" : fromNow(crossing.seen);
        set(detail, `${where}${when} · ${together < brief ? "just met" : `${duration(together)} together`}`);
      };
      return row;
    }

    function invisibleSwitch({ client, toast, user }, campus) {
      // The server does not say whether one is invisible, other than by the answer to coming in.
      const kept = `fanfare.demo.invisible.${user}`;
      const box = h("input", { type: "checkbox", role: "switch", checked: sessionStorage.getItem(kept) === "on", on: {
        change: async () => {
          const on = box.checked;
          try {
            await client.clique.invisible(on);
            if (on) sessionStorage.setItem(kept, "on"); else sessionStorage.removeItem(kept);
            toast(on ? "You are invisible: nobody meets you, and you meet nobody." : "You can be met again.");
            if (!on) campus.enterAgain();
          } catch (error) {
            box.checked = !on;
            toast(sentence(error));
          }
        },
      } });
      return h("label", { class: "check small" }, box, "Invisible");
    }

    /** Finds people by name among those that one may see, and lets one write to an id that one knows. */
    function makeFinder(context, held) {
      const { client, navigate, store, user: me, toast } = context;
      const input = field("Find or write to somebody", {
        type: "search", autocomplete: "off", maxlength: 80, spellcheck: "false", placeholder: "Name",
      }, "Finds people you have met or talk with. Whoever else you know by name, you can ask.");
      const rows = h("ul", { class: "list", "aria-label": "People found" });
      const list = keyedList(rows, {
        key: (person) => person.user, make: (person) => makePerson(context, person.user),
        update: (row) => row.show(null, 0),
      });
      const ask = h("button", { type: "submit", class: "button" });
      let asked = 0;
      const find = rested(async (text) => {
        const mine = asked += 1;
        try {
          const people = text ? await client.clique.findPeople(text, { limit: 20 }) : [];
          if (mine !== asked) return;
          list.show(people.filter((person) => person.user !== me));
          if (text) announce(`${count(people.length, "person", "people")} found`);
        } catch (error) {
          if (mine === asked && text) toast(sentence(error));
        }
      }, 300);
      const show = () => {
        const text = input.input.value.trim();
        ask.hidden = !text;
        ask.textContent = `Write to “${text}”`;
        find(text);
      };
      input.input.addEventListener("input", show);
      held.keep(find.cancel);
      ask.hidden = true;
      return h("section", { class: "card", "aria-label": "Find people" }, h("form", { class: "stack", role: "search", on: {
        submit: (event) => {
          event.preventDefault();
          const user = input.input.value.trim().toLowerCase();
          if (!user) return;
          if (user === me) return void toast("That is you. Write the name of somebody else.");
          const known = [...store.people.view.values()].find((one) => one.name?.toLowerCase() === user);
          navigate(`#/clique/to/${encodeURIComponent(known?.user ?? user)}`);
        },
      } }, input.element, h("div", { class: "row" }, ask)), rows);
    }

    """##

  private static let demo8 = ##"""
    // The list of messages: one channel, and what of it each filter shows.

    import {
      announce, avatar, bag, button, count, emptyState, field, fill, h, keyedList, openDialog, rested, sentence, shortTime,
      fullTime,
    } from "./ui.js";
    import { newKey } from "../fanfare.js";

    /** The entries that a filter shows, in its order. Pure: `entries` is the channel's view, newest first. */
    export function filtered(entries, filter) {
      const all = [...entries];
      if (filter === "requests") return all.filter((entry) => entry.state === "request_in");
      const isTalk = (entry) => ["active", "ended", "request_out"].includes(entry.state);
      if (filter === "archived") return all.filter((entry) => isTalk(entry) && entry.archived);
      const talks = all.filter((entry) => isTalk(entry) && !entry.archived);
      const pinned = talks.filter((entry) => entry.pinned).sort((a, b) => b.pinned - a.pinned);
      return [...pinned, ...talks.filter((entry) => !entry.pinned)];
    }

    const filterNames = { requests: "Requests", conversations: "Conversations", archived: "Archived" };

    const nothing = {
      requests: ["No requests", "When somebody who crossed your path writes to you for the first time, it waits here."],
      conversations: ["No conversations yet", "Find somebody under People, and write. They choose whether to talk."],
      archived: ["Nothing archived", "What you archive comes here, until somebody writes again."],
    };

    /** What an entry says below its name. */
    export function previewOf(entry, draft, me, nameOf) {
      if (draft) return `Draft: ${draft.text}`;
      if (entry.state === "ended") return "Has left the conversation";
      if (entry.state === "request_in") return entry.messages?.at(-1)?.text ?? "Wants to talk to you";
      if (entry.state === "request_out") return `Waiting for an answer: ${entry.messages?.at(-1)?.text ?? ""}`;
      if (entry.expires) return "A message that disappears";
      const text = entry.last || (entry.picture ? "A picture" : "");
      const sign = entry.picture && entry.last ? "🖼 " : "";
      if (!text) return "";
      if (entry.from === me) return `You: ${sign}${text}`;
      return entry.group && entry.from ? `${nameOf(entry.from)}: ${sign}${text}` : `${sign}${text}`;
    }

    /** The screen's left side; `select(conversation)` marks the one that is open. */
    export function makeList(context) {
      const { store } = context;
      const held = bag();
      let filter = "";
      let hasChosen = false;
      let selected = "";
      const rows = h("ul", { class: "list" });
      const empty = h("div");
      const list = keyedList(rows, {
        key: (entry) => entry.conversation, make: (entry) => makeRow(context, entry),
        update: (row, entry) => row.show(entry, entry.conversation === selected),
      });
      const tabs = Object.keys(filterNames).map((name) => {
        const badge = h("span", { class: "badge" });
        const element = button([filterNames[name], badge], () => {
          filter = name;
          hasChosen = true;
          show();
          announce(`${filterNames[name]}: ${rows.children.length}`);
        }, { class: "button button-small" });
        return { name, badge, element };
      });

      const show = () => {
        const entries = [...store.list.view.values()];
        const waiting = filtered(entries, "requests").length;
        const isReady = store.list.state === "subscribed" || entries.length > 0;
        // Requests come first where one waits; the person's own choice stays, and so does the list beside an open chat.
        if (!hasChosen && !selected && isReady) filter = waiting > 0 ? "requests" : "conversations";
        for (const tab of tabs) {
          tab.element.setAttribute("aria-pressed", String(tab.name === filter));
          const number = tab.name === "requests" ? waiting
            : filtered(entries, tab.name).filter((entry) => entry.unread && !entry.muted).length;
          const text = number > 0 ? String(number) : "";
          if (tab.badge.textContent !== text) tab.badge.textContent = text;
        }
        const shown = filtered(entries, filter || "conversations");
        list.show(shown);
        rows.hidden = shown.length === 0;
        const state = shown.length > 0 ? "" : isReady ? filter : "loading";
        if (empty.dataset.state !== state) {
          empty.dataset.state = state;
          fill(empty, state === "loading" ? h("p", { class: "empty" }, "Opening your messages…")
            : state ? emptyState(...nothing[state]) : []);
        }
      };
      held.keep(store.onChange(show));
      held.every(30_000, show);

      const search = makeSearch(context, (isSearching) => {
        body.hidden = isSearching;
      });
      held.keep(search.end);
      const body = h("div", { class: "list-body" },
        h("div", { class: "filters", role: "group", "aria-label": "Show" }, tabs.map((tab) => tab.element)), rows, empty);
      const element = h("section", { class: "message-list card", "aria-label": "Messages" },
        h("div", { class: "row row-between" }, h("h1", {}, "Messages"),
          button("New group", () => newGroup(context), { class: "button button-small" })), search.element, body);
      show();
      return {
        element,
        select(conversation) {
          selected = conversation;
          // What is open is seen among the others of its kind.
          const entry = store.list.view.get(conversation);
          if (entry) filter = entry.state === "request_in" ? "requests" : entry.archived ? "archived" : "conversations";
          else if (!conversation) hasChosen = false;
          show();
        },
        end() {
          held.end();
        },
      };
    }

    function makeRow(context, first) {
      const { store, user: me, actions } = context;
      const face = avatar(first.with ?? first.conversation, store.titleOf(first));
      const name = h("span", { class: "strong one-line grow" });
      const time = h("time", { class: "soft small" });
      const text = h("span", { class: "soft small one-line grow" });
      const badge = h("span", { class: "badge", "aria-hidden": true });
      const signs = h("span", { class: "small", "aria-hidden": true });
      const said = h("span", { class: "visually-hidden" });
      const link = h("a", { class: "list-row grow", href: `#/clique/chat/${encodeURIComponent(first.conversation)}` }, face,
        h("span", { class: "stack-tight grow" }, h("span", { class: "row no-wrap" }, name, signs, time),
          h("span", { class: "row no-wrap" }, text, badge, said)));
      const answers = h("div", { class: "row request-answers" });
      const row = h("li", { class: "message-row" }, link, answers);
      const set = (element, value) => {
        if (element.textContent !== value) element.textContent = value;
      };
      row.show = (entry, isSelected) => {
        const title = store.titleOf(entry);
        set(name, title);
        face.rename(title);
        if (entry.with) store.showPicture(face, entry.with);
        if (isSelected) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
        // In a group that was just founded nothing has been said yet.
        time.hidden = !entry.time;
        if (entry.time) {
          set(time, shortTime(entry.time));
          time.dateTime = new Date(entry.time).toISOString();
          time.title = fullTime(entry.time);
        }
        set(text, previewOf(entry, store.drafts.view.get(entry.conversation), me, store.nameOf));
        const unread = entry.unread ?? 0;
        set(badge, unread > 0 ? (unread >= 100 ? "100+" : String(unread)) : "");
        set(signs, `${entry.pinned ? "📌" : ""}${entry.muted ? "🔕" : ""}`);
        const words = [unread > 0 ? `${unread} unread` : "", entry.pinned ? "pinned" : "", entry.muted ? "muted" : ""];
        set(said, words.filter(Boolean).join(", "));
        const isRequest = entry.state === "request_in";
        if (isRequest === (answers.children.length > 0)) return;
        fill(answers, isRequest ? [
          button("Accept", async () => {
            const isDone = await actions.accept(entry.with);
            if (isDone) context.navigate(`#/clique/chat/${encodeURIComponent(entry.conversation)}`);
          }, { class: "button button-small button-primary", "aria-label": `Accept the request of ${title}` }),
          button("Decline or block…", () => actions.decline(entry.with),
            { class: "button button-small", "aria-label": `Decline or block ${title}` }),
        ] : []);
      };
      return row;
    }

    /** Search through all that one may read. `onChange(isSearching)`: the list makes room for what was found. */
    function makeSearch(context, onChange) {
      const { client, store, user: me, toast } = context;
      const input = h("input", {
        type: "search", class: "input", placeholder: "Search messages", "aria-label": "Search messages", maxlength: 100,
      });
      const found = h("ul", { class: "list", "aria-label": "Messages found", hidden: true });
      let asked = 0;
      const run = rested(async (text) => {
        const mine = asked += 1;
        if (!text) return;
        try {
          const hits = await client.clique.search(text);
          if (mine !== asked) return;
          fill(found, hits.length > 0 ? hits.map((hit) => makeHit(hit, store, me))
            : h("li", { class: "empty" }, `Nothing with “${text}” in it.`));
          announce(`${count(hits.length, "message")} found`);
        } catch (error) {
          if (mine === asked) toast(sentence(error));
        }
      }, 300);
      input.addEventListener("input", () => {
        const text = input.value.trim();
        found.hidden = !text;
        onChange(text !== "");
        if (!text) found.replaceChildren();
        asked += 1;
        run(text);
      });
      return { element: h("div", { class: "stack-tight", role: "search" }, input, found), end: run.cancel };
    }

    function makeHit({ channel, offset, time, user, data }, store, me) {
      const conversation = channel.slice("clique.chat:".length);
      const entry = store.list.view.get(conversation);
      const where = entry ? store.titleOf(entry) : "A conversation";
      const who = user === me ? "You" : store.nameOf(user);
      return h("li", {}, h("a", { class: "list-row", href: `#/clique/chat/${encodeURIComponent(conversation)}/${offset}` },
        avatar(entry?.with ?? conversation, where),
        h("span", { class: "stack-tight grow" },
          h("span", { class: "row no-wrap" }, h("span", { class: "strong one-line grow" }, where),
            h("time", { class: "soft small", title: fullTime(time) }, shortTime(time))),
          h("span", { class: "soft small" }, `${who}: ${data?.text ?? ""}`))));
    }

    /** Asks for a name and members, who are people with whom one talks, and founds the group. */
    async function newGroup(context) {
      const { store, client, navigate, actions } = context;
      const people = [...store.list.view.values()].filter((entry) => entry.state === "active" && entry.with);
      const key = newKey();
      const group = await openDialog("New group", (close) => groupForm(people, store, close));
      if (!group) return;
      const answer = await actions.run(() => client.clique.group.create({ ...group, key }));
      if (answer?.conversation) navigate(`#/clique/chat/${encodeURIComponent(answer.conversation)}`);
    }

    function groupForm(people, store, close) {
      const cancel = button("Cancel", () => close(undefined), { kind: "quiet" });
      if (people.length === 0) {
        return [h("p", { class: "soft" }, "A group is of people whom you talk with already. Accept a request, or have one "
          + "accepted, and come back."), h("div", { class: "dialog-actions" }, cancel)];
      }
      const name = field("Name of the group", { maxlength: 80, autocomplete: "off" }, "Optional.");
      const problem = h("p", { class: "field-error", role: "alert" });
      const boxes = people.map((entry) => h("input", { type: "checkbox", value: entry.with }));
      return h("form", { class: "stack", on: {
        submit: (event) => {
          event.preventDefault();
          const members = boxes.filter((box) => box.checked).map((box) => box.value);
          if (members.length === 0) {
            problem.textContent = "Choose somebody first.";
            return boxes[0].focus();
          }
          close({ members, name: name.input.value.trim() || undefined });
        },
      } }, name.element,
      h("fieldset", { class: "plain" }, h("legend", { class: "strong small" }, "Members"), people.map((entry, index) =>
        h("label", { class: "check" }, boxes[index], avatar(entry.with, store.nameOf(entry.with), "small"),
          store.nameOf(entry.with)))), problem,
      h("div", { class: "dialog-actions" }, cancel,
        h("button", { type: "submit", class: "button button-primary" }, "Create the group")));
    }

    """##

  private static let demo9 = ##"""
    // The messages of an open conversation: history, what comes, changes, ticks, reactions, and what waits to be sent.

    import { announce, bag, button, dayName, fill, h, keyedList, onceAFrame, sentence } from "./ui.js";
    import { isOver } from "../fanfare.js";
    import { eventText, makeMessage } from "./clique-message.js";

    const pageSize = 50;
    const mostPages = 40;
    const nothing = { view: new Map(), on: () => () => {}, unsubscribe() {} };

    /**
     * What a chat's publication does to the messages that are known, by offset. Pure but for `messages`.
     *
     *   tag or data              effect
     *   `edits`                  the message at that offset has the new text
     *   `deletes`                the message at that offset is gone
     *   `deleted`, or no data    nothing stands at this offset any more
     *   anything else            a message, or an event of the conversation
     */
    export function apply(messages, { offset, data, info, tags, time }) {
      if (tags.edits) {
        const message = messages.get(Number(tags.edits));
        if (!message || !data) return;
        return void messages.set(message.offset, { ...message, data: { ...message.data, ...data }, isEdited: true });
      }
      if (tags.deletes) return void messages.delete(Number(tags.deletes));
      if (tags.deleted || !data) return void messages.delete(offset);
      messages.set(offset, {
        offset, data, user: data.from ?? info?.user ?? "", time: data.sent ?? time, isEdited: Boolean(tags.edited), tags,
      });
    }

    /** The log of a conversation. `start()` subscribes, `end()` leaves; `goTo(offset)` shows a message. */
    export function makeLog(context, conversation, { onReply, onEdit, isOpen }) {
      const { client, store } = context;
      const held = bag();
      const log = {
        messages: new Map(), isWhole: false, isLoading: false, epoch: "", lowest: 0, hasOpened: false, said: 0, target: 0,
        /** Whose message has come since they were said to type: it is sent. */
        written: new Set(),
      };
      // Where the conversation has ended, nobody is told of receipts and typing any more.
      const maps = {
        receipts: isOpen ? client.clique.receipts(conversation) : nothing, reactions: client.clique.reactions(conversation),
        typists: isOpen ? client.clique.typists(conversation) : nothing,
      };
      const chat = store.chats.open(conversation);
      const rows = h("ol", { class: "log-rows" });
      const earlier = button("Earlier messages", () => loadEarlier(), { class: "button button-small" });
      const typing = h("p", { class: "typing soft small", "aria-live": "off" });
      const element = h("div", { class: "log", tabindex: "0", role: "region", "aria-label": "Messages" },
        h("div", { class: "row row-centre" }, earlier), rows, typing);
      const list = keyedList(rows, {
        key: (item) => item.key, update: (row, item) => row.show(item),
        make: (item) => (item.day ? makeDay() : makeMessage(context, conversation, log, maps, { onReply, onEdit, goTo })),
      });

      const isAtEnd = () => element.scrollHeight - element.scrollTop - element.clientHeight < 80;
      const show = () => {
        const wasAtEnd = !log.hasOpened || isAtEnd();
        for (const message of log.messages.values()) if (isOver(message.data)) log.messages.delete(message.offset);
        list.show(itemsOf(log.messages, store.pending.get(conversation), store.me));
        earlier.hidden = log.isWhole || log.messages.size === 0;
        typing.textContent = typistsText(maps.typists.view, log.written, store);
        if (wasAtEnd && !log.target) element.scrollTop = element.scrollHeight;
        markRead();
      };
      const draw = onceAFrame(show);

      const markRead = () => {
        const newest = Math.max(0, ...log.messages.keys());
        if (!isOpen || !log.hasOpened || newest <= log.said || document.hidden || !isAtEnd()) return;
        const before = log.said;
        log.said = newest;
        client.clique.read(conversation, newest).catch(() => {
          // Said again with the next message, or when the screen is looked at again.
          log.said = before;
        });
      };

      const load = async (since) => {
        if (log.isLoading) return false;
        log.isLoading = true;
        try {
          const page = await chat.history({ limit: pageSize, reverse: true, since });
          // A position is of an epoch: another one means that the channel began anew.
          if (log.epoch && page.epoch !== log.epoch) log.messages.clear();
          log.epoch = page.epoch;
          for (const publication of page.publications) {
            if (publication.tags.edits || publication.tags.deletes) continue;
            if (!log.messages.has(publication.offset)) apply(log.messages, publication);
          }
          log.lowest = page.publications.at(-1)?.offset ?? 0;
          log.isWhole = page.publications.length === 0 || log.lowest <= 1;
          return true;
        } finally {
          log.isLoading = false;
        }
      };

      const loadEarlier = async () => {
        const height = element.scrollHeight - element.scrollTop;
        try {
          if (!await load({ epoch: log.epoch, offset: log.lowest })) return;
          show();
          // What was on the screen stays where it was.
          element.scrollTop = element.scrollHeight - height;
        } catch (error) {
          context.toast(sentence(error));
        }
      };

      const open = async () => {
        try {
          await load(undefined);
          log.hasOpened = true;
          show();
          if (log.target) await goTo(log.target); else element.scrollTop = element.scrollHeight;
          markRead();
        } catch (error) {
          context.toast(sentence(error));
        }
      };

      const goTo = async (offset) => {
        log.target = offset;
        try {
          for (let pages = 0; log.hasOpened && !log.isWhole && log.lowest > offset && pages < mostPages; pages += 1) {
            if (!await load({ epoch: log.epoch, offset: log.lowest })) break;
          }
          if (!log.hasOpened) return;
          show();
          const row = rows.querySelector(`[data-offset="${offset}"]`);
          if (!row) return context.toast("That message is not there any more.");
          row.scrollIntoView({ block: "center" });
          row.classList.add("is-target");
          row.focus({ preventScroll: true });
          setTimeout(() => row.classList.remove("is-target"), 2500);
        } catch (error) {
          context.toast(sentence(error));
        } finally {
          if (log.hasOpened) log.target = 0;
        }
      };

      const receive = (publication) => {
        forgetPending(store, conversation, publication);
        apply(log.messages, publication);
        const message = log.messages.get(publication.offset);
        if (message && message.user !== store.me) {
          const text = message.data.event ? eventText(message, store) : message.data.text || "a picture";
          log.written.add(message.user);
          announce(message.data.event ? text : `${store.nameOf(message.user)}: ${text}`);
          if (isOpen) client.clique.delivered(conversation, publication.offset).catch(() => {});
        }
        draw();
      };

      return {
        element, draw,
        goTo: (offset) => (log.hasOpened ? goTo(offset) : void (log.target = offset)),
        start() {
          held.keep(chat.on("publication", receive));
          held.keep(chat.on("subscribed", ({ wasRecovering, recovered }) => {
            // What is missing is read anew, from the end.
            if (wasRecovering && !recovered) log.messages.clear();
            if (!log.hasOpened || (wasRecovering && !recovered)) open();
          }));
          for (const map of Object.values(maps)) held.keep(map.on("change", draw));
          held.keep(maps.typists.on("change", ({ key }) => log.written.delete(key)));
          held.keep(store.onChange(draw));
          held.every(1000, () => {
            if ([...log.messages.values()].some((message) => isOver(message.data))) draw();
          });
          held.listen(document, "visibilitychange", markRead);
          held.listen(element, "scroll", onceAFrame(markRead));
          if (chat.state === "subscribed") open();
          draw();
        },
        scrollToEnd() {
          element.scrollTop = element.scrollHeight;
        },
        end() {
          held.end();
          for (const map of Object.values(maps)) map.unsubscribe();
          store.chats.close(conversation, chat);
        },
      };
    }

    /** What waits is struck out once it stands in the chat. */
    function forgetPending(store, conversation, { data, info }) {
      if (data?.key && (data.from ?? info?.user) === store.me) store.pending.get(conversation)?.delete(data.key);
    }

    /** Rows in their order: a line for each day, the messages, and behind them what waits. */
    function itemsOf(messages, pending, me) {
      const items = [];
      let day = "";
      let before = null;
      for (const message of [...messages.values()].sort((a, b) => a.offset - b.offset)) {
        const name = dayName(message.time);
        if (name !== day) items.push({ key: `day-${message.offset}`, day: name });
        const isNear = before && name === day && before.user === message.user && !before.data.event
          && message.time - before.time < 300_000;
        day = name;
        before = message;
        items.push({ key: `m-${message.offset}`, message, isFollowing: Boolean(isNear) });
      }
      const known = new Set([...messages.values()].map((message) => message.data.key));
      for (const [key, waiting] of pending ?? []) {
        if (known.has(key)) continue;
        const message = { offset: 0, user: me, time: waiting.time, data: waiting.data, tags: {} };
        items.push({ key: `p-${key}`, message, waiting, isFollowing: false });
      }
      return items;
    }

    function makeDay() {
      const row = h("li", { class: "day soft small" });
      row.show = ({ day }) => {
        if (row.textContent !== day) fill(row, day);
      };
      return row;
    }

    function typistsText(view, written, store) {
      const names = [...view.keys()].filter((user) => user !== store.me && !written.has(user)).map(store.nameOf);
      if (names.length === 0) return "";
      return names.length === 1 ? `${names[0]} is typing…` : `${names.slice(0, 3).join(", ")} are typing…`;
    }

    """##

  private static let demo10 = ##"""
    // A campus on which one walks into places by clicking: what a phone would say when it enters and leaves a geofence.

    import { announce, avatar, bag, h, sentence, svg, uniqueId } from "./ui.js";

    /** The places, by the names that the server is told. */
    export const places = [
      { id: "library", name: "Library", sign: "📚" },
      { id: "cafe", name: "Café", sign: "☕" },
      { id: "park", name: "Park", sign: "🌳" },
      { id: "mensa", name: "Canteen", sign: "🍽️" },
      { id: "hall", name: "Lecture hall", sign: "🎓" },
      { id: "gym", name: "Gym", sign: "🏀" },
    ];

    export function placeName(id) {
      return places.find((place) => place.id === id)?.name ?? id;
    }

    const stayAgainAfter = 3_600_000;
    const keptPlace = (user) => `fanfare.demo.place.${user}`;

    /** Draws the campus. `update(crossings)` shows who is where; `end()` leaves the person where they are. */
    export function makeCampus(session, { onMove }) {
      const { client, user, store } = session;
      const held = bag();
      let current = sessionStorage.getItem(keptPlace(user)) ?? "";
      let steps = Promise.resolve();
      const spots = new Map(places.map((place) => [place.id, makeSpot(place, () => go(place.id))]));
      const help = h("p", { class: "soft small", id: uniqueId("campus") });
      const leave = h("button", { type: "button", class: "button button-small", on: { click: () => go("") } }, "Go away");
      const element = h("div", { class: "campus-box" },
        h("div", { class: "campus", role: "group", "aria-label": "Campus map: choose where you are",
          "aria-describedby": help.id }, paths(), [...spots.values()].map((spot) => spot.element)),
        h("div", { class: "row row-between" }, help, leave));

      const show = () => {
        for (const [id, spot] of spots) spot.here(id === current, user, store.nameOf(user));
        help.textContent = current
          ? `You are at: ${placeName(current)}. Whoever comes there now has crossed your path.`
          : "Walk into a place; walk another window into the same one, and you have met.";
        leave.hidden = !current;
      };

      /** One step after another: whoever clicks twice is at last where they clicked last. */
      const go = (id) => {
        const target = id === current && id ? "" : id;
        const before = current;
        current = target;
        show();
        steps = steps.then(() => step(before, target));
      };

      const step = async (before, target) => {
        try {
          if (before) await client.clique.leave(before);
          if (target) {
            const { visible } = await client.clique.enter(target);
            announce(visible ? `You are at: ${placeName(target)}` : "You are invisible, so nobody sees where you are.");
          }
          if (target) sessionStorage.setItem(keptPlace(user), target); else sessionStorage.removeItem(keptPlace(user));
          onMove(target);
        } catch (error) {
          if (current === target) current = "";
          sessionStorage.removeItem(keptPlace(user));
          show();
          session.toast(`You did not get there: ${sentence(error)}`);
        }
      };

      /** A visit ends after three hours, and saying again that one is there costs nothing. */
      const stay = () => {
        if (current) client.clique.enter(current).catch(() => {});
      };
      held.keep(client.on("connected", stay));
      held.every(stayAgainAfter, stay);
      if (client.connectionState === "connected") stay();
      show();

      return {
        element,
        enterAgain: stay,
        update(crossings) {
          const there = new Map(places.map((place) => [place.id, []]));
          for (const crossing of crossings) {
            if (crossing.together) there.get(crossing.latest?.[0]?.place)?.push(crossing.user);
          }
          for (const [id, spot] of spots) spot.others(there.get(id), store);
          show();
        },
        end: () => held.end(),
      };
    }

    function makeSpot({ id, name, sign }, click) {
      const faces = h("span", { class: "spot-faces", "aria-hidden": true });
      const said = h("span", { class: "visually-hidden" });
      const element = h("button", { type: "button", class: `spot spot-${id}`, "aria-pressed": "false", on: { click } },
        h("span", { class: "spot-sign", "aria-hidden": true }, sign), h("span", { class: "spot-name" }, name), said, faces);
      let mine = null;
      let shown = "";
      return {
        element,
        here(isHere, user, ownName) {
          element.setAttribute("aria-pressed", String(isHere));
          if (isHere && !mine) {
            mine = h("span", { class: "spot-me" }, avatar(user, ownName, "small"));
            faces.prepend(mine);
          } else if (!isHere && mine) {
            mine.remove();
            mine = null;
          }
        },
        others(users, store) {
          const text = users.join("/");
          said.textContent = users.length ? `, with ${users.map(store.nameOf).join(", ")}` : "";
          if (text === shown) return;
          shown = text;
          faces.replaceChildren(...(mine ? [mine] : []), ...users.slice(0, 4).map((user) => {
            const face = avatar(user, store.nameOf(user), "small");
            store.showPicture(face, user);
            return face;
          }), ...(users.length > 4 ? [h("span", { class: "small strong" }, `+${users.length - 4}`)] : []));
        },
      };
    }

    function paths() {
      return svg("svg", { class: "campus-paths", viewBox: "0 0 600 340", preserveAspectRatio: "none", "aria-hidden": true },
        svg("path", { class: "lawn", d: "M0 0H600V340H0Z" }),
        svg("path", { class: "water", d: "M470 0C430 60 520 120 600 110V0Z" }),
        svg("path", { class: "lane", d: "M100 85C180 60 240 120 300 85S430 120 500 85" }),
        svg("path", { class: "lane", d: "M100 85C70 160 120 200 100 255S220 280 300 255S420 230 500 255" }),
        svg("path", { class: "lane", d: "M300 85C270 150 330 190 300 255M500 85C540 160 470 190 500 255" }));
    }

    """##

  private static let demo11 = ##"""
    // One message: its text or picture, what it replies to, ticks, reactions, and what may be done with it.

    import { avatar, button, confirm, count, fill, fullTime, h, openDialog, sentence, timeOfDay, duration } from "./ui.js";

    const emoji = ["👍", "❤️", "😂", "😮", "😢", "🎉"];

    /** What a change of the conversation is called. */
    export function eventText({ data, tags }, store) {
      const who = data.user === store.me ? "You" : store.nameOf(data.user ?? "");
      const has = data.user === store.me ? "have" : "has";
      const by = tags?.actor ? ` by ${tags.actor === store.me ? "you" : store.nameOf(tags.actor)}` : "";
      switch (data.event) {
        case "added": return `${who} ${has} been added${by}.`;
        case "removed": return `${who} ${has} been removed${by}.`;
        case "appointed": return `${who} ${has} become an administrator.`;
        case "dismissed": return `${who} ${has} ceased to be an administrator.`;
        case "joined": return `${who} ${has} joined by a link.`;
        case "left": return `${who} ${has} left.`;
        case "renamed": return `${who} ${has} ${data.name ? `named the group “${data.name}”` : "removed the name"}.`;
        case "disappear": return data.after ? `Messages disappear after ${duration(data.after)} from now on.`
          : "Messages stay from now on.";
        default: return "The conversation has changed.";
      }
    }

    /** How far a message of one's own has come. Pure: `receipts` are the entries by user, `others` whom it is for. */
    export function tickOf(offset, receipts, others) {
      const marks = others.map((user) => receipts.get(user) ?? {});
      if (marks.length === 0) return { text: "✓", said: "Sent" };
      const read = marks.filter((mark) => (mark.read ?? 0) >= offset).length;
      const delivered = marks.filter((mark) => (mark.delivered ?? 0) >= offset || (mark.read ?? 0) >= offset).length;
      if (read === marks.length) return { text: "✓✓", said: "Read", isRead: true };
      if (read > 0) return { text: "✓✓", said: `Read by ${read} of ${marks.length}` };
      return delivered > 0 ? { text: "✓✓", said: "Delivered" } : { text: "✓", said: "Sent" };
    }

    /** Reactions to a message: how many of each, and one's own. Pure: keys are `offset/user`. */
    export function reactionsTo(offset, view, me) {
      const counts = new Map();
      let mine = "";
      for (const [key, data] of view) {
        const slash = key.indexOf("/");
        if (Number(key.slice(0, slash)) !== offset || !data?.reaction) continue;
        counts.set(data.reaction, (counts.get(data.reaction) ?? 0) + 1);
        if (key.slice(slash + 1) === me) mine = data.reaction;
      }
      return { counts, mine };
    }

    /** A row, drawn again only where what it shows has changed. */
    export function makeMessage(context, conversation, log, maps, { onReply, onEdit, goTo }) {
      const { store } = context;
      const row = h("li", { class: "message", tabindex: "-1" });
      let drawn = "";
      row.show = ({ message, waiting, isFollowing }) => {
        const { offset, data, user } = message;
        const isMine = user === store.me;
        const entry = store.list.view.get(conversation);
        if (data.event) {
          const text = eventText(message, store);
          if (drawn !== text) fill(row, h("p", { class: "event soft small" }, text));
          row.className = "message is-event";
          drawn = text;
          return;
        }
        const others = (entry?.members ?? [entry?.with]).filter((one) => one && one !== store.me);
        const tick = isMine && !waiting && entry?.state === "active" ? tickOf(offset, maps.receipts.view, others) : null;
        const reactions = reactionsTo(offset, maps.reactions.view, store.me);
        const quoted = data.reply ? log.messages.get(data.reply) : null;
        const now = JSON.stringify([data, isFollowing, tick, [...reactions.counts], reactions.mine, message.isEdited,
          waiting?.state, waiting?.problem, quoted?.data.text, store.nameOf(user), entry?.state]);
        if (now === drawn) return;
        drawn = now;
        row.className = `message ${isMine ? "is-mine" : ""} ${isFollowing ? "is-following" : ""}`;
        row.dataset.offset = String(offset);
        const parts = { message, tick, reactions, quoted, waiting, entry, isMine, isFollowing };
        fill(row, bubble(context, conversation, parts, { onReply, onEdit, goTo }));
      };
      return row;
    }

    function bubble(context, conversation, parts, hooks) {
      const { store } = context;
      const { message, tick, reactions, quoted, waiting, entry, isMine, isFollowing } = parts;
      const { data, user, offset } = message;
      const name = isMine ? "You" : store.nameOf(user);
      const face = entry?.group && !isMine && !isFollowing ? avatar(user, name, "small") : null;
      if (face) store.showPicture(face, user);
      return [
        entry?.group && !isMine ? h("span", { class: "message-face" }, face) : null,
        h("div", { class: "bubble" },
          h("span", { class: entry?.group && !isMine && !isFollowing ? "small strong" : "visually-hidden" }, name),
          data.reply ? quote(quoted, data.reply, store, hooks.goTo) : null,
          data.picture ? picture(context, data.picture, waiting, `A picture from ${name}`) : null,
          data.text ? h("p", { class: "message-text" }, data.text) : null,
          h("div", { class: "message-foot small" },
            data.expires ? h("span", { title: `Disappears ${fullTime(data.expires)}` }, "⏳",
              h("span", { class: "visually-hidden" }, "disappears")) : null,
            message.isEdited ? h("span", {}, "edited") : null,
            h("time", { title: fullTime(message.time) }, timeOfDay(message.time)),
            tick ? h("span", { class: `tick ${tick.isRead ? "is-read" : ""}`, title: tick.said },
              h("span", { "aria-hidden": true }, tick.text), h("span", { class: "visually-hidden" }, tick.said)) : null,
            waiting ? waitingLine(waiting) : null),
          reactionRow(context, conversation, offset, reactions)),
        waiting || entry?.state !== "active" ? null : button("⋯", () => openMenu(context, conversation, parts, hooks), {
          kind: "icon", label: `What to do with the message of ${name} at ${timeOfDay(message.time)}`,
          "aria-haspopup": "dialog",
        }),
      ];
    }

    /** What stands in place of a tick while a message is not in its conversation. */
    export function waitingLine(waiting) {
      if (waiting.state === "sent") return null;
      if (waiting.state !== "failed") return h("span", {}, h("span", { "aria-hidden": true }, "🕓 "), "waits to be sent");
      return h("span", { class: "row" }, h("span", { class: "field-error" }, waiting.problem),
        button("Try again", waiting.again, { class: "button button-small" }),
        button("Discard", waiting.discard, { class: "button button-small" }));
    }

    function quote(quoted, offset, store, goTo) {
      if (!quoted) return h("p", { class: "quote soft small" }, "An earlier message");
      const who = quoted.user === store.me ? "You" : store.nameOf(quoted.user);
      return h("button", { type: "button", class: "quote small", on: { click: () => goTo(offset) } },
        h("span", { class: "strong" }, who), " ", quoted.data.text || "A picture");
    }

    /** A picture takes the room that it will need, and is fetched when it comes near the screen. */
    function picture(context, { id, width, height }, waiting, alt) {
      const image = h("img", { class: "message-picture", alt, width: width || 320, height: height || 240 });
      const note = h("span", { class: "soft small" }, "Picture…");
      const box = h("figure", { class: "picture-box" }, image, note);
      const fetchIt = async () => {
        try {
          image.src = waiting?.address ?? await context.store.pictures.address(id);
          note.remove();
        } catch (error) {
          note.textContent = error?.status === 404 ? "This picture is gone." : "The picture could not be fetched. ";
          if (error?.status !== 404) note.append(button("Try again", fetchIt, { class: "button button-small" }));
        }
      };
      const near = new IntersectionObserver((entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        near.disconnect();
        fetchIt();
      }, { rootMargin: "300px" });
      near.observe(box);
      return box;
    }

    function reactionRow(context, conversation, offset, { counts, mine }) {
      if (counts.size === 0) return null;
      return h("div", { class: "reactions", role: "group", "aria-label": "Reactions" }, [...counts].map(([sign, number]) =>
        button(`${sign} ${number}`, () => react(context, conversation, offset, sign === mine ? "" : sign), {
          class: "button reaction", "aria-pressed": String(sign === mine), label: `${sign}: ${count(number, "reaction")}`,
        })));
    }

    function react(context, conversation, offset, sign) {
      return context.actions.run(() => context.client.clique.react(conversation, offset, sign));
    }

    async function openMenu(context, conversation, { message, isMine, reactions, entry }, { onReply, onEdit }) {
      const { actions, client, store } = context;
      const { offset, data, user } = message;
      const choice = await openDialog("Message", (close) => [
        h("p", { class: "soft one-line" }, data.text || "A picture"),
        h("div", { class: "row", role: "group", "aria-label": "React" }, emoji.map((sign) => button(sign, () =>
          close({ sign }), {
          kind: "icon", label: `React with ${sign}`, "aria-pressed": String(sign === reactions.mine),
        }))),
        h("div", { class: "stack-tight" },
          button("Reply", () => close("reply")),
          data.text ? button("Copy the text", () => close("copy")) : null,
          isMine && data.text ? button("Change", () => close("edit")) : null,
          isMine ? button("Delete for everybody", () => close("delete"), { kind: "danger" }) : null,
          isMine ? null : button("Report", () => close("report"), { kind: "danger" })),
        h("div", { class: "dialog-actions" }, button("Cancel", () => close(undefined), { kind: "quiet" })),
      ]);
      if (choice?.sign) return react(context, conversation, offset, choice.sign === reactions.mine ? "" : choice.sign);
      if (choice === "reply") return onReply(message);
      if (choice === "edit") return onEdit(message);
      if (choice === "copy") {
        return navigator.clipboard?.writeText(data.text)
          .then(() => context.toast("Copied."), (error) => context.toast(sentence(error)));
      }
      if (choice === "report") {
        return actions.report(entry?.group ? { conversation } : { person: user }, store.nameOf(user), offset);
      }
      if (choice !== "delete") return undefined;
      const text = "It is gone for everybody, on all devices, with its reactions.";
      if (!await confirm("Delete this message?", text, { action: "Delete", danger: true })) return undefined;
      return actions.run(() => client.clique.remove(conversation, offset), "Deleted.");
    }

    """##

  private static let demo12 = ##"""
    // What was written and does not stand in its conversation yet. It outlives the screen, not the window.
    //
    //   State      means                                    leads to
    //   waiting    on its way, or there is no connection    sent, failed
    //   failed     the server has refused it                waiting (again), gone (discarded)
    //   sent       the server has it                        gone, once it stands in the chat or after a moment

    import { sentence } from "./ui.js";
    import { newKey } from "../fanfare.js";

    /** How long what was sent may still be missing in the chat, in milliseconds. */
    const settles = 4000;

    /** The outbox of a conversation, or of a person with whom there is none yet. */
    export function makeOutbox(context, { conversation, person }) {
      const { client, session, store } = context;
      const id = conversation || `to/${person}`;
      const listeners = new Set();
      const tell = () => {
        for (const f of [...listeners]) f();
        store.tell();
      };
      const box = () => {
        if (!store.pending.has(id)) store.pending.set(id, new Map());
        return store.pending.get(id);
      };
      const drop = (key) => {
        const held = store.pending.get(id);
        held?.delete(key);
        if (held?.size === 0) store.pending.delete(id);
        tell();
      };

      const run = async (key, one, to) => {
        one.state = "waiting";
        one.problem = "";
        one.stop = new AbortController();
        const done = session.waits();
        tell();
        try {
          if (one.file && !one.isUploaded) {
            await client.clique.pictures.upload(one.file, { id: one.data.picture.id, signal: one.stop.signal });
            one.isUploaded = true;
            store.pictures.keep(one.data.picture.id, one.file);
          }
          const { text, reply, picture } = one.data;
          await client.clique.send({ ...to, text, reply, picture, mentions: one.mentions, key, signal: one.stop.signal });
          one.state = "sent";
          setTimeout(() => drop(key), settles);
        } catch (error) {
          one.state = "failed";
          one.problem = `Not sent: ${sentence(error)}`;
        } finally {
          done();
          tell();
        }
      };

      return {
        waiting: () => [...(store.pending.get(id) ?? [])],
        onChange(f) {
          listeners.add(f);
          return () => listeners.delete(f);
        },
        /** Sends it, now or when there is a connection. `picture`: { blob, width, height } of what is to be uploaded. */
        send({ text, reply, mentions, picture, to }) {
          const key = newKey();
          const data = { key, text, ...(reply ? { reply } : {}) };
          const one = { data, time: Date.now(), mentions, file: picture?.blob };
          if (picture) {
            data.picture = { id: newKey(), width: picture.width, height: picture.height };
            one.address = URL.createObjectURL(picture.blob);
          }
          one.again = () => run(key, one, to);
          one.discard = () => {
            if (one.address) URL.revokeObjectURL(one.address);
            drop(key);
          };
          box().set(key, one);
          return run(key, one, to);
        },
      };
    }

    """##

  private static let demo13 = ##"""
    // The page of blocked people, and of what one has reported.

    import {
      announce, avatar, bag, button, daysAgo, emptyState, fill, fromNow, h, keyedList, shortTime, timeTag,
    } from "./ui.js";
    import { reasons } from "./clique-actions.js";
    import { setText, unblock } from "./clique-profile.js";

    /** The screen of blocked people and one's reports. `end()` leaves it. */
    export function makeSettings(context) {
      const held = bag();
      const element = h("div", { class: "profile" }, blockedPeople(context, held), ownReports(context, held));
      return { element, end: () => held.end() };
    }

    function blockedPeople(context, held) {
      const { store } = context;
      const title = h("h1", { id: "blocked-title", tabindex: "-1" }, "Blocked people");
      const rows = h("ul", { class: "list" });
      const empty = h("div");
      const list = keyedList(rows, { key: ({ user }) => user, make: ({ user }) => {
        const name = h("span", { class: "strong one-line" });
        const since = h("span", { class: "soft small" });
        const face = avatar(user, store.nameOf(user));
        const undo = button("Unblock…", async () => {
          if (await unblock(context, user)) title.focus({ preventScroll: true });
        }, { class: "button" });
        const row = h("li", { class: "person-row" },
          h("a", { class: "list-row grow", href: `#/clique/person/${encodeURIComponent(user)}` }, face,
            h("span", { class: "stack-tight grow" }, name, since)), undo);
        row.show = ({ time }) => {
          setText(name, store.nameOf(user));
          setText(since, daysAgo(time) > 0 ? `Blocked since ${shortTime(time)}` : `Blocked ${fromNow(time)}`);
          undo.setAttribute("aria-label", `Unblock ${name.textContent}`);
          face.rename(name.textContent);
        };
        return row;
      }, update: (row, person) => row.show(person) });
      const show = () => {
        const people = [...store.blocked.view].map(([user, data]) => ({ ...data, user }));
        list.show(people);
        showEmpty(empty, rows, people.length, store.blocked.state === "subscribed",
          ["You have blocked nobody", "Block somebody on their profile, when you do not want to hear from them. "
            + "They are not told."]);
      };
      held.keep(store.onChange(show));
      held.every(30_000, show);
      show();
      return h("section", { class: "card stack", "aria-labelledby": title.id }, title,
        h("p", { class: "soft" }, "Nothing that these people write reaches you, and neither of you meets or finds the "
          + "other. To them it looks as if you were silent. When you unblock somebody, what they write from then on "
          + "arrives; what they wrote before does not. Nobody is told of either."), rows, empty);
    }

    const reportStates = { open: "With the moderators", settled: "Settled" };

    function ownReports({ client, store }, held) {
      const reports = client.clique.reports();
      const rows = h("ul", { class: "list" });
      const empty = h("div");
      const list = keyedList(rows, { key: ({ report }) => report, make: ({ user, offset, reason, text, time }) => {
        const name = h("span", { class: "strong" });
        const chip = h("span", { class: "chip" });
        const row = h("li", { class: "report-row stack-tight" }, h("div", { class: "row row-between" }, name, chip),
          h("p", { class: "soft small" }, reasons[reason] ?? reason, offset ? ", a message" : "", " · ", timeTag(time)),
          text ? h("p", { class: "small" }, text) : null);
        row.show = ({ state }) => {
          setText(name, store.nameOf(user));
          setText(chip, reportStates[state] ?? state);
          chip.classList.toggle("chip-good", state === "settled");
        };
        return row;
      }, update: (row, report) => row.show(report) });
      const show = () => {
        const all = [...reports.view.values()];
        list.show(all);
        showEmpty(empty, rows, all.length, reports.state === "subscribed",
          ["You have reported nobody", "A report goes to the moderators, from a profile or from a message."]);
      };
      held.keep(reports.on("change", ({ key, data, previous }) => {
        const isNews = data?.state === "settled" && previous?.state === "open";
        if (isNews) announce(`Your report of ${store.nameOf(reports.view.get(key)?.user ?? "")} is settled.`);
        show();
      }));
      held.keep(reports.on("subscribed", show));
      held.keep(store.onChange(show));
      held.keep(() => reports.unsubscribe());
      show();
      return h("section", { class: "card stack", "aria-labelledby": "reports-title" },
        h("h2", { id: "reports-title" }, "What you have reported"),
        h("p", { class: "soft" }, "Nobody who is reported is told. What the moderators decide is not said here, and a "
          + "report is forgotten after 90 days, or 30 days after it was settled. It blocks nobody: block them, too."), rows, empty);
    }

    /** What stands in place of a list without rows. */
    function showEmpty(place, rows, number, isReady, [title, text]) {
      rows.hidden = number === 0;
      place.hidden = number > 0;
      const state = isReady ? "nothing" : "loading";
      if (place.dataset.state === state) return;
      place.dataset.state = state;
      fill(place, isReady ? emptyState(title, text) : h("p", { class: "empty" }, "Opening…"));
    }

    """##

  private static let demo14 = ##"""
    // A person's profile, and one's own.
    //
    //   Entry of the list     Buttons on the profile
    //   none                  write
    //   request_out           add a message, take back
    //   request_in            accept, answer, decline or block
    //   active                open, send a State, end
    //   ended                 write again, clear away
    //   any, unless blocked   block, report
    //   blocked by me         unblock, report: nothing else, whatever the list says

    import {
      announce, avatar, bag, button, confirm, duration, field, fill, fromNow, h, sentence, shortTime, timeTag,
    } from "./ui.js";
    import { newKey } from "../fanfare.js";
    import { brief, togetherFor } from "./clique-home.js";
    import { placeName } from "./clique-map.js";

    const smallSide = 256;
    const largeSide = 1024;
    const mostSmallBytes = 65_536;
    const mostFileBytes = 33_554_432;
    const mostMeetings = 3;

    /** Which buttons there are, by the state of the list's entry and the block. Pure. */
    export function standing(entry, isBlocked) {
      if (isBlocked) return "blocked";
      return ["request_out", "request_in", "active", "ended"].includes(entry?.state) ? entry.state : "none";
    }

    /** The screen of a person's profile; one's own can be changed. `end()` leaves it. */
    export function makeProfile(context, user) {
      return user === context.user ? makeOwn(context) : makeOther(context, user);
    }

    export function setText(element, text) {
      if (element.textContent !== text) element.textContent = text;
    }

    // Somebody else

    const standings = {
      none: () => "Your first message is a request: they choose whether to talk with you.",
      request_out: (name) => `You have asked ${name}, and there is no answer yet.`,
      request_in: (name) => `${name} wants to talk with you. To answer is to accept.`,
      active: (name) => `You and ${name} talk with each other.`,
      ended: (name) => `The conversation with ${name} has ended. It can be read, and either of you may ask again.`,
      blocked: (name) => `You have blocked ${name}: nothing that they write reaches you, and they are not told.`,
    };

    function makeOther(context, user) {
      const { client, store } = context;
      const held = bag();
      const crossed = client.clique.crossed();
      const meetings = makeMeetings(store, user);
      const face = avatar(user, store.nameOf(user), "large");
      const name = h("h1", { tabindex: "-1" });
      const university = h("p", { class: "soft" });
      const known = h("p", { class: "soft small" });
      const chip = h("span", { class: "chip chip-good" }, "Here now");
      const state = h("p", {});
      const buttons = h("div", { class: "row" });
      let shown = "";

      const show = () => {
        const profile = store.profileOf(user);
        const title = store.nameOf(user);
        const isBlocked = store.isBlocked(user);
        setText(name, title);
        face.rename(title);
        store.showPicture(face, user, { large: true });
        setText(university, profile?.fields?.university ?? "");
        university.hidden = !university.textContent;
        setText(known, store.isReady() ? profile ? "" : "You see the rest of this profile once you have met, or talk."
          : "Opening the profile…");
        known.hidden = !known.textContent || isBlocked;
        const crossing = isBlocked ? undefined : crossed.view.get(user);
        chip.hidden = !crossing?.together;
        meetings.show(crossing, crossed.state === "subscribed", isBlocked);

        const entry = store.entryWith(user);
        const now = store.isReady() || entry || isBlocked ? standing(entry, isBlocked) : "";
        setText(state, now ? standings[now](title) : "");
        const drawn = JSON.stringify([now, entry?.conversation, title]);
        if (drawn === shown) return;
        shown = drawn;
        const hadFocus = buttons.contains(document.activeElement);
        fill(buttons, now ? buttonsOf(context, user, now, entry) : []);
        // The button that was pressed may be gone: the focus stays on the page's subject.
        if (hadFocus) name.focus({ preventScroll: true });
      };
      held.keep(crossed.on("change", ({ key, data }) => {
        if (key !== user) return;
        meetings.told(Boolean(data));
        show();
      }));
      held.keep(crossed.on("subscribed", show));
      held.keep(store.onChange(show));
      held.every(10_000, show);
      held.keep(() => crossed.unsubscribe());
      show();

      const element = h("div", { class: "profile" },
        h("section", { class: "card stack", "aria-label": "Profile" },
          h("div", { class: "profile-head" }, face,
            h("div", { class: "stack-tight grow" }, h("div", { class: "row" }, name, chip), university,
              h("p", { class: "soft small" }, "User ", h("code", {}, user)), known)),
          state, buttons),
        meetings.element);
      return { element, end: () => held.end() };
    }

    function buttonsOf(context, user, now, entry) {
      const { actions, store } = context;
      const id = encodeURIComponent(user);
      const chat = entry ? `#/clique/chat/${encodeURIComponent(entry.conversation)}` : `#/clique/to/${id}`;
      const link = (text, href, isFirst) => h("a", { class: `button ${isFirst ? "button-primary" : ""}`, href }, text);
      const act = (text, action, kind = "") => {
        const element = button(text, async () => {
          element.disabled = true;
          try {
            await action(user);
          } finally {
            element.disabled = false;
          }
        }, { kind });
        return element;
      };
      const report = act("Report…", () => actions.report(user, store.nameOf(user)), "quiet");
      const keepAway = [act("Block…", actions.block, "danger"), report];
      switch (now) {
        case "request_out":
          return [link("Add a message", chat, true), act("Take back", actions.takeBack), keepAway];
        case "request_in":
          return [act("Accept", actions.accept, "primary"), link("Answer", chat),
            act("Decline or block…", actions.decline), report];
        case "active": {
          const hasState = context.demo.apps.includes("state");
          return [link("Open the conversation", chat, true), hasState ? link("Send a State", `#/state/${id}`) : null,
            act("End…", actions.end), keepAway];
        }
        case "ended":
          return [link("Write again", `#/clique/to/${id}`, true), act("Clear away", actions.clearAway), keepAway];
        case "blocked":
          return [act("Unblock…", (person) => unblock(context, person), "primary"), report];
        default:
          return [link("Write", `#/clique/to/${id}`, true), keepAway];
      }
    }

    /** Asks before it unblocks: what was away does not come back by itself. */
    export async function unblock({ actions, store }, person) {
      const name = store.nameOf(person);
      const isSure = await confirm(`Unblock ${name}?`, [
        `${name} is not told. From now on their messages reach you again, in Clique and in State.`,
        "What they wrote during the block never arrives. What stood between you before stands again: a conversation, or a "
        + "request whose time has not run out.",
        "You cross paths again from the next place on that one of you enters.",
      ], { action: "Unblock" });
      return isSure && actions.unblock(person);
    }

    function makeMeetings(store, user) {
      const rows = h("ol", { class: "list" });
      const note = h("p", { class: "soft" });
      const total = h("p", { class: "soft small" });
      let toldAt = Date.now();
      let shown = "";
      return {
        element: h("section", { class: "card stack", "aria-labelledby": "meetings-title" },
          h("h2", { id: "meetings-title" }, "Latest meetings"), rows, note, total),
        /** The server has counted until now. */
        told(isThere) {
          if (isThere) toldAt = Date.now();
        },
        show(crossing, isReady, isBlocked) {
          const latest = (crossing?.latest ?? []).slice(0, mostMeetings);
          const since = Math.max(0, Date.now() - toldAt);
          const isNow = (index) => index === 0 && Boolean(crossing?.together);
          const lengthOf = ({ minutes }, index) => minutes * 60_000 + (isNow(index) ? since : 0);
          const drawn = JSON.stringify(latest.map((meeting, index) =>
            [meeting, isNow(index), duration(lengthOf(meeting, index)), shortTime(meeting.time)]));
          if (drawn !== shown) {
            shown = drawn;
            fill(rows, latest.map((meeting, index) => h("li", { class: "meeting" },
              h("span", { class: "strong grow" }, placeName(meeting.place)),
              h("span", { class: "soft small" }, isNow(index) ? "now, since " : "", timeTag(meeting.time),
                lengthOf(meeting, index) < brief ? "" : ` · ${duration(lengthOf(meeting, index))}`))));
          }
          rows.hidden = latest.length === 0;
          note.hidden = latest.length > 0;
          setText(note, isBlocked ? "You see no meetings with people whom you have blocked."
            : isReady ? `You and ${store.nameOf(user)} have not crossed paths in the last 24 hours.`
              : "Looking when you met…");
          total.hidden = !crossing;
          if (!crossing) return setText(total, "");
          const together = togetherFor(crossing, toldAt);
          setText(total, `${together < brief ? "Just met" : `${duration(together)} together in the last 24 hours`}, `
            + `last seen ${crossing.together ? "now" : fromNow(crossing.seen)}.`);
        },
      };
    }

    // One's own

    /** What was typed and not saved, by client: whoever comes back finds it. */
    const unsaved = new WeakMap();

    function makeOwn(context) {
      const { client, store, user, toast, navigate } = context;
      const held = bag();
      const stop = new AbortController();
      held.keep(() => stop.abort());
      const draft = unsaved.get(client) ?? {};
      unsaved.delete(client);
      const face = avatar(user, store.nameOf(user), "large");
      const name = field("Name", { maxlength: 80, autocomplete: "off", spellcheck: "false" }, "As others see it.");
      const university = field("University", { maxlength: 100, autocomplete: "off" }, "Optional.");
      const problem = h("p", { class: "field-error", role: "alert" });
      const progress = h("p", { class: "soft small" });
      const inputs = { name: name.input, university: university.input };
      let preview = "";
      let isSaving = false;

      const saved = () => {
        const profile = store.profileOf(user);
        return { name: profile?.name ?? "", university: profile?.fields?.university ?? "", picture: profile?.picture };
      };
      const isChanged = () => Object.keys(draft).length > 0;
      const showPicture = () => {
        if (preview) URL.revokeObjectURL(preview);
        preview = draft.picture ? URL.createObjectURL(draft.picture.small) : "";
        delete face.dataset.picture;
        face.replaceChildren();
        if (preview) face.show(preview); else face.rename(saved().name || user);
        show();
      };
      const show = () => {
        const now = saved();
        // What another device has saved appears, but not over what is being typed here.
        for (const [key, input] of Object.entries(inputs)) {
          const text = draft[key] ?? now[key];
          if (input.value !== text) input.value = text;
        }
        if (!("picture" in draft)) store.showPicture(face, user, { large: true });
        face.rename(inputs.name.value || user);
        const hasPicture = "picture" in draft ? Boolean(draft.picture) : Boolean(now.picture);
        take.hidden = !hasPicture;
        choose.textContent = hasPicture ? "Another picture…" : "Choose a picture…";
        save.disabled = isSaving;
        save.textContent = isSaving ? "Saving…" : "Save";
        choose.disabled = take.disabled = isSaving;
        discard.hidden = isSaving || !isChanged();
      };
      for (const [key, input] of Object.entries(inputs)) {
        input.addEventListener("input", () => {
          if (input.value === saved()[key]) delete draft[key]; else draft[key] = input.value;
          show();
        });
      }

      const file = h("input", { type: "file", accept: "image/*", hidden: true, on: { change: async () => {
        const [chosen] = file.files;
        file.value = "";
        if (!chosen) return;
        problem.textContent = "";
        try {
          draft.picture = await preparePicture(chosen);
          if (stop.signal.aborted) return;
          showPicture();
          announce("The picture is chosen. Save to show it to others.");
        } catch (error) {
          problem.textContent = sentence(error);
        }
      } } });
      const choose = button("Choose a picture…", () => file.click(), { class: "button button-small" });
      const take = button("Remove it", () => {
        if (saved().picture) draft.picture = null; else delete draft.picture;
        showPicture();
        choose.focus();
      }, { class: "button button-small button-quiet" });
      const discard = button("Discard changes", () => {
        for (const key of Object.keys(draft)) delete draft[key];
        problem.textContent = "";
        showPicture();
        inputs.name.focus();
      }, { kind: "quiet" });
      const save = h("button", { type: "submit", class: "button button-primary" }, "Save");

      const submit = async (event) => {
        event.preventDefault();
        if (isSaving) return;
        problem.textContent = "";
        if (!inputs.name.value.trim()) {
          problem.textContent = "Write a name: others see it in place of your user id.";
          return inputs.name.focus();
        }
        if (!isChanged()) return toast("Nothing has changed: your profile is as others see it.");
        isSaving = true;
        show();
        const given = { ...draft };
        try {
          if (given.picture) await uploadPicture(context, given.picture, progress, stop.signal);
          await client.clique.setProfile(changeOf(given));
          // What was typed while this was on its way is still to be saved.
          for (const key of Object.keys(given)) if (draft[key] === given[key]) delete draft[key];
          toast("Saved. Others see it within a moment.");
        } catch (error) {
          if (!stop.signal.aborted) problem.textContent = `Not saved: ${sentence(error)}`;
        }
        progress.textContent = "";
        isSaving = false;
        if (!stop.signal.aborted) show();
      };
      held.keep(store.onChange(show));
      showPicture();

      const element = h("div", { class: "profile" },
        h("section", { class: "card", "aria-labelledby": "own-title" },
          h("form", { class: "stack", novalidate: true, on: { submit } },
            h("h1", { id: "own-title" }, "My profile"),
            h("div", { class: "profile-head" }, face,
              h("div", { class: "stack-tight grow" }, h("div", { class: "row" }, choose, take, file),
                h("p", { class: "soft small" }, "A square of it is shown. Where and when it was taken is not sent."))),
            name.element, university.element,
            h("p", { class: "note" }, "Your profile is seen by the people who cross your path, whom you talk with or ask, "
              + "and who share a group with you. Whom you block keeps seeing it as it is at that moment."),
            problem, progress, h("div", { class: "row" }, save, discard))));
      return {
        element,
        end() {
          held.end();
          if (preview) URL.revokeObjectURL(preview);
          if (!isChanged()) return;
          unsaved.set(client, draft);
          toast("What you changed in your profile is not saved yet.", {
            label: "Go back", undo: () => navigate(`#/clique/person/${encodeURIComponent(user)}`),
          });
        },
      };
    }

    /** What `setProfile` is told of these changes. Pure. */
    export function changeOf({ name, university, picture }) {
      const change = {};
      if (name !== undefined) change.name = name.trim();
      if (university !== undefined) change.fields = { university: university.trim() || null };
      if (picture !== undefined) change.picture = picture && { id: picture.id, small: picture.smallId };
      return change;
    }

    /** Both sizes of a file, drawn anew: nothing but the pixels is left of it. Throws with what to do. */
    async function preparePicture(blob) {
      if (blob.size > mostFileBytes) throw new Error("This file is larger than 32 MB: choose a smaller picture.");
      let image;
      try {
        image = await createImageBitmap(blob);
      } catch {
        throw new Error("This file cannot be shown as a picture: choose a JPEG, PNG or WebP.");
      }
      try {
        const side = Math.min(image.width, image.height);
        const large = await draw(image, Math.min(side, largeSide), 0.88);
        return { large, small: await drawSmall(image), id: newKey(), smallId: newKey(), isSent: false };
      } finally {
        image.close();
      }
    }

    /** The picture for lists: 256 pixels, and less quality where that has more than 64 KiB. */
    async function drawSmall(image) {
      const side = Math.min(smallSide, image.width, image.height);
      for (const quality of [0.85, 0.7, 0.5, 0.3]) {
        const blob = await draw(image, side, quality);
        if (blob.size <= mostSmallBytes) return blob;
      }
      throw new Error("This picture does not get small enough for lists: choose another one.");
    }

    /** The square in the middle, on white where the picture is transparent. */
    function draw(image, side, quality) {
      const canvas = h("canvas", { width: side, height: side });
      const surface = canvas.getContext("2d");
      if (!surface) throw new Error("This browser cannot draw the picture now: close other pages, and try again.");
      const cut = Math.min(image.width, image.height);
      surface.fillStyle = "#ffffff";
      surface.fillRect(0, 0, side, side);
      surface.imageSmoothingQuality = "high";
      surface.drawImage(image, (image.width - cut) / 2, (image.height - cut) / 2, cut, cut, 0, 0, side, side);
      return new Promise((resolve, reject) => {
        canvas.toBlob((blob) => (blob ? resolve(blob)
          : reject(new Error("The picture could not be drawn: try again, or choose another one."))), "image/jpeg", quality);
      });
    }

    /** Uploads both, once: a profile that could not be saved is saved again with the same ids. */
    async function uploadPicture({ client, store }, picture, progress, signal) {
      if (picture.isSent) return;
      const total = picture.large.size + picture.small.size;
      const tell = (done) => {
        progress.textContent = `Sending the picture: ${Math.floor(done / total * 100)} %`;
      };
      const { pictures } = client.clique;
      await pictures.upload(picture.small, { id: picture.smallId, signal, onProgress: tell });
      await pictures.upload(picture.large, {
        id: picture.id, signal, onProgress: (done) => tell(picture.small.size + done),
      });
      picture.isSent = true;
      // One's own device need not fetch what it has.
      store.pictures.keep(picture.id, picture.large);
      store.pictures.keep(picture.smallId, picture.small);
    }

    """##

  private static let demo15 = ##"""
    // What of Clique is open all the time: lists, people, blocked people, totals and one's own profile; and the pictures
    // that were fetched. One for each session, whichever app is on the screen.

    import { onceAFrame } from "./ui.js";

    const stores = new WeakMap();
    const mostPictures = 80;

    /** The store of this session's client. */
    export function storeOf(session) {
      if (!stores.has(session.client)) stores.set(session.client, makeStore(session));
      return stores.get(session.client);
    }

    function makeStore({ client, user: me, name: ownName }) {
      const { clique } = client;
      const [list, people, blocked] = [clique.list(), clique.people(), clique.blocked()];
      const [badge, profile, drafts] = [clique.badge(), clique.profile(), clique.drafts()];
      const listeners = new Set();
      const tell = onceAFrame(() => {
        for (const f of [...listeners]) f();
      });
      for (const map of [list, people, blocked, badge, profile, drafts]) {
        map.on("change", tell);
        map.on("subscribed", tell);
      }
      const chats = makeChats(clique);
      acknowledge(client, list, chats);
      const pictures = makePictures(client);
      const store = {
        me, list, people, blocked, profile, drafts, pictures, chats,
        /** What was written and is not in its chat yet, by conversation and key; it outlives the screen. */
        pending: new Map(),
        /** Calls `f` after changes, at most once a frame; gives what takes it away. */
        onChange(f) {
          listeners.add(f);
          return () => listeners.delete(f);
        },
        /** Says that something besides the maps has changed, what waits to be sent for example. */
        tell,
        isReady: () => list.state === "subscribed" && people.state === "subscribed",
        totals: () => badge.view.get("all") ?? {},
        profileOf(user) {
          return user === me ? profile.view.get("profile") ?? { user, name: ownName } : people.view.get(user);
        },
        /** As one sees it: the profile's name, that of when one blocked, or the user id. */
        nameOf(user) {
          return store.profileOf(user)?.name || blocked.view.get(user)?.name || user;
        },
        /** One's conversation or request with the person: the entry of the list, or undefined. */
        entryWith(user) {
          for (const entry of list.view.values()) if (entry.with === user) return entry;
          return undefined;
        },
        isBlocked: (user) => blocked.view.has(user),
        titleOf(entry) {
          if (!entry.group) return store.nameOf(entry.with);
          return entry.name || (entry.members ?? []).filter((one) => one !== me).map(store.nameOf).join(", ") || "A group";
        },
        /** Has the avatar show the person's picture as soon as it is there, and initials where there is none. */
        async showPicture(avatar, user, { large = false } = {}) {
          const picture = store.profileOf(user)?.picture;
          const id = (large ? picture?.id : picture?.small ?? picture?.id) ?? "";
          if (avatar.dataset.picture === id) return;
          avatar.dataset.picture = id;
          if (!id) {
            avatar.replaceChildren();
            return avatar.rename(store.nameOf(user));
          }
          const address = await pictures.address(id).catch(() => "");
          if (address && avatar.dataset.picture === id) avatar.show(address);
        },
      };
      return store;
    }

    /** Addresses of pictures that were fetched, those used last: the oldest gives way to another. */
    function makePictures(client) {
      const held = new Map();
      return {
        async address(id) {
          const there = held.get(id);
          if (there) {
            held.delete(id);
            held.set(id, there);
            return there;
          }
          const fetched = client.clique.pictures.download(id)
            .then(({ bytes, type }) => URL.createObjectURL(new Blob([bytes], { type })));
          held.set(id, fetched);
          fetched.catch(() => held.delete(id));
          if (held.size > mostPictures) {
            const [oldest, address] = held.entries().next().value;
            held.delete(oldest);
            address.then((text) => URL.revokeObjectURL(text), () => {});
          }
          return fetched;
        },
        /** Takes over what this device has just uploaded. */
        keep(id, blob) {
          held.set(id, Promise.resolve(URL.createObjectURL(blob)));
        },
      };
    }

    /** Chats that are open, counted: the screen and what says "delivered" may need the same one. */
    function makeChats(clique) {
      const users = new Map();
      return {
        open(conversation) {
          users.set(conversation, (users.get(conversation) ?? 0) + 1);
          return clique.chat(conversation);
        },
        close(conversation, chat) {
          const left = (users.get(conversation) ?? 1) - 1;
          if (left > 0) return void users.set(conversation, left);
          users.delete(conversation);
          chat.unsubscribe();
        },
      };
    }

    /** Only whoever has subscribed to a chat is told where it ends. */
    async function newestOffset(chats, conversation) {
      const chat = chats.open(conversation);
      try {
        await chat.ready();
        return chat.position?.offset ?? 0;
      } finally {
        chats.close(conversation, chat);
      }
    }

    /**
     * Says "delivered" for what has reached this device, whichever screen is open: the sender's ticks follow from it. Of a
     * conversation the newest offset, of a request how many messages it has.
     */
    function acknowledge(client, list, chats) {
      const said = new Map();
      const due = new Set();
      let timer = 0;
      const run = async () => {
        timer = 0;
        for (const conversation of [...due]) {
          due.delete(conversation);
          const entry = list.view.get(conversation);
          if (!entry?.unread) continue;
          try {
            const isRequest = entry.state === "request_in";
            if (!isRequest && entry.state !== "active") continue;
            const offset = isRequest ? (entry.messages ?? []).length : await newestOffset(chats, conversation);
            if (offset <= (said.get(conversation) ?? 0)) continue;
            await client.clique.delivered(conversation, offset);
            said.set(conversation, offset);
          } catch {
            // The chat says it when it is opened, and so does the next message.
          }
        }
      };
      list.on("change", ({ key, data, previous }) => {
        if (!data) return void said.delete(key);
        if (data.state !== previous?.state) said.delete(key);
        if (!data.unread) return;
        due.add(key);
        timer ||= setTimeout(run, 400);
      });
    }

    """##

  private static let demo16 = ##"""
    /* Clique. */

    .app-clique { flex: 1; display: flex; flex-direction: column; gap: var(--space-3); min-height: 0; }
    .clique-pane { flex: 1; display: flex; flex-direction: column; min-height: 0; }
    .no-wrap { flex-wrap: nowrap; }
    .plain { margin: 0; padding: 0; border: 0; min-width: 0; }
    .message-row time, .message-row .badge { flex: none; }

    /* People, and the campus */

    .home { display: grid; gap: var(--space-4); grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
      grid-template-rows: auto 1fr; align-items: start; }
    .home > :first-child { grid-row: span 2; }
    .campus-box { display: flex; flex-direction: column; gap: var(--space-3); }
    .campus { position: relative; display: grid; grid-template: repeat(2, 10.5rem) / repeat(3, minmax(0, 1fr));
      place-items: center; padding: var(--space-2); border-radius: var(--radius); overflow: hidden;
      background: light-dark(#dcecd6, #1d2a1e); isolation: isolate; }
    .campus-paths { position: absolute; inset: 0; width: 100%; height: 100%; z-index: -1; }
    .lawn { fill: light-dark(#dcecd6, #1d2a1e); }
    .water { fill: light-dark(#bfdcef, #1b3245); }
    .lane { fill: none; stroke: light-dark(#f7f1e1, #45453a); stroke-width: 16; stroke-linecap: round; }
    .spot { display: flex; flex-direction: column; align-items: center; justify-content: center; gap: var(--space-1);
      width: min(8rem, 94%); min-height: 7.25rem; padding: var(--space-2); border: 2px solid transparent; border-radius: var(--radius); cursor: pointer; min-width: 0;
      background: color-mix(in srgb, var(--surface) 88%, transparent); box-shadow: var(--shadow); color: var(--text); }
    .spot:hover { background: var(--surface); }
    .spot[aria-pressed="true"] { border-color: var(--accent); background: var(--surface); box-shadow: var(--shadow-high); }
    .spot-sign { font-size: 1.75rem; line-height: 1.1; }
    .spot-name { font-weight: 600; font-size: var(--small); }
    .spot-faces { display: flex; align-items: center; min-height: 1.875rem; }
    .spot-faces > * + * { margin-inline-start: -0.375rem; }
    .spot-me .avatar { outline: 3px solid var(--accent); }
    .spot-me { display: inline-flex; z-index: 1; }
    .person-row { display: flex; align-items: center; gap: var(--space-2); }
    .person-row + .person-row, .report-row + .report-row, .meeting + .meeting { border-top: 1px solid var(--line); }

    /* Profiles */

    .profile { display: flex; flex-direction: column; gap: var(--space-4); width: min(44rem, 100%); margin: 0 auto; }
    .profile-head { display: flex; gap: var(--space-4); align-items: center; flex-wrap: wrap; }
    .meeting, .report-row { display: flex; gap: var(--space-2); padding: var(--space-3) 0; flex-wrap: wrap; }
    .report-row { flex-direction: column; }

    /* The list of messages, and the conversation beside it */

    /* The page is as high as the window here: the list and the messages scroll by themselves. */
    body:has(.messages) { height: 100dvh; }
    .messages { flex: 1; display: grid; grid-template: minmax(0, 1fr) / minmax(17rem, 23rem) minmax(0, 1fr);
      gap: var(--space-4); min-height: 0; }
    .message-list { display: flex; flex-direction: column; gap: var(--space-3); min-height: 0; }
    .list-body .filters { flex: none; }
    .list-body .filters .button { padding: 0 var(--space-2); font-size: 0.75rem; gap: var(--space-1); }
    .list-body { flex: 1; display: flex; flex-direction: column; gap: var(--space-2); min-height: 0; overflow-y: auto; }
    .message-row { display: flex; flex-direction: column; }
    .request-answers { padding: 0 var(--space-2) var(--space-2) 4rem; }
    .chat-place { display: flex; flex-direction: column; min-height: 0; min-width: 0; }
    .chat { flex: 1; display: flex; flex-direction: column; min-height: 0; padding: 0; overflow: hidden; }
    .chat-head { display: flex; align-items: center; gap: var(--space-1); padding: var(--space-2) var(--space-3);
      border-bottom: 1px solid var(--line); }
    .chat-back { display: none; }
    .chat-who { min-width: 0; }
    .chat-link { display: flex; align-items: center; gap: var(--space-3); min-width: 0; width: 100%; padding: 0; border: 0;
      background: none; color: inherit; text-align: start; text-decoration: none; cursor: pointer;
      border-radius: var(--radius-small); }
    .chat-link > .grow { min-width: 0; }
    .chat-notice { display: flex; flex-direction: column; gap: var(--space-2); padding: var(--space-3) var(--space-4);
      background: var(--raised); font-size: var(--small); border-bottom: 1px solid var(--line); }
    .chat-log { flex: 1; display: flex; flex-direction: column; min-height: 0; }
    .log { flex: 1; overflow-y: auto; padding: var(--space-4); overscroll-behavior: contain; }
    .log:focus-visible { outline-offset: -3px; }
    .log-rows { display: flex; flex-direction: column; gap: var(--space-1); }
    .day { align-self: center; padding: var(--space-3) 0 var(--space-2); }
    .event { padding: var(--space-2); text-align: center; }
    .typing { min-height: 1.25rem; padding-top: var(--space-1); }

    .message { display: flex; align-items: center; gap: var(--space-1); max-width: min(34rem, 88%); align-self: flex-start;
      border-radius: var(--radius); }
    .message.is-event { align-self: center; }
    .message.is-mine { align-self: flex-end; flex-direction: row-reverse; }
    .message:not(.is-following):not(:first-child) { margin-top: var(--space-2); }
    .message.is-target .bubble { outline: 3px solid var(--accent); }
    .message:focus { outline: none; }
    .message-face { align-self: flex-end; flex: none; width: 1.75rem; }
    .bubble { padding: var(--space-2) var(--space-3); border-radius: var(--radius); background: var(--raised); min-width: 0;
      display: flex; flex-direction: column; gap: var(--space-1); }
    .is-mine .bubble { background: var(--accent-soft); }
    .message-text { white-space: pre-wrap; overflow-wrap: anywhere; }
    .message-foot { display: flex; align-items: center; gap: var(--space-2); flex-wrap: wrap; color: var(--text-soft);
      font-size: 0.75rem; }
    .is-mine .message-foot { justify-content: flex-end; }
    .tick { letter-spacing: -0.2em; padding-inline-end: 0.2em; }
    .tick.is-read { color: var(--accent); font-weight: 700; }
    .message > .button-icon { opacity: 0; }
    .message:hover > .button-icon, .message:focus-within > .button-icon { opacity: 1; }
    .quote { display: block; width: 100%; padding: var(--space-1) var(--space-2); border: 0; text-align: start; cursor: pointer;
      border-inline-start: 3px solid var(--accent); border-radius: var(--radius-small); overflow: hidden;
      background: color-mix(in srgb, var(--surface) 55%, transparent); text-overflow: ellipsis; white-space: nowrap; }
    p.quote { cursor: default; }
    .reactions { display: flex; gap: var(--space-1); flex-wrap: wrap; }
    .reaction { min-height: 1.75rem; padding: 0 var(--space-2); font-size: var(--small); background: var(--surface); }
    .picture-box { display: flex; flex-direction: column; gap: var(--space-1); }
    .message-picture { width: auto; height: auto; max-height: 22rem; border-radius: var(--radius-small);
      background: var(--raised); }

    .composer { border-top: 1px solid var(--line); padding: var(--space-2) var(--space-3); background: var(--surface); }
    .composer-row { display: flex; align-items: flex-end; gap: var(--space-2); }
    .composer-row textarea { resize: none; flex: 1; min-width: 0; max-height: 10rem; border-radius: 1.375rem;
      padding: 0.625rem var(--space-4); line-height: 1.4; }
    .composer-above { display: flex; flex-direction: column; gap: var(--space-2); padding-bottom: var(--space-2); }
    .composer-note { display: flex; align-items: center; gap: var(--space-2); padding-inline-start: var(--space-3);
      border-inline-start: 3px solid var(--accent); background: var(--raised); border-radius: var(--radius-small); }
    .composer-note img { width: 3rem; height: 3rem; object-fit: cover; border-radius: var(--radius-small); margin: var(--space-1) 0; }

    .dialog-wide { width: min(46rem, calc(100vw - 2rem)); }
    .choices { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: var(--space-3); }
    .choice { display: flex; flex-direction: column; gap: var(--space-2); padding: var(--space-4); border-radius: var(--radius);
      border: 1px solid var(--line); }
    .choice .button { margin-top: auto; }
    .points { display: flex; flex-direction: column; gap: var(--space-1); list-style: disc; padding-inline-start: 1.1rem;
      font-size: var(--small); }
    .member-row { display: flex; align-items: center; gap: var(--space-3); min-height: var(--target);
      padding: var(--space-1) 0; }

    @media (hover: none) {
      .message > .button-icon { opacity: 1; }
    }

    @media (max-width: 56rem) {
      .home { grid-template-columns: minmax(0, 1fr); grid-template-rows: none; }
      .home > :first-child { grid-row: auto; }
    }

    @media (max-width: 45rem) {
      .campus { grid-template-rows: repeat(2, 8.5rem); padding: var(--space-1); }
      .clique-tabs { width: auto; order: 0; }
      .messages { grid-template-columns: minmax(0, 1fr); }
      .messages[data-view="list"] .chat-place, .messages[data-view="chat"] .message-list { display: none; }
      .chat-back { display: inline-flex; }
      .request-answers { padding-inline-start: var(--space-2); }
      .log { padding: var(--space-3); }
    }

    """##

  private static let demo17 = ##"""
    // Clique: people who crossed one's path, and messages with them.
    //
    //   Address                          Screen
    //   #/clique                         people one crossed, and the campus
    //   #/clique/messages                the list, and the conversation that was open last
    //   #/clique/chat/CONVERSATION/12    a conversation, at a message
    //   #/clique/to/USER                 the conversation with somebody, or what becomes the first message
    //   #/clique/person/USER             a profile; one's own can be changed
    //   #/clique/join/LINK               joins a group by a link
    //   #/clique/settings                blocked people and reports

    import { bag, fill, h, newsText } from "./ui.js";
    import { makeActions } from "./clique-actions.js";
    import { makeChat } from "./clique-chat.js";
    import { makeHome } from "./clique-home.js";
    import { makeList } from "./clique-list.js";
    import { joinByLink } from "./clique-group.js";
    import { makeSettings } from "./clique-privacy.js";
    import { makeProfile } from "./clique-profile.js";

    /** Opens Clique in `root`; see shell.js for what `session` is. */
    export function mount(root, session) {
      const held = bag();
      const context = { ...session, session, actions: makeActions(session) };
      const { store } = session;
      const badge = h("span", { class: "badge", "aria-hidden": true });
      const said = h("span", { class: "visually-hidden" });
      const links = {
        home: h("a", { href: "#/clique" }, "People"),
        messages: h("a", { href: "#/clique/messages" }, "Messages", badge, said),
        profile: h("a", { href: `#/clique/person/${encodeURIComponent(session.user)}` }, "My profile"),
        settings: h("a", { href: "#/clique/settings" }, "Privacy"),
      };
      const pane = h("div", { class: "clique-pane" });
      root.append(h("nav", { class: "tabs clique-tabs", "aria-label": "Clique" }, Object.values(links)), pane);

      const showBadge = () => {
        const { messages = 0, requests = 0 } = store.totals();
        badge.textContent = messages + requests > 0 ? String(messages + requests) : "";
        said.textContent = messages + requests > 0 ? `, ${newsText(messages, requests)}` : "";
      };
      held.keep(store.onChange(showBadge));
      showBadge();

      let screen = null;
      let shown = "";
      const open = (name, make) => {
        if (shown === name) return;
        screen?.end();
        screen = null;
        shown = name;
        pane.replaceChildren();
        screen = make();
        pane.append(screen.element);
      };

      const route = ([kind = "", id = "", detail = ""]) => {
        const tab = kind === "person" && id === session.user ? "profile"
          : { "": "home", person: "home", settings: "settings" }[kind] ?? "messages";
        for (const [name, link] of Object.entries(links)) {
          if (name === tab) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
        }
        if (kind === "person" && id) return open(`person/${id}`, () => makeProfile(context, id));
        if (kind === "join" && id) joinByLink(context, id);
        if (kind === "settings") return open("settings", () => makeSettings(context));
        if (["messages", "chat", "to", "join"].includes(kind)) {
          open("messages", () => makeMessages(context));
          return screen.show(kind, id, detail);
        }
        open("home", () => makeHome(context));
      };

      return {
        route,
        unmount() {
          screen?.end();
          held.end();
        },
      };
    }

    /** The list and a conversation beside it; on a phone one of the two. */
    function makeMessages(context) {
      const { store, navigate } = context;
      const list = makeList(context);
      const place = h("section", { class: "chat-place", "aria-label": "Conversation" });
      const element = h("div", { class: "messages", dataset: { view: "list" } }, list.element, place);
      let chat = null;
      let shown = null;
      const held = bag();

      const close = () => {
        chat?.end();
        chat = null;
        shown = null;
      };

      const showNothing = () => {
        close();
        element.dataset.view = "list";
        list.select("");
        fill(place, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "No conversation is open"),
          h("p", {}, "Choose one on the left, or find somebody under People.")));
      };

      const openWith = (conversation, person, offset) => {
        element.dataset.view = "chat";
        list.select(conversation);
        if (shown && chat && (conversation ? shown === conversation : shown === `to/${person}`)) {
          if (offset > 0) chat.goTo(offset);
          return;
        }
        close();
        shown = conversation || `to/${person}`;
        chat = makeChat(context, {
          conversation, person, offset,
          leave: () => {
            navigate("#/clique/messages");
          },
        });
        fill(place, chat.element);
        chat.start();
      };

      // A first message makes a conversation of what was only a name.
      held.keep(store.onChange(() => {
        if (!shown?.startsWith("to/")) return;
        const entry = store.entryWith(shown.slice(3));
        if (entry) navigate(`#/clique/chat/${encodeURIComponent(entry.conversation)}`);
      }));

      return {
        element,
        show(kind, id, detail) {
          if (kind === "chat" && id) return openWith(id, "", Number(detail) || 0);
          if (kind === "to" && id) {
            const entry = store.entryWith(id);
            return openWith(entry?.conversation ?? "", id, 0);
          }
          showNothing();
        },
        end() {
          close();
          list.end();
          held.end();
        },
      };
    }

    """##

  private static let demo18 = ##"""
    /* Tokens and shared components. Colours are pairs of light and dark; contrast of text is 4.5 to 1 at least. */

    :root {
      color-scheme: light dark;
      --ground: light-dark(#f6f6f9, #111216);
      --surface: light-dark(#ffffff, #1b1c22);
      --raised: light-dark(#eeeef3, #282a33);
      --line: light-dark(#d9d9e2, #373a46);
      --line-strong: light-dark(#82838f, #858897);
      --text: light-dark(#17181c, #f0f0f4);
      --text-soft: light-dark(#5a5c68, #a9acba);
      --accent: light-dark(#4a3fd1, #a79fff);
      --accent-text: light-dark(#ffffff, #15122e);
      --accent-soft: light-dark(#e8e6fd, #2b2850);
      --danger: light-dark(#b3182c, #ff97a0);
      --danger-text: light-dark(#ffffff, #2c0509);
      --danger-soft: light-dark(#fde7e9, #431b21);
      --good: light-dark(#146c3d, #6fd79b);
      --good-soft: light-dark(#e0f4e8, #16331f);
      --warn: light-dark(#8a4b00, #f5c078);
      --warn-soft: light-dark(#fff0d9, #3b2a10);
      --space-1: 0.25rem;
      --space-2: 0.5rem;
      --space-3: 0.75rem;
      --space-4: 1rem;
      --space-5: 1.5rem;
      --space-6: 2.5rem;
      --radius: 0.875rem;
      --radius-small: 0.5rem;
      --radius-full: 999px;
      --small: 0.8125rem;
      --large: 1.1875rem;
      --title: 1.625rem;
      --shadow: 0 1px 2px light-dark(rgb(20 20 50 / 8%), rgb(0 0 0 / 40%));
      --shadow-high: 0 12px 40px light-dark(rgb(20 20 50 / 22%), rgb(0 0 0 / 65%));
      --target: 2.75rem;
      font: 100%/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    }

    *, *::before, *::after { box-sizing: border-box; }
    html { height: 100%; }
    body {
      margin: 0; min-height: 100%; min-height: 100dvh; display: flex; flex-direction: column;
      background: var(--ground); color: var(--text); overflow-wrap: anywhere;
    }
    main { flex: 1; display: flex; flex-direction: column; min-height: 0; width: 100%; max-width: 76rem; margin: 0 auto;
      padding: var(--space-4); }
    main:focus { outline: none; }
    h1, h2, h3, p, ul, ol, dl, dd, figure { margin: 0; padding: 0; }
    h1 { font-size: var(--title); line-height: 1.2; letter-spacing: -0.01em; }
    h2 { font-size: var(--large); line-height: 1.3; }
    h3 { font-size: 1rem; }
    ul, ol { list-style: none; }
    a { color: var(--accent); }
    img, canvas, video { max-width: 100%; display: block; }
    [hidden] { display: none !important; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    button, input, textarea, select { font: inherit; color: inherit; }
    ::placeholder { color: var(--text-soft); opacity: 1; }

    .visually-hidden {
      position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%);
      white-space: nowrap;
    }
    .skip {
      position: absolute; left: var(--space-2); top: -5rem; z-index: 30; padding: var(--space-3);
      background: var(--surface);
      border-radius: var(--radius-small); box-shadow: var(--shadow-high);
    }
    .skip:focus { top: var(--space-2); }
    .soft { color: var(--text-soft); }
    .small { font-size: var(--small); }
    .strong { font-weight: 650; }
    .row { display: flex; align-items: center; gap: var(--space-2); flex-wrap: wrap; }
    .row-centre { justify-content: center; }
    .row-between { justify-content: space-between; }
    .grow { flex: 1; min-width: 0; }
    .stack { display: flex; flex-direction: column; gap: var(--space-4); }
    .stack-tight { display: flex; flex-direction: column; gap: var(--space-1); }
    .one-line { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }

    /* The frame */

    .top {
      position: sticky; top: 0; z-index: 10; display: flex; align-items: center; gap: var(--space-2) var(--space-4);
      flex-wrap: wrap; padding: var(--space-2) var(--space-4); background: var(--surface);
      border-bottom: 1px solid var(--line);
    }
    .brand { font-weight: 750; font-size: 1.125rem; color: var(--text); text-decoration: none; }
    .brand-note { font-weight: 500; color: var(--text-soft); }
    .tabs { display: flex; gap: var(--space-1); overflow-x: auto; scrollbar-width: thin; }
    .tabs a {
      display: flex; align-items: center; gap: var(--space-2); min-height: var(--target); padding: 0 var(--space-3);
      border-radius: var(--radius-full); color: var(--text-soft); text-decoration: none; white-space: nowrap;
      font-weight: 550;
    }
    .tabs a:hover { background: var(--raised); color: var(--text); }
    .tabs a:focus-visible { outline-offset: -3px; }
    .tabs a[aria-current] { background: var(--accent-soft); color: var(--accent); }
    .me { margin-inline-start: auto; display: flex; align-items: center; gap: var(--space-2); min-width: 0; }
    .me .one-line { max-width: 9rem; }
    .connection { padding: var(--space-2) var(--space-4); background: var(--warn-soft); color: var(--warn);
      text-align: center; font-size: var(--small); font-weight: 550; }
    .connection[data-state="lost"] { background: var(--danger-soft); color: var(--danger); }
    .connection[data-state="back"] { background: var(--good-soft); color: var(--good); }

    /* Components */

    .button {
      display: inline-flex; align-items: center; justify-content: center; gap: var(--space-2); min-height: var(--target);
      padding: 0 var(--space-4); border: 1px solid var(--line-strong); border-radius: var(--radius-full);
      background: var(--surface); font-weight: 600; cursor: pointer; text-decoration: none; color: var(--text);
    }
    .button:hover { background: var(--raised); }
    .button:disabled, .button[aria-disabled="true"] { opacity: 0.55; cursor: not-allowed; }
    .button-primary { background: var(--accent); border-color: var(--accent); color: var(--accent-text); }
    .button-primary:hover { background: color-mix(in srgb, var(--accent) 86%, var(--text)); }
    .button-danger { background: var(--surface); border-color: var(--danger); color: var(--danger); }
    .button-danger:hover { background: var(--danger-soft); }
    .button-quiet { border-color: transparent; background: transparent; color: var(--accent); }
    .button-quiet:hover { background: var(--accent-soft); }
    .button-icon { width: var(--target); padding: 0; border-color: transparent; background: transparent;
      font-size: 1.125rem; flex: none; }
    .button-icon:hover { background: var(--raised); }
    .button[aria-pressed="true"] { background: var(--accent-soft); border-color: var(--accent); color: var(--accent); }
    .button-small { min-height: 2.25rem; padding: 0 var(--space-3); font-size: var(--small); }

    .field { display: flex; flex-direction: column; gap: var(--space-1); }
    .field label { font-weight: 600; font-size: var(--small); }
    .field-help { color: var(--text-soft); font-size: var(--small); }
    .field-error { color: var(--danger); font-size: var(--small); font-weight: 550; }
    .input {
      width: 100%; min-height: var(--target); padding: var(--space-2) var(--space-3); background: var(--surface);
      border: 1px solid var(--line-strong); border-radius: var(--radius-small);
    }
    .input[aria-invalid="true"] { border-color: var(--danger); }
    textarea.input { resize: vertical; }
    .check { display: flex; align-items: center; gap: var(--space-3); min-height: var(--target); cursor: pointer; }
    .check input { width: 1.25rem; height: 1.25rem; accent-color: var(--accent); flex: none; }

    .card { background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius);
      padding: var(--space-4); box-shadow: var(--shadow); }
    .list { display: flex; flex-direction: column; }
    .list-row {
      display: flex; align-items: center; gap: var(--space-3); width: 100%; min-height: 3.5rem; padding: var(--space-2);
      border: 0; border-radius: var(--radius-small); background: none; color: inherit; text-align: start; cursor: pointer;
      text-decoration: none;
    }
    .list-row:hover { background: var(--raised); }
    .list-row[aria-current] { background: var(--accent-soft); }

    .badge {
      display: inline-flex; align-items: center; justify-content: center; min-width: 1.375rem; height: 1.375rem;
      padding: 0 0.375rem; border-radius: var(--radius-full); background: var(--accent); color: var(--accent-text);
      font-size: 0.75rem; font-weight: 700; font-variant-numeric: tabular-nums; flex: none;
    }
    .badge:empty { display: none; }
    .chip { display: inline-flex; align-items: center; gap: var(--space-1); padding: 0.125rem var(--space-2);
      border-radius: var(--radius-full); background: var(--raised); font-size: var(--small); }
    .chip-good { background: var(--good-soft); color: var(--good); }
    .note { padding: var(--space-3); border-radius: var(--radius-small); background: var(--raised);
      font-size: var(--small); }
    .note-warn { background: var(--warn-soft); color: var(--warn); }

    .avatar {
      --size: 2.75rem;
      display: inline-flex; align-items: center; justify-content: center; width: var(--size); height: var(--size);
      border-radius: 50%; overflow: hidden; flex: none; font-weight: 650; font-size: calc(var(--size) * 0.38);
      /* Of each hue as dark as of any other, so that white on it can be read: with hsl, yellow is too bright. */
      background: oklch(0.5 0.1 var(--hue, 270)); color: #ffffff; user-select: none;
    }
    .avatar img { width: 100%; height: 100%; object-fit: cover; }
    .avatar-small { --size: 1.75rem; }
    .avatar-large { --size: 6rem; }

    .empty { margin: auto; max-width: 30rem; padding: var(--space-5) var(--space-4); text-align: center;
      color: var(--text-soft); display: flex; flex-direction: column; gap: var(--space-3); }
    .empty-title { color: var(--text); font-weight: 650; font-size: var(--large); }

    .filters { display: flex; gap: var(--space-1); flex-wrap: wrap; }

    .dialog { width: min(30rem, calc(100vw - 2rem)); max-height: calc(100dvh - 2rem); padding: var(--space-5);
      border: 1px solid var(--line); border-radius: var(--radius); background: var(--surface); color: var(--text);
      box-shadow: var(--shadow-high); }
    .dialog[open] { display: flex; flex-direction: column; gap: var(--space-3); }
    .dialog::backdrop { background: rgb(10 10 25 / 55%); }
    .dialog-actions { display: flex; justify-content: flex-end; gap: var(--space-2); flex-wrap: wrap;
      margin-top: var(--space-2); }

    .toasts { position: fixed; inset-inline: var(--space-4); top: 4.5rem; z-index: 20; display: flex;
      flex-direction: column; align-items: center; gap: var(--space-2); pointer-events: none; }
    .toast { pointer-events: auto; display: flex; align-items: center; gap: var(--space-3); max-width: 34rem;
      padding: var(--space-2) var(--space-4); min-height: var(--target); border-radius: var(--radius);
      background: light-dark(#22232b, #f0f0f4); color: light-dark(#ffffff, #17181c); box-shadow: var(--shadow-high); }
    .toast .button { border-color: transparent; background: transparent; color: light-dark(#c3bdff, #3a30b0);
      flex: none; }
    .toast :focus-visible { outline-color: light-dark(#c3bdff, #3a30b0); }

    /* Signing in */

    .welcome { margin: auto; width: min(30rem, 100%); display: flex; flex-direction: column; gap: var(--space-4); }
    .welcome .names { display: flex; flex-wrap: wrap; gap: var(--space-2); }

    @media (max-width: 45rem) {
      main { padding: var(--space-3); }
      .top { padding: var(--space-2) var(--space-3); }
      .tabs { order: 3; width: 100%; }
      .me .one-line { max-width: 6rem; }
      .brand-note { display: none; }
    }

    @media (prefers-reduced-motion: no-preference) {
      .toast { animation: rise 0.18s ease-out; }
      .dialog[open] { animation: rise 0.15s ease-out; }
      .button, .list-row, .tabs a { transition: background-color 0.12s; }
      @keyframes rise { from { opacity: 0; translate: 0 0.5rem; } }
    }

    @media (forced-colors: active) {
      .badge, .chip, .avatar { border: 1px solid; }
      .tabs a[aria-current], .button[aria-pressed="true"], .list-row[aria-current] { outline: 2px solid; }
    }

    """##

  private static let demo19 = ##"""
    /* Favorites. */

    /* A finger that drags sideways here means a tile: without this, the browser takes it for "back". */
    html:has(.app-favorites) { overscroll-behavior-x: none; }

    /* All of it fits a window that is not very low. */
    .favorites-grid { --tall: max(20rem, calc(100dvh - 12.5rem)); display: grid; gap: var(--space-3);
      width: min(100%, 28rem, var(--tall)); margin: 0 auto;
      grid-template-columns: repeat(2, minmax(0, 1fr)); }
    .favorites-grid[data-columns="3"] { width: min(100%, 36rem, var(--tall));
      grid-template-columns: repeat(3, minmax(0, 1fr)); }
    .favorites-grid[data-columns="4"] { width: min(100%, 42rem, var(--tall));
      grid-template-columns: repeat(4, minmax(0, 1fr)); }
    .favorites-main-side > .small { text-align: center; }
    .favorites-tile, .favorites-gap { position: relative; min-width: 0; aspect-ratio: 1; user-select: none;
      -webkit-user-select: none; }
    .favorites-gap { display: grid; place-items: center; border: 2px dashed var(--line); border-radius: var(--radius);
      color: var(--line-strong); font-size: 2rem; cursor: pointer; }
    .favorites-gap:hover { border-color: var(--accent); color: var(--accent); }
    .favorites-main { display: flex; flex-direction: column; align-items: center; justify-content: center; width: 100%;
      height: 100%; padding: var(--space-2); gap: 0.125rem; cursor: pointer; background: var(--surface);
      border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow); touch-action: manipulation; }
    .favorites-main:hover { border-color: var(--accent); }
    .favorites-main:active { background: var(--accent-soft); }
    .favorites-main .avatar { --size: clamp(3.5rem, 18vw, 6rem); margin-bottom: var(--space-1); pointer-events: none; }
    .favorites-grid[data-columns="3"] .avatar { --size: clamp(2.75rem, 12vw, 5rem); }
    .favorites-grid[data-columns="4"] .avatar { --size: clamp(2.25rem, 9vw, 4rem); }
    .favorites-name { max-width: 100%; font-weight: 650; }
    .favorites-main .small { max-width: 100%; }
    .favorites-more, .favorites-out { position: absolute; top: 0.375rem; inset-inline-end: 0.375rem; width: 1.75rem;
      height: 1.75rem; padding: 0; border: 0; border-radius: 50%; background: transparent; color: var(--text-soft);
      cursor: pointer; line-height: 1; font-weight: 700; }
    .favorites-more:hover { background: var(--raised); color: var(--text); }
    .favorites-out { top: -0.5rem; inset-inline-end: -0.5rem; background: var(--danger); color: var(--danger-text);
      border: 2px solid var(--ground); }
    /* The target is larger than it looks: 44 pixels. */
    .favorites-more::after, .favorites-out::after { content: ""; position: absolute; inset: -0.5rem;
      border-radius: var(--radius-small); }
    .favorites-out::after { inset: -0.625rem; }
    .is-editing .favorites-main { border: 2px dashed var(--line-strong); cursor: grab; }
    .is-editing .favorites-tile { touch-action: none; }
    .favorites-tile.is-dragged { z-index: 5; }
    .is-dragged .favorites-main { cursor: grabbing; scale: 1.04; box-shadow: var(--shadow-high);
      border: 2px solid var(--accent); background: var(--surface); }
    .favorites-empty { text-align: center; max-width: 34rem; margin: 0 auto; display: flex; flex-direction: column;
      gap: var(--space-2); padding: var(--space-2) 0; }
    .favorites-empty h2 { font-size: var(--title); }

    @media (max-width: 30rem) {
      .favorites-grid { gap: var(--space-2); }
      .favorites-out { top: -0.125rem; inset-inline-end: -0.125rem; }
      .favorites-grid[data-columns="4"] .favorites-main { padding: var(--space-1); }
      .favorites-grid:not([data-columns="2"]) .favorites-main .small { display: none; }
      .favorites-grid[data-columns="4"] .favorites-name { font-size: var(--small); }
      .favorites-grid[data-columns="4"] .favorites-more { top: 0; inset-inline-end: 0; }
    }
    @media (prefers-reduced-motion: no-preference) {
      .favorites-main { transition: border-color 0.12s, scale 0.12s, box-shadow 0.12s; }
      .is-editing .favorites-tile:not(.is-dragged) .favorites-main { animation: favorites-loose 0.5s ease-in-out infinite
        alternate; }
      .is-editing .favorites-tile:nth-child(odd) .favorites-main { animation-delay: -0.25s; }
      @keyframes favorites-loose { from { rotate: -0.6deg; } to { rotate: 0.6deg; } }
    }

    """##

  private static let demo20 = ##"""
    // Favorites: a grid of people that grows from 2 × 2 to 4 × 4. A click does what was chosen for the person, a double
    // click (or the button with the dots, or the menu key) shows everything else. The grid is a map
    // channel: score is the place.
    //
    // | mode  | a tile's click               | dragging           | keys                                          |
    // |-------|------------------------------|--------------------|-----------------------------------------------|
    // | use   | after the interval: default  | with a mouse       | Enter: default; menu key: all actions         |
    // | use   | twice within it: all actions |                    |                                               |
    // | edit  | all actions and the default  | with anything      | arrows move the tile; Delete takes it out     |

    import { attempt, nameOf, offlineNote, ownMap, persist, picker, readable } from "./people.js";
    import { announce, avatar, bag, button, calm, field, fill, h, keyedList, openDialog } from "./ui.js";

    const most = 16;
    /** Between the scores of two neighbours, so that one can go between them. */
    const gap = 1_000_000;
    /** How far a pointer goes before it drags, in pixels. */
    const threshold = 8;
    const intervals = [[200, "quick (0.2 s)"], [300, "usual (0.3 s)"], [500, "slow (0.5 s)"], [900, "very slow (0.9 s)"]];
    const actions = { write: "Write a message", state: "Send a State", profile: "See the profile" };

    /** How many columns `count` tiles take: the grid is a square, and no bigger than it has to be. */
    export const columns = (count) => Math.min(4, Math.max(2, Math.ceil(Math.sqrt(count))));

    /** The score for a place between two neighbours (undefined at an end); null where there is no room any more. */
    export function between(before, after) {
      if (before === undefined && after === undefined) return gap;
      if (before === undefined) return after - gap;
      if (after === undefined) return before + gap;
      const middle = Math.floor((before + after) / 2);
      return middle > before && middle < after ? middle : null;
    }

    class Favorites {
      #held = bag();
      #editing = false;
      #drag = null;
      #click = null;
      /** What was changed here and has not come back yet: places, and whom to leave out. */
      #scores = new Map();
      #leaving = new Set();

      constructor(root, session) {
        this.root = root;
        this.session = session;
        this.channel = `favorites:#${session.user}`;
        this.map = ownMap(session.client, this.channel, { order: "ascending" });
        this.intervalName = "fanfare.demo.favorites.interval";
        const kept = Number(localStorage.getItem(this.intervalName));
        this.interval = intervals.some(([time]) => time === kept) ? kept : 300;
        this.#build();
        this.#held.keep(this.map.on("change", ({ key, entry }) => {
          if (entry.removed || entry.score === this.#scores.get(key)) this.#scores.delete(key);
          this.#draw();
        }));
        for (const name of ["subscribed", "unsubscribed"]) this.#held.keep(this.map.on(name, () => this.#draw()));
        this.#held.keep(session.store.onChange(() => this.#draw()));
        this.#held.keep(() => this.#forgetClick());
        this.#draw();
      }

      unmount() {
        this.#held.end();
        this.map.unsubscribe();
        fill(this.root);
      }

      /** What Clique calls them, what they were called when they were added, or what the id says. */
      #name(user) {
        const name = nameOf(this.session, user);
        return name === readable(user) ? this.map.view.get(user)?.name || name : name;
      }

      #score(user) { return this.#scores.get(user) ?? this.map.view.entry(user)?.score; }

      /** The people in their order, with what is on its way. */
      #keys() {
        return [...this.map.view.keys()].filter((user) => !this.#leaving.has(user))
          .sort((a, b) => this.#score(a) - this.#score(b));
      }

      #build() {
        this.grid = h("ul", { class: "favorites-grid", "aria-label": "Favorites" });
        this.rows = keyedList(this.grid, {
          key: (user) => user, make: (user) => (user.startsWith("+") ? this.#makeGap() : this.#makeTile(user)),
          update: (tile) => tile.show(),
        });
        this.edit = button("Edit", () => this.#setEditing(!this.#editing), { "aria-pressed": "false" });
        this.hint = h("p", { class: "soft small grow" });
        this.picker = picker(this.session, {
          label: "Add somebody", verb: "Add", choose: (user, name) => this.#add(user, name),
          leaves: (user) => this.map.view.has(user) && !this.#leaving.has(user),
        });
        this.#held.keep(() => this.picker.end());
        const offline = offlineNote(this.session,
          "You are offline. Your favorites are here, and what you change goes out as soon as you are back.");
        this.#held.keep(() => offline.end());
        this.adding = h("div", { class: "card" }, this.picker.element);
        this.empty = h("section", { class: "favorites-empty", hidden: true },
          h("h2", {}, "Your favorite people, one touch away"),
          h("p", { class: "soft" }, "Add somebody, and the grid begins with four places. It grows to sixteen by itself. "
            + "Click a person to write to them, double click for everything else, and drag them to where you want them."));
        const interval = field("Double click", {
          tag: "select", children: intervals.map(([time, text]) => h("option", { value: time }, text)),
          on: {
            change: ({ target }) => {
              this.interval = Number(target.value);
              localStorage.setItem(this.intervalName, target.value);
            },
          },
        }, "How long a second click may take. A single click waits as long.");
        interval.input.value = String(this.interval);
        fill(this.root, h("div", { class: "favorites stack" },
          h("div", { class: "row row-between" }, h("h1", {}, "Favorites"), this.edit), offline.element,
          h("div", { class: "sided" },
            h("div", { class: "sided-side" }, this.adding,
              h("details", { class: "card side-settings" }, h("summary", {}, "Settings"), interval.element)),
            h("div", { class: "sided-main favorites-main-side stack" }, this.empty, this.grid, this.hint))));
      }

      #do(f, failed) { return attempt(this.session, f, failed); }

      /** `later` is said where it waits for the connection; without it, what is on the screen says enough. */
      #say(method, rest, later) {
        return persist(this.session, method, { channel: this.channel, ...rest }, () => later && this.session.toast(later));
      }

      #set(user, data, score, later = `You are offline. ${this.#name(user)} is saved as soon as you are back.`) {
        return this.#say("map.set", { key: user, data, score }, later);
      }

      async #add(user, name) {
        const keys = this.#keys();
        if (keys.length >= most) return this.session.toast(`The grid is full: it holds ${most}. Take somebody out first.`);
        this.picker.input.focus();
        const score = between(this.#score(keys.at(-1)), undefined);
        if (!await this.#do(() => this.#set(user, { name, action: "write" }, score,
          `You are offline. ${name} is added as soon as you are back.`), `${name} was not added`)) return;
        announce(`${name} is added.`);
      }

      async #remove(user) {
        const entry = this.map.view.entry(user);
        if (!entry || this.#leaving.has(user)) return;
        // Where it was put last may be on its way still.
        const score = this.#score(user);
        const keys = this.#keys();
        const next = keys[keys.indexOf(user) + 1] ?? keys[keys.indexOf(user) - 1];
        const name = this.#name(user);
        this.#leaving.add(user);
        this.#draw();
        (this.rows.rows.get(next)?.querySelector("button") ?? this.picker.input).focus();
        const isOut = await this.#do(() => this.#say("map.remove", { key: user },
          `You are offline. ${name} is taken out as soon as you are back.`), `${name} is still there`);
        this.#leaving.delete(user);
        this.#draw();
        if (!isOut) return;
        this.session.toast(`${name} is taken out.`, {
          undo: () => this.#do(() => this.#set(user, entry.data, score), `${name} was not brought back`),
        });
      }

      #setEditing(on) {
        this.#editing = on;
        this.edit.setAttribute("aria-pressed", String(on));
        this.edit.textContent = on ? "Done" : "Edit";
        announce(on ? "Editing. Arrow keys move a person, Delete takes them out." : "Done editing.");
        this.#draw();
      }

      /** A place for one more: how many there are says how far the grid has grown. */
      #makeGap() {
        const tile = h("li", {
          class: "favorites-gap", "aria-hidden": true, on: { click: () => this.picker.input.focus() },
        }, "+");
        tile.show = () => {};
        return tile;
      }

      #makeTile(user) {
        const picture = avatar(user, this.#name(user), "large");
        const name = h("span", { class: "favorites-name one-line" });
        const what = h("span", { class: "soft small one-line" });
        const main = h("button", {
          type: "button", class: "favorites-main", on: {
            click: (event) => this.#clicked(user, event),
            keydown: (event) => this.#key(user, event),
            contextmenu: (event) => {
              event.preventDefault();
              this.#menu(user);
            },
          },
        }, picture, name, what);
        const more = h("button", { type: "button", class: "favorites-more", on: { click: () => this.#menu(user) } }, "⋯");
        const out = h("button", { type: "button", class: "favorites-out", on: { click: () => this.#remove(user) } }, "✕");
        const tile = h("li", { class: "favorites-tile" }, main, more, out);
        tile.dataset.user = user;
        tile.addEventListener("pointerdown", (event) => this.#grab(user, tile, event));
        tile.addEventListener("dragstart", (event) => event.preventDefault());
        tile.show = () => {
          const called = this.#name(user);
          this.session.store.showPicture(picture, user);
          picture.rename(called);
          name.textContent = called;
          const action = actions[this.map.view.get(user)?.action] ? this.map.view.get(user).action : "write";
          what.textContent = actions[action];
          more.setAttribute("aria-label", `Everything for ${called}`);
          out.setAttribute("aria-label", `Take ${called} out`);
          out.hidden = !this.#editing;
          more.hidden = this.#editing;
        };
        return tile;
      }

      #forgetClick() {
        clearTimeout(this.#click?.timer);
        this.#click = null;
      }

      #clicked(user, event) {
        if (this.#drag?.isMoving || this.justDropped) return;
        if (this.#editing) return this.#menu(user);
        // A key cannot be meant twice: its clicks have no number.
        if (event.detail === 0) return this.#act(user, this.map.view.get(user)?.action);
        if (this.#click?.user === user) {
          this.#forgetClick();
          return this.#menu(user);
        }
        this.#forgetClick();
        this.#click = { user, timer: setTimeout(() => {
          this.#click = null;
          this.#act(user, this.map.view.get(user)?.action);
        }, this.interval) };
      }

      #act(user, action) {
        const id = encodeURIComponent(user);
        const conversation = this.session.store?.entryWith(user)?.conversation;
        if (action === "state") this.session.navigate(`#/state/${id}`);
        else if (action !== "profile" && conversation) {
          this.session.navigate(`#/clique/chat/${encodeURIComponent(conversation)}`);
        } else this.session.navigate(`#/clique/person/${id}`);
      }

      async #menu(user) {
        this.#forgetClick();
        const name = this.#name(user);
        const data = this.map.view.get(user);
        if (!data) return;
        const chosen = await openDialog(name, (close) => [
          h("div", { class: "stack-tight" },
            Object.entries(actions).map(([action, text]) => button(text, () => close({ action })))),
          this.#defaultChoice(user, data),
          h("div", { class: "dialog-actions" }, button("Take out", () => close({ out: true }), { kind: "danger" }),
            button("Close", () => close(), { kind: "quiet" })),
        ]);
        if (chosen?.action) this.#act(user, chosen.action);
        if (chosen?.out) this.#remove(user);
      }

      #defaultChoice(user, data) {
        const choice = field("A click does this", {
          tag: "select", children: Object.entries(actions).map(([value, text]) => h("option", { value }, text)),
          on: {
            change: ({ target }) => this.#do(
              () => this.#set(user, { ...data, action: target.value }, this.map.view.entry(user)?.score), "Not changed"),
          },
        });
        choice.input.value = actions[data.action] ? data.action : "write";
        return choice.element;
      }

      #key(user, event) {
        if (!this.#editing && !(event.altKey && event.key.startsWith("Arrow"))) return;
        const keys = this.#keys();
        const row = columns(keys.length);
        const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row }[event.key];
        if (event.key === "Delete" || event.key === "Backspace") {
          event.preventDefault();
          return this.#remove(user);
        }
        if (step === undefined) return;
        event.preventDefault();
        const to = Math.min(keys.length - 1, Math.max(0, keys.indexOf(user) + step));
        if (to !== keys.indexOf(user)) this.#place(user, to);
      }

      /** Puts the tile at the place `to` among the others. */
      async #place(user, to) {
        const { view } = this.map;
        const others = this.#keys().filter((key) => key !== user);
        const score = between(this.#score(others[to - 1]), this.#score(others[to]));
        const order = [...others.slice(0, to), user, ...others.slice(to)];
        // Where the neighbours are too close by now, all get new places.
        const moved = score !== null ? [[user, score]] : order.map((key, index) => [key, (index + 1) * gap]);
        for (const [key, place] of moved) this.#scores.set(key, place);
        this.#draw();
        announce(`${this.#name(user)} is at place ${to + 1} of ${order.length}.`);
        const isDone = await this.#do(
          () => Promise.all(moved.map(([key, place]) => this.#set(key, view.get(key), place, ""))), "Not moved");
        if (isDone) return;
        for (const [key, place] of moved) if (this.#scores.get(key) === place) this.#scores.delete(key);
        this.#draw();
      }

      #grab(user, tile, event) {
        const isTouch = event.pointerType !== "mouse";
        if (event.button !== 0 || (isTouch && !this.#editing)) return;
        if (event.target.closest(".favorites-out, .favorites-more")) return;
        const drag = this.#drag = { user, tile, x: event.clientX, y: event.clientY, isMoving: false };
        const hold = bag();
        const finish = (drops) => {
          hold.end();
          this.#drag = null;
          if (!drag.isMoving) return;
          tile.classList.remove("is-dragged");
          tile.style.removeProperty("translate");
          for (const each of this.grid.children) each.style.removeProperty("order");
          // The click that ends a drag is none.
          this.justDropped = true;
          setTimeout(() => { this.justDropped = false; });
          if (drops && drag.to !== drag.from) this.#place(user, drag.to); else this.#draw();
        };
        hold.listen(window, "pointermove", (moved) => this.#move(drag, moved));
        hold.listen(window, "pointerup", () => finish(true));
        hold.listen(window, "pointercancel", () => finish(false));
        hold.listen(window, "keydown", (pressed) => {
          if (pressed.key === "Escape") finish(false);
        });
      }

      /** The places of the tiles, from the grid's corner: they stay while one is dragged, only who has which changes. */
      #lift(drag) {
        drag.isMoving = true;
        this.#forgetClick();
        const corner = this.grid.getBoundingClientRect();
        drag.keys = this.#keys();
        drag.slots = drag.keys.map((key) => {
          const box = this.rows.rows.get(key).getBoundingClientRect();
          return { x: box.x - corner.x, y: box.y - corner.y, width: box.width, height: box.height };
        });
        drag.from = drag.to = drag.keys.indexOf(drag.user);
        drag.hand = { x: drag.x - corner.x - drag.slots[drag.from].x, y: drag.y - corner.y - drag.slots[drag.from].y };
        drag.tile.classList.add("is-dragged");
      }

      #move(drag, { clientX, clientY }) {
        if (!drag.isMoving) {
          if (Math.hypot(clientX - drag.x, clientY - drag.y) < threshold || !this.map.view.has(drag.user)) return;
          this.#lift(drag);
        }
        const corner = this.grid.getBoundingClientRect();
        const [x, y] = [clientX - corner.x - drag.hand.x, clientY - corner.y - drag.hand.y];
        const far = drag.slots.map((slot) => Math.hypot(slot.x - x, slot.y - y));
        const to = far.indexOf(Math.min(...far));
        if (to !== drag.to) {
          this.#makeRoom(drag, to);
          drag.to = to;
        }
        drag.tile.style.setProperty("translate", `${x - drag.slots[to].x}px ${y - drag.slots[to].y}px`);
      }

      /** The others go aside. Only their places on the screen change: the list is put in order at the end. */
      #makeRoom(drag, to) {
        const others = drag.keys.filter((key) => key !== drag.user);
        const arranged = (place) => [...others.slice(0, place), drag.user, ...others.slice(place)];
        const [before, after] = [arranged(drag.to), arranged(to)];
        after.forEach((key, index) => {
          const tile = this.rows.rows.get(key);
          tile.style.setProperty("order", String(index - most));
          const [was, is] = [drag.slots[before.indexOf(key)], drag.slots[index]];
          if (key === drag.user || was === is || calm()) return;
          tile.animate([{ translate: `${was.x - is.x}px ${was.y - is.y}px` }, { translate: "0 0" }],
            { duration: 160, easing: "ease-out" });
        });
      }

      #draw() {
        // What comes from another device meanwhile is shown when the tile is let go.
        if (this.#drag?.isMoving) return;
        const keys = this.#keys();
        const across = columns(keys.length);
        const gaps = Array.from({ length: across * across - keys.length }, (_, index) => `+${index}`);
        this.rows.show([...keys, ...(this.#editing ? [] : gaps)]);
        this.grid.dataset.columns = String(across);
        this.grid.classList.toggle("is-editing", this.#editing);
        const isThere = this.map.state === "subscribed" || keys.length > 0;
        this.grid.hidden = !isThere;
        this.empty.hidden = keys.length > 0 || !isThere;
        this.edit.hidden = keys.length === 0;
        if (keys.length === 0 && this.#editing) this.#setEditing(false);
        this.adding.hidden = keys.length >= most;
        this.hint.textContent = keys.length === 0 ? "" : this.#editing
          ? "Drag, or use the arrow keys, to arrange. ✕ or Delete takes out."
          : "Click for what stands below the name, double click for the rest, drag to arrange. With the keyboard, Alt and "
            + "arrow keys move.";
      }
    }

    /** Shows the favorites in `root`. */
    export function mount(root, session) {
      const app = new Favorites(root, session);
      return { unmount: () => app.unmount() };
    }

    """##

  private static let demo21 = ##"""
    <!doctype html>
    <html lang="en">
    <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
      <meta name="color-scheme" content="light dark">
      <meta name="description" content="Clique, State and four more apps on one server. Open two windows and talk.">
      <title>Fanfare demo</title>
      <link rel="icon" href="data:,">
      <link rel="stylesheet" href="/demo/demo.css">
      <link rel="stylesheet" href="/demo/apps.css">
      <script type="module" src="/demo/shell.js"></script>
    </head>
    <body>
      <a class="skip" href="#main" id="skip">Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/clique">Fanfare <span class="brand-note">demo</span></a>
        <nav class="tabs" aria-label="Apps" id="tabs" hidden>
          <a href="#/clique" data-app="clique">Clique</a>
          <a href="#/state" data-app="state">State</a>
          <a href="#/sites" data-app="sites">Six to Eight</a>
          <a href="#/favorites" data-app="favorites">Favorites</a>
          <a href="#/journal" data-app="journal">Idealic</a>
          <a href="#/busy" data-app="busy">Busy channel</a>
        </nav>
        <div class="me" id="me" hidden></div>
      </header>
      <div class="connection" id="connection" role="status" hidden></div>
      <main id="main" tabindex="-1">
        <noscript><p class="empty">This demo is a program in your browser: it needs JavaScript.</p></noscript>
      </main>
      <div class="toasts" id="toasts"></div>
      <div class="visually-hidden" id="live" aria-live="polite"></div>
      <div class="visually-hidden" id="alert" aria-live="assertive"></div>
    </body>
    </html>

    """##

  private static let demo22 = ##"""
    /* Idealic. */

    .journal { --book: "Iowan Old Style", Charter, "Bitstream Charter", Georgia, serif; width: min(46rem, 100%);
      margin: 0 auto; }
    .journal h1 { font-family: var(--book); font-size: 2rem; font-weight: 600; }
    .journal-head { align-items: flex-end; padding-block: var(--space-3) var(--space-2); }
    .journal-date { color: var(--accent); font-weight: 600; font-size: var(--small); }
    .journal-list { display: flex; flex-direction: column; gap: var(--space-2); }
    .journal-month h2 { padding-top: var(--space-3); color: var(--text-soft); font-size: var(--small); font-weight: 650; }
    .journal-list .list-row { gap: var(--space-4); padding: var(--space-3) var(--space-4); background: var(--surface);
      border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow); }
    .journal-list .list-row:hover { border-color: var(--accent); background: var(--surface); }
    .journal-day { display: flex; flex-direction: column; align-items: center; flex: none; width: 2.75rem; line-height: 1.2;
      color: var(--text-soft); }
    .journal-number { font: 600 1.625rem/1.1 var(--book); color: var(--accent); }
    .journal-what { display: flex; flex-direction: column; gap: 0.125rem; }
    .journal-excerpt { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
    .journal-empty { display: flex; flex-direction: column; align-items: center; padding: var(--space-5) var(--space-4); }
    .journal-leaf { font-size: 3rem; }
    .journal-paper { width: min(62ch, 100%); margin: 0 auto; padding: var(--space-3) 0 var(--space-5); }
    .journal-entry h1, .journal-text { overflow-wrap: anywhere; }
    .journal-text { white-space: pre-wrap; font: 1.125rem/1.7 var(--book); }
    .journal-form textarea { min-height: max(14rem, calc(100dvh - 29rem)); font: 1.125rem/1.65 var(--book); }
    .journal-form .input[type="text"], .journal-form input.input { font: 600 1.25rem/1.4 var(--book); }

    """##

  private static let demo23 = ##"""
    // Idealic: a private journal. Entries are kept in a map channel that nobody else can subscribe to, newest first.
    //
    // | view  | leads to                                                        |
    // |-------|-----------------------------------------------------------------|
    // | list  | write: new; read: an entry is chosen                            |
    // | read  | list; write: change; list: deleted, which can be undone         |
    // | write | read: saved; list or read: left, where what was written is kept |

    import { newKey } from "../fanfare.js";
    import { nameOf, offlineNote, ownMap, persist } from "./people.js";
    import {
      announce, bag, button, count, dayName, emptyState, field, fill, h, keyedList, sentence, timeOfDay, timeTag,
    } from "./ui.js";

    const longestTitle = 120;
    /** Characters; a message of the client has room for four bytes for each. */
    const longestText = 12_000;

    /** Milliseconds within which a change has come back on its map. */
    const heard = 400;

    const month = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric" });
    const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
    const today = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

    const greeting = (hour) => (hour < 5 ? "Good night" : hour < 12 ? "Good morning" : hour < 18 ? "Good afternoon"
      : "Good evening");

    const outboxes = new WeakMap();

    /** What was saved and is not on the server yet: one for each session, whichever app is open; kept in this window. */
    function outboxOf(session, channel) {
      const there = outboxes.get(session.client);
      if (there) return there;
      const name = `fanfare.demo.journal.waits.${session.user}`;
      const entries = new Map();
      const outbox = { entries, changed: () => {}, refused: () => {} };
      const keep = () => {
        if (entries.size > 0) sessionStorage.setItem(name, JSON.stringify([...entries]));
        else sessionStorage.removeItem(name);
        outbox.changed();
      };
      outbox.send = async (key, data) => {
        entries.set(key, data);
        keep();
        try {
          await persist(session, "map.set", { channel, key, data });
        } catch (error) {
          if (entries.get(key) === data) outbox.refused(key, data, error);
        }
        // The map may hear of it a moment after the answer. What was written over meanwhile is still to go out.
        setTimeout(() => {
          if (entries.get(key) === data) outbox.forget(key);
        }, heard);
      };
      outbox.forget = (key) => {
        entries.delete(key);
        keep();
      };
      outboxes.set(session.client, outbox);
      try {
        for (const [key, data] of JSON.parse(sessionStorage.getItem(name) ?? "[]")) outbox.send(key, data);
      } catch {
        sessionStorage.removeItem(name);
      }
      return outbox;
    }

    class Journal {
      #held = bag();
      #view = "list";
      #open = null;
      /** What is being written: { key, title, text, created, isNew }. Kept in this window until it is saved. */
      #draft = null;

      constructor(root, session) {
        this.root = root;
        this.session = session;
        this.draftName = `fanfare.demo.journal.${session.user}`;
        const channel = `journal:#${session.user}`;
        this.map = ownMap(session.client, channel, { order: "descending" });
        this.outbox = outboxOf(session, channel);
        this.outbox.changed = () => this.#draw();
        this.outbox.refused = (key, data, error) => this.#refused(key, data, error);
        this.#held.keep(() => { this.outbox.changed = () => {}; });
        this.#build();
        this.#held.keep(this.map.on("change", ({ key, removed }) => {
          if (removed && this.#view === "read" && this.#open === key) this.#showList("heading");
          else if (this.#view === "read" && this.#open === key) this.#showEntry(key, false);
          this.#draw();
        }));
        for (const name of ["subscribed", "unsubscribed", "error"]) this.#held.keep(this.map.on(name, () => this.#draw()));
        for (const name of ["connected", "connecting", "disconnected"]) {
          this.#held.keep(session.client.on(name, () => this.#draw()));
        }
        this.#held.keep(session.store.onChange(() => this.#draw()));
        this.#held.listen(window, "beforeunload", () => this.#keepDraft());
        this.#draft = this.#keptDraft();
        this.#showList();
      }

      unmount() {
        this.#keepDraft();
        this.map.unsubscribe();
        this.#held.end();
        fill(this.root);
      }

      #keptDraft() {
        try {
          const draft = JSON.parse(sessionStorage.getItem(this.draftName) ?? "null");
          return typeof draft?.key === "string" ? draft : null;
        } catch {
          return null;
        }
      }

      #keepDraft() {
        if (this.#draft && (this.#draft.title || this.#draft.text)) {
          sessionStorage.setItem(this.draftName, JSON.stringify(this.#draft));
        } else sessionStorage.removeItem(this.draftName);
      }

      #build() {
        this.date = h("p", { class: "journal-date" });
        this.heading = h("h1", { tabindex: "-1" });
        this.sum = h("p", { class: "soft" });
        const offline = offlineNote(this.session, "You are offline. You can read and write; what you save waits in this "
          + "window, and goes out as soon as you are back.");
        this.#held.keep(() => offline.end());
        this.goOn = button("Go on writing", () => this.#write(this.#draft), { hidden: true });
        this.new = button("New entry", () => this.#write(null), { kind: "primary" });
        this.list = h("ul", { class: "journal-list", "aria-label": "Entries, newest first" });
        this.rows = keyedList(this.list, {
          key: ({ key }) => key, make: (item) => (item.month ? this.#makeMonth(item) : this.#makeRow(item)),
          update: (row, entry) => row.show(entry),
        });
        this.empty = h("div", { class: "card journal-empty", hidden: true }, h("span", { class: "journal-leaf",
          "aria-hidden": true }, "📔"), emptyState("A page that only you can read",
          "What did you notice today? Write a line or a page. It is there on all your devices, and for nobody else.",
          button("Write the first entry", () => this.#write(null), { kind: "primary" })));
        this.home = h("div", { class: "stack" },
          h("div", { class: "row row-between journal-head" }, h("div", {}, this.date, this.heading, this.sum),
            h("div", { class: "row" }, this.goOn, this.new)), this.list, this.empty);
        this.page = h("div", { hidden: true });
        fill(this.root, h("div", { class: "journal stack" }, offline.element, this.home, this.page));
      }

      #makeMonth({ month: name }) {
        const row = h("li", { class: "journal-month" }, h("h2", {}, name));
        row.show = () => {};
        return row;
      }

      #makeRow({ key }) {
        const title = h("span", { class: "strong one-line" });
        const text = h("span", { class: "soft small journal-excerpt" });
        const [day, name] = [h("span", { class: "journal-number" }), h("span", { class: "small" })];
        const row = h("li", {}, h("button", {
          type: "button", class: "list-row", on: { click: () => this.#showEntry(key, true) },
        }, h("span", { class: "journal-day" }, day, name), h("span", { class: "journal-what grow" }, title, text)));
        row.show = ({ data }) => {
          const created = data?.created ?? 0;
          title.textContent = data?.title || "Without a title";
          const waits = this.outbox.entries.has(key) && this.session.client.connectionState !== "connected";
          text.textContent = `${waits ? "Waits to be sent. " : ""}${String(data?.text ?? "").slice(0, 240)}`;
          day.textContent = created ? String(new Date(created).getDate()) : "–";
          name.textContent = created ? weekday.format(created) : "";
        };
        return row;
      }

      /** An entry as it was written last, here or on another device. */
      #entry(key) { return this.outbox.entries.get(key) ?? this.map.view.get(key); }

      /** All entries by the day of writing, newest first: what was brought back has another place in the map. */
      #entries() {
        const all = new Map(this.map.view.entries());
        for (const [key, data] of this.outbox.entries) all.set(key, data);
        return [...all].map(([key, data]) => ({ key, data }))
          .sort((a, b) => (b.data?.created ?? 0) - (a.data?.created ?? 0));
      }

      #draw() {
        const { user } = this.session;
        this.date.textContent = today.format(Date.now());
        this.heading.textContent = `${greeting(new Date().getHours())}, ${nameOf(this.session, user)}`;
        const entries = this.#entries();
        this.sum.textContent = entries.length ? `${count(entries.length, "entry", "entries")}, for your eyes only` : "";
        const items = [];
        let last = "";
        for (const entry of entries) {
          const name = month.format(entry.data?.created ?? 0);
          if (name !== last) items.push({ key: `month ${name}`, month: name });
          last = name;
          items.push(entry);
        }
        this.rows.show(items);
        this.empty.hidden = entries.length > 0 || this.map.state !== "subscribed";
        // Until the map has come, nobody knows which of the two buttons is the right one: neither jumps away from a click.
        const isComing = entries.length === 0 && this.map.state === "subscribing"
          && this.session.client.connectionState === "connected";
        this.new.hidden = isComing || !this.empty.hidden;
        const hasDraft = this.#draft !== null && Boolean(this.#draft.title || this.#draft.text);
        this.goOn.hidden = !hasDraft;
      }

      #show(view) {
        this.#view = view;
        this.home.hidden = view !== "list";
        this.page.hidden = view === "list";
        if (view === "list") fill(this.page);
      }

      #showList(key) {
        this.#keepDraft();
        this.#open = null;
        this.#show("list");
        this.#draw();
        if (key) (this.rows.rows.get(key)?.querySelector("button") ?? this.heading).focus();
      }

      #showEntry(key, moves) {
        const data = this.#entry(key);
        if (!data) return;
        this.#open = key;
        this.#show("read");
        const heading = h("h1", { tabindex: "-1" }, data.title || "Without a title");
        const created = data.created ?? 0;
        const when = created ? `${dayName(created)}, ${timeOfDay(created)}` : "";
        fill(this.page, h("article", { class: "journal-entry card stack" },
          h("div", { class: "row row-between" }, button("← All entries", () => this.#showList(key), { kind: "quiet" }),
            h("div", { class: "row" }, button("Change", () => this.#write({ key, ...data, isNew: false })),
              button("Delete", () => this.#remove(key), { kind: "danger" }))),
          h("div", { class: "journal-paper stack" },
            h("p", { class: "soft small" }, created ? timeTag(created, when) : null,
              data.changed ? `, changed ${dayName(data.changed).toLocaleLowerCase()}` : null),
            heading, h("div", { class: "journal-text" }, String(data.text ?? "")))));
        if (moves) heading.focus();
      }

      #write(given) {
        // One draft at a time: what was begun is gone on with before another is.
        const begun = this.#draft && (this.#draft.title || this.#draft.text) ? this.#draft : null;
        if (begun && given?.key !== begun.key) announce("Here is what you had begun to write.");
        const draft = begun ?? { key: newKey(), title: "", text: "", isNew: true, ...given };
        this.#draft = draft;
        this.#show("write");
        const problem = h("p", { class: "field-error", role: "alert" });
        const typed = (part, value) => {
          draft[part] = value;
          // What was missing is there now.
          problem.textContent = "";
        };
        const title = field("Title", {
          maxlength: longestTitle, value: draft.title ?? "", autocomplete: "off",
          on: { input: ({ target }) => typed("title", target.value) },
        });
        const text = field("Text", {
          tag: "textarea", rows: 12, maxlength: longestText, value: draft.text ?? "",
          on: { input: ({ target }) => typed("text", target.value) },
        }, "Ctrl+Enter or ⌘+Enter saves. What you write stays in this window until it is saved.");
        const form = h("form", { class: "card stack journal-form", on: {
          submit: (event) => {
            event.preventDefault();
            this.#save(draft, problem, text.input);
          },
          keydown: (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
          },
        } }, h("h1", {}, draft.isNew ? "New entry" : "Change the entry"), title.element, text.element, problem,
        h("div", { class: "row" }, h("button", { type: "submit", class: "button button-primary" }, "Save"),
          button("Back", () => this.#leaveDraft(draft), { kind: "quiet" }),
          button("Throw away", () => this.#throwAway(draft), { kind: "quiet" })));
        fill(this.page, form);
        (draft.isNew && !draft.title ? title.input : text.input).focus();
      }

      #leaveDraft(draft) {
        const kept = this.#entry(draft.key);
        if (kept && kept.title === draft.title && kept.text === draft.text) this.#draft = null;
        this.#keepDraft();
        if (draft.isNew || !kept) this.#showList("heading"); else this.#showEntry(draft.key, true);
      }

      #throwAway(draft) {
        this.#draft = null;
        this.#showList("heading");
        if (!draft.title && !draft.text) return;
        this.session.toast("What you had begun is thrown away.", {
          undo: () => {
            this.#draft = draft;
            this.#keepDraft();
            if (this.home.isConnected) this.#write(draft);
          },
        });
      }

      #save(draft, problem, input) {
        if (!draft.title.trim() && !draft.text.trim()) {
          problem.textContent = "Write a title or a text first.";
          return input.focus();
        }
        const now = Date.now();
        const data = {
          title: draft.title.trim(), text: draft.text, created: draft.created ?? now,
          changed: draft.isNew ? undefined : now,
        };
        const isOn = this.session.client.connectionState === "connected";
        this.outbox.send(draft.key, data);
        this.#draft = null;
        this.#keepDraft();
        announce(isOn ? "Saved." : "Kept in this window. It goes out as soon as you are back.");
        this.#showList(draft.key);
      }

      /** What the server did not take is a draft again. */
      #refused(key, data, error) {
        this.session.toast(`“${data.title || "Without a title"}” is not saved: ${sentence(error)}`);
        if (this.#draft?.title || this.#draft?.text) return;
        this.#draft = { key, ...data, isNew: !this.map.view.has(key) };
        this.#keepDraft();
        this.#draw();
      }

      async #remove(key) {
        const data = this.#entry(key);
        if (!data) return;
        const { channel } = this.map;
        this.outbox.forget(key);
        try {
          await persist(this.session, "map.remove", { channel, key }, () => this.session.toast(
            "You are offline. It is deleted as soon as you are back."));
        } catch (error) {
          return this.session.toast(`Not deleted: ${sentence(error)}`);
        }
        if (this.#open === key) this.#showList("heading");
        this.session.toast(`“${data.title || "Without a title"}” is deleted.`,
          { undo: () => { this.outbox.send(key, data); } });
      }
    }

    /** Shows the journal in `root`. */
    export function mount(root, session) {
      const app = new Journal(root, session);
      return { unmount: () => app.unmount() };
    }

    """##

  private static let demo24 = ##"""
    // What State, Six to Eight, Favorites and the journal share: what somebody is called, how one is found, and changes of
    // a person's own maps that wait for the connection.

    import { avatar, field, fill, h, rested, sentence, uniqueId } from "./ui.js";

    const idLike = /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u;
    const mostFound = 8;

    /** The id that a name has here: in lower case, with `-` between its words. */
    export const idOf = (name) => name.trim().toLocaleLowerCase().replace(/[\s']+/gu, "-");

    /** An id as a name, where nobody has told a better one: "mary-ann" is "Mary Ann". */
    export function readable(user) {
      return String(user).split("-").filter(Boolean)
        .map((word) => word.replace(/^./u, (letter) => letter.toLocaleUpperCase())).join(" ") || String(user);
    }

    /** What somebody is called: as Clique knows them, or else as the id reads. */
    export function nameOf({ store }, user) {
      const name = store.nameOf(user);
      return name === user ? readable(user) : name;
    }

    /** People whose name or id has `text` in it: those of Clique first, and whoever else has exactly that name. */
    async function find(session, text) {
      const { client, store, user: me } = session;
      const wanted = text.toLocaleLowerCase();
      const fits = ({ user, name = "" }) => `${name} ${user}`.toLocaleLowerCase().includes(wanted);
      let others = [];
      try {
        if (text && client.connectionState === "connected") {
          others = await client.clique.findPeople(text, { limit: mostFound });
        }
      } catch {
        // Those whom one knows, and the name as it was typed, are offered all the same.
      }
      const users = new Set([...[...store.people.view.values()].filter(fits), ...others].map(({ user }) => user));
      const id = idOf(text);
      if (text && idLike.test(id)) users.add(id);
      users.delete(me);
      return [...users];
    }

    /**
     * A field that finds people while one types: `choose(user, name)` is called with whom was chosen. `leaves(user)` says
     * whom to leave out. Gives `{ element, input, clear(), end() }`.
     */
    export function picker(session, { label, help = "", verb, choose, leaves = () => false }) {
      const found = h("ul", { class: "picker-found", "aria-label": "People found", id: uniqueId("found") });
      const status = h("p", { class: "field-help", role: "status" });
      let asked = 0;
      const clear = () => {
        asked += 1;
        search.cancel();
        input.value = "";
        status.textContent = "";
        fill(found);
      };
      const run = async (text) => {
        const mine = asked += 1;
        const users = (await find(session, text)).filter((user) => !leaves(user)).slice(0, mostFound);
        if (mine !== asked || !element.isConnected) return;
        fill(found, users.map((user) => {
          const name = nameOf(session, user);
          const picture = avatar(user, name, "small");
          session.store.showPicture(picture, user);
          picture.rename(name);
          return h("li", {}, h("button", {
            type: "button", class: "picker-person", "aria-label": `${verb} ${name}`, on: {
              click: () => {
                clear();
                choose(user, name);
              },
            },
          }, picture, h("span", {}, name)));
        }));
        status.textContent = text && users.length === 0 ? "Nobody else is called that." : "";
      };
      const search = rested(run, 200);
      const look = () => search(input.value.trim());
      const { element: row, input } = field(label, {
        type: "search", autocomplete: "off", placeholder: "A name", spellcheck: "false", on: { input: look, focus: look },
      }, help);
      const element = h("form", { class: "picker", role: "search", "aria-label": label, on: {
        submit: async (event) => {
          event.preventDefault();
          if (!input.value.trim()) return input.focus();
          // Enter right after the last letter: what is typed is looked for first.
          search.cancel();
          await run(input.value.trim());
          found.querySelector("button")?.click();
        },
      } }, row, status, found);
      return { element, input, clear, end: () => search.cancel() };
    }

    /**
     * Calls a method that changes nothing when it is said twice, once there is a connection. `session.waits` counts it
     * while it waits; `later()` is called where it does. Throws what the server refused.
     */
    export async function persist(session, method, data, later) {
      const { client } = session;
      if (client.connectionState !== "connected") later?.();
      const sent = session.waits();
      try {
        for (let attempt = 0; ; attempt += 1) {
          try {
            await client.ready();
            return await client.rpc(method, data);
          } catch (error) {
            if (attempt >= 5 || (!error.temporary && client.connectionState === "connected")) throw error;
          }
        }
      } finally {
        sent();
      }
    }

    /** The map of a person's own, subscribed to once however often its app is opened. */
    export function ownMap(client, channel, options) {
      const there = client.subscription(channel);
      return there && there.state !== "unsubscribed" ? there : client.map(channel, options);
    }

    /** Says in a toast why something was not done. */
    export async function attempt(session, f, failed) {
      try {
        await f();
        return true;
      } catch (error) {
        session.toast(`${failed}: ${sentence(error)}`);
        return false;
      }
    }

    /** A card beside an app, open or closed, with a button that says so. */
    export function settings(...children) {
      return h("details", { class: "card side-settings" }, h("summary", {}, "Settings"), children);
    }

    /** The bar that says what a lost connection means for this app; `show()` after each change of the connection. */
    export function offlineNote(session, text) {
      const element = h("p", { class: "note note-warn", role: "status", hidden: true });
      const show = () => {
        const isOn = session.client.connectionState === "connected";
        element.hidden = isOn;
        const said = isOn ? "" : text;
        if (element.textContent !== said) element.textContent = said;
      };
      const offs = ["connected", "connecting", "disconnected"].map((name) => session.client.on(name, show));
      show();
      return { element, end: () => offs.forEach((off) => off()) };
    }

    """##

  private static let demo25 = ##"""
    // The server's time. It is this device's, as far as nobody has said otherwise: a command that is answered with the time
    // tells it, a publication tells that it is no earlier, and on test servers (`demo.clock`) somebody moves it forward.

    import { button, fullTime, h, rested, sentence, serverNow, setServerNow } from "./ui.js";

    const minute = 60_000;
    const hour = 60 * minute;
    const steps = [["1 minute", minute], ["1 hour", hour], ["23 hours", 23 * hour], ["1 day", 24 * hour]];
    const address = new URL("clock", import.meta.url);

    /** Asks what time it is on the server, and keeps to it from then on. Where it cannot be asked, nothing changes. */
    export async function learnServerTime() {
      try {
        const answer = await fetch(address, { cache: "no-store" });
        if (answer.ok) setServerNow((await answer.json()).now);
      } catch {
        // The page says already that there is no connection.
      }
    }

    /** Begins with what the configuration says of the clock, and asks again whenever somebody comes back to this window. */
    export function watchServerTime({ clock, offset }) {
      if (!clock) return;
      setServerNow(Date.now() + (offset ?? 0));
      addEventListener("focus", learnServerTime);
    }

    /** What an app knows of the time. `changed()` is called when it has changed by more than time does. */
    export class ServerClock {
      constructor(session, changed) {
        this.session = session;
        this.changed = changed;
        this.canMove = Boolean(session.demo?.clock);
        const learn = rested(() => learnServerTime().then(changed), 300);
        /** Something has happened for which the clock may have been moved, in another window perhaps. */
        this.ask = () => {
          if (this.canMove) learn();
        };
        this.end = () => learn.cancel();
      }

      now() { return serverNow(); }

      /** The server has just said what time it is. */
      told(now) {
        if (now > 0) setServerNow(now);
      }

      /** Something was published at this time. What is read of the past says nothing of now. */
      heard(time) {
        if (time > serverNow()) setServerNow(time);
      }

      async #move(milliseconds, shown) {
        try {
          const answer = await this.session.ask(address, {
            method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ advance: milliseconds }),
          });
          const body = await answer.json().catch(() => ({}));
          if (!answer.ok) throw new Error(body.message ?? `the server answered with status ${answer.status}; try again`);
          this.told(body.now);
          shown.textContent = `The server's clock: ${fullTime(this.now())}.`;
          this.changed();
        } catch (error) {
          shown.textContent = sentence(error);
        }
      }

      /** Test servers only: makes time pass, for all people of the server. Nothing elsewhere. */
      controls() {
        if (!this.canMove) return null;
        const shown = h("p", { role: "status" });
        return h("section", { class: "state-clock card", "aria-label": "Clock of the server" },
          h("h2", {}, "See a day pass"),
          h("p", {}, "This is a test server: its clock can be moved forward, for everybody at once."),
          h("div", { class: "row" },
            steps.map(([text, time]) => button(`+ ${text}`, () => this.#move(time, shown)))), shown);
      }
    }

    """##

  private static let demo26 = ##"""
    // The frame of the demo: who somebody is, whether there is a connection, and which app is on the screen.
    //
    //   What the person sees     when                                         leads to
    //   sign-in                  nobody is signed in in this window           connecting
    //   connecting               signed in, the first connection is made      connected, refused
    //   connected                                                             lost, signed out
    //   lost                     a connection was there; it is tried again    connected, refused
    //   refused                  the server has ended it for good             connecting (by the button), signed out
    //
    // An app is `./NAME.js` with `mount(root, session)`, which gives `{ unmount(), route?(parts) }`: `route` hears of
    // changes of the address within the app, `#/clique/chat/p3f` as ["chat", "p3f"]. Its style is `./NAME.css`, if any.

    import * as fanfare from "../fanfare.js";
    import { announce, avatar, button, count, field, fill, h, newsText, sentence } from "./ui.js";
    import { storeOf } from "./clique-store.js";
    import { watchServerTime } from "./server-clock.js";
    import { watchState } from "./state-news.js";

    const here = (path) => new URL(path, import.meta.url);
    const element = (id) => document.getElementById(id);
    const kept = "fanfare.demo.session";
    const titles = {
      clique: "Clique", state: "State", sites: "Six to Eight", favorites: "Favorites", journal: "Idealic",
      busy: "Busy channel",
    };
    const suggestions = ["Ada", "Ben", "Cleo", "Dan", "Eve"];

    let session = null;
    let demo = { server: "", clock: false, apps: Object.keys(titles) };
    let mounted = null;
    let openApp = "";
    let opening = 0;

    // Signing in

    function keep(answer) {
      const { user, name, token } = answer;
      const value = { user, name, token, ends: Date.now() + answer.expires_in * 1000 };
      sessionStorage.setItem(kept, JSON.stringify(value));
      return value;
    }

    function keptSession() {
      try {
        return JSON.parse(sessionStorage.getItem(kept) ?? "null");
      } catch {
        return null;
      }
    }

    /** A token for this name. Throws `TokenRefused` where there will be none, any other error where it may come later. */
    async function askForToken(name) {
      const answer = await fetch(here("sign-in"), {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name }),
      });
      const body = await answer.json().catch(() => ({}));
      if (answer.ok) return keep(body);
      const message = body.message || `The server answered with status ${answer.status}; try again in a moment.`;
      const isFinal = answer.status >= 400 && answer.status < 500 && answer.status !== 429 && answer.status !== 408;
      throw isFinal ? new fanfare.TokenRefused(message) : new Error(message);
    }

    function showSignIn() {
      document.title = "Fanfare demo";
      const name = field("Your name", {
        name: "name", maxlength: 40, autocomplete: "off", autocapitalize: "words", required: true, spellcheck: "false",
      }, "As others see it.");
      const problem = h("p", { class: "field-error", role: "alert" });
      const go = h("button", { type: "submit", class: "button button-primary" }, "Start");
      const start = async (text) => {
        if (!text.trim()) {
          problem.textContent = "Write a name, or choose one of those below.";
          return name.input.focus();
        }
        go.disabled = true;
        problem.textContent = "";
        try {
          begin(await askForToken(text.trim()));
        } catch (error) {
          const offline = error instanceof TypeError;
          problem.textContent = offline ? "The server cannot be reached. Is it running? Try again." : sentence(error);
          go.disabled = false;
        }
      };
      const form = h("form", { class: "card stack", novalidate: true, on: {
        submit: (event) => {
          event.preventDefault();
          start(name.input.value);
        },
      } },
      h("h1", {}, "Who are you?"),
      h("p", { class: "soft" }, "Open this page in two windows and be somebody else in each: then write to yourself."),
      name.element, problem, go,
      h("div", { class: "names", role: "group", "aria-label": "Names to choose from" },
        suggestions.map((one) => button([avatar(one.toLowerCase(), one, "small"), one], () => start(one)))),
      h("p", { class: "note note-warn" },
        "This is a demo: there are no passwords, and anybody can be anybody. Write nothing here that is a secret."));
      fill(element("main"), h("div", { class: "welcome" }, form));
      name.input.focus();
    }

    function signOut() {
      sessionStorage.removeItem(kept);
      closeApp();
      session?.client.disconnect();
      session = null;
      element("tabs").hidden = element("me").hidden = true;
      element("connection").hidden = true;
      element("toasts").replaceChildren();
      showSignIn();
    }

    function begin(who) {
      let isFresh = who.ends - Date.now() > 60_000;
      const client = new fanfare.Fanfare(here("../connection/websocket"), {
        user: who.user, name: "demo",
        getToken: async () => {
          if (isFresh) {
            isFresh = false;
            return who.token;
          }
          return (await askForToken(who.name)).token;
        },
      });
      const waiting = new Set();
      session = {
        user: who.user, name: who.name, client, fanfare, demo, toast,
        navigate: (hash) => {
          location.hash = hash;
        },
        /** Asks the server in this person's name, as `fetch` does. */
        ask: async (address, init = {}) => {
          const request = (token) =>
            fetch(address, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } });
          let current = keptSession();
          if (!current?.token || current.ends - Date.now() < 60_000) current = await askForToken(who.name);
          const answer = await request(current.token);
          // The token may be of a server that has begun anew since.
          return answer.status === 401 ? request((await askForToken(who.name)).token) : answer;
        },
        /** Says that something waits to be sent; call what it gives when it was sent, or has failed. */
        waits: () => {
          const one = {};
          waiting.add(one);
          showConnection();
          return () => {
            waiting.delete(one);
            showConnection();
          };
        },
        get waiting() {
          return waiting.size;
        },
      };
      watchConnection(client);
      client.connect();
      session.store = storeOf(session);
      session.store.onChange(showBadges);
      session.news = watchState(session, element("tabs").querySelector('[data-app="state"]'));
      showMe();
      element("tabs").hidden = false;
      showRoute();
      nameProfile(session).catch((error) => toast(`Your name could not be shown to others: ${sentence(error)}`));
    }

    /** Somebody's first window makes the name that was typed their profile's; later it is theirs to change. */
    async function nameProfile({ client, name }) {
      const profile = client.clique.profile();
      await profile.ready();
      if (!profile.view.get("profile")?.name) await client.clique.setProfile({ name });
    }

    function showMe() {
      const { store, user } = session;
      const picture = avatar(user, session.name, "small");
      const name = h("span", { class: "one-line strong" }, session.name);
      const profile = h("a", { class: "button button-small", href: `#/clique/person/${encodeURIComponent(user)}` },
        picture, h("span", { class: "visually-hidden" }, "Your profile: "), name);
      const show = () => {
        name.textContent = store.nameOf(user);
        picture.rename(name.textContent);
        store.showPicture(picture, user);
      };
      store.onChange(show);
      show();
      fill(element("me"), profile,
        button("Sign out", leave, { class: "button button-small button-quiet" }));
      element("me").hidden = false;
    }

    function leave() {
      if (session.waiting > 0) {
        return toast(`${count(session.waiting, "message")} not sent yet. Wait for the connection, or close the window.`);
      }
      signOut();
    }

    // The connection

    let hasConnected = false;
    let wasLost = false;
    let hideTimer = 0;
    let ended = null;

    function watchConnection(client) {
      hasConnected = wasLost = false;
      ended = null;
      client.on("connecting", () => {
        ended = null;
        wasLost = hasConnected;
        // A connection that comes within a moment is nothing to tell of.
        setTimeout(showConnection, 1200);
      });
      client.on("connected", () => {
        hasConnected = true;
        showConnection();
      });
      client.on("disconnected", (event) => {
        if (session?.client !== client) return;
        ended = event;
        showConnection();
      });
    }

    /** Signs the same person in again: the token may be what the server does not like. */
    async function restart() {
      const { client, name } = session;
      try {
        const who = await askForToken(name);
        if (session?.client !== client) return;
        closeApp();
        client.disconnect();
        begin(who);
      } catch (error) {
        showConnection();
        toast(sentence(error));
      }
    }

    function connectionText(waiting) {
      const many = waiting === 1 ? "waits in this window and goes" : "wait in this window and go";
      const what = waiting > 0
        ? `${count(waiting, "message")} of yours ${many} out when it is back. Nothing is lost.`
        : "What you write waits in this window and goes out when it is back.";
      return wasLost ? `No connection. ${what}` : `Connecting… ${waiting > 0 ? what : ""}`;
    }

    function showConnection() {
      const bar = element("connection");
      if (!session) return;
      const { connectionState } = session.client;
      if (connectionState === "connected") {
        if (bar.hidden || bar.dataset.state === "back") return;
        bar.dataset.state = "back";
        bar.textContent = session.waiting > 0 ? "Connected again. What waited is being sent." : "Connected again.";
        clearTimeout(hideTimer);
        hideTimer = setTimeout(() => {
          bar.hidden = true;
          bar.dataset.state = "";
        }, 3000);
        return;
      }
      clearTimeout(hideTimer);
      if (ended) {
        bar.dataset.state = "lost";
        const text = ended.reason ? sentence({ message: ended.reason }) : "The server has ended the connection";
        fill(bar, `${text.replace(/\.$/u, "")}. `, button("Connect again", restart, { class: "button button-small" }));
      } else {
        bar.dataset.state = wasLost ? "lost" : "connecting";
        const text = connectionText(session.waiting);
        if (bar.textContent !== text) bar.textContent = text;
      }
      bar.hidden = false;
    }

    // Toasts

    /** Says something for a while. `undo` is called where the person takes it back; the last three stay. */
    function toast(text, { undo, label = "Undo", time = undo ? 9000 : 5000 } = {}) {
      const place = element("toasts");
      let timer = 0;
      const end = () => {
        clearTimeout(timer);
        box.remove();
      };
      const start = () => {
        clearTimeout(timer);
        timer = setTimeout(end, time);
      };
      const box = h("div", { class: "toast", role: "group", "aria-label": "Notice", on: {
        mouseenter: () => clearTimeout(timer), mouseleave: start, focusin: () => clearTimeout(timer), focusout: start,
        keydown: (event) => {
          if (event.key === "Escape") end();
        },
      } },
      h("span", { class: "grow" }, text),
      undo ? button(label, () => {
        end();
        undo();
      }, { class: "button button-small" }) : null,
      button("✕", end, { class: "button button-icon", label: "Close this notice" }));
      place.append(box);
      while (place.children.length > 3) place.firstElementChild.remove();
      announce(undo ? `${text} ${label} is at the end of the page.` : text);
      start();
      return end;
    }

    // Which app is open

    function closeApp() {
      opening += 1;
      try {
        mounted?.unmount();
      } catch (error) {
        reportError(error);
      }
      mounted = null;
      openApp = "";
    }

    function routeOf(hash) {
      const parts = hash.replace(/^#\/?/u, "").split("/").filter(Boolean).map((part) => {
        try {
          return decodeURIComponent(part);
        } catch {
          return part;
        }
      });
      const app = demo.apps.includes(parts[0]) ? parts[0] : demo.apps[0];
      return { app, parts: parts.slice(1) };
    }

    /** Settles when the style is there, or is not to be had: an app without one still works. */
    function loadStyle(app) {
      if (document.querySelector(`link[data-app="${app}"]`)) return Promise.resolve();
      return new Promise((resolve) => {
        const link = h("link", { rel: "stylesheet", href: here(`${app}.css`).href, dataset: { app }, on: {
          load: resolve, error: resolve,
        } });
        document.head.append(link);
      });
    }

    async function showRoute() {
      if (!session) return;
      const { app, parts } = routeOf(location.hash);
      for (const link of element("tabs").querySelectorAll("a")) {
        link.hidden = !demo.apps.includes(link.dataset.app);
        if (link.dataset.app === app) {
          link.setAttribute("aria-current", "page");
          link.scrollIntoView({ block: "nearest", inline: "nearest" });
        } else {
          link.removeAttribute("aria-current");
        }
      }
      if (app === openApp) return mounted?.route?.(parts);
      const isFirst = openApp === "";
      closeApp();
      openApp = app;
      const mine = opening;
      const main = element("main");
      fill(main, h("p", { class: "empty" }, `Opening ${titles[app] ?? app}…`));
      try {
        const [module] = await Promise.all([import(`./${app}.js`), loadStyle(app)]);
        if (mine !== opening) return;
        const root = h("div", { class: `app app-${app}` });
        fill(main, root);
        mounted = module.mount(root, session);
        // The address may have gone on while the app was loading.
        mounted.route?.(routeOf(location.hash).parts);
      } catch (error) {
        if (mine !== opening) return;
        openApp = "";
        reportError(error);
        fill(main, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "This app did not open"),
          h("p", {}, sentence(error)), h("div", {}, button("Try again", showRoute, { kind: "primary" }))));
        return;
      }
      showBadges();
      if (!isFirst) {
        main.focus({ preventScroll: true });
        announce(titles[app] ?? app);
      }
    }

    function showBadges() {
      if (!session) return;
      const { messages = 0, requests = 0 } = session.store.totals();
      const sum = messages + requests;
      const tab = element("tabs").querySelector('[data-app="clique"]');
      const text = sum > 99 ? "99+" : String(sum);
      const said = sum > 0 ? [" ", h("span", { class: "badge", "aria-hidden": true }, text),
        h("span", { class: "visually-hidden" }, `, ${newsText(messages, requests)}`)] : [];
      if (tab.dataset.sum !== `${messages}/${requests}`) {
        tab.dataset.sum = `${messages}/${requests}`;
        fill(tab, "Clique", said);
      }
      document.title = `${sum > 0 ? `(${text}) ` : ""}${titles[openApp] ?? "Fanfare"} – Fanfare demo`;
    }

    async function start() {
      addEventListener("hashchange", showRoute);
      element("skip").addEventListener("click", (event) => {
        // The address belongs to the apps.
        event.preventDefault();
        element("main").focus();
      });
      addEventListener("beforeunload", (event) => {
        if (session && session.waiting > 0) event.preventDefault();
      });
      try {
        const answer = await fetch(here("config"));
        if (answer.ok) demo = { ...demo, ...await answer.json() };
        watchServerTime(demo);
      } catch {
        // Signing in says what is wrong, where the server cannot be reached.
      }
      const who = keptSession();
      if (who?.user && who.token) begin(who); else showSignIn();
    }

    start();

    """##

  private static let demo27 = ##"""
    // One site of Six to Eight on the screen: what was said there, what is said now, and a field to say something.
    //
    // | state       | what is seen                             | leads to                                             |
    // |-------------|------------------------------------------|------------------------------------------------------|
    // | subscribing | the last posts, if any, and that it loads | reading, refused                                    |
    // | reading     | posts, newest first, as they come        | subscribing: another person is followed, or offline  |
    // | refused     | why                                      | subscribing: another person is followed              |

    import { filter, newKey } from "../fanfare.js";
    import { avatar, bag, button, fill, h, keyedList, sentence, timeTag, uniqueId } from "./ui.js";

    export const sites = {
      harbour: ["⚓", "The harbour"], library: ["📚", "The library"], market: ["🧺", "The market"],
      observatory: ["🔭", "The observatory"], garden: ["🌿", "The garden"], theatre: ["🎭", "The theatre"],
      workshop: ["🔧", "The workshop"], station: ["🚉", "The station"],
    };
    export const siteName = (site) => sites[site]?.[1] ?? site;
    /** Within a sentence. */
    export const siteIn = (site) => siteName(site).replace(/^The/u, "the");

    /** Posts that are kept on the page, and read from the history. */
    export const mostPosts = 200;

    export class Column {
      #held = bag();
      #posts = new Map();
      #pending = new Map();
      #subscription = null;
      #isLoading = false;
      person = null;

      /** `app` has `session`, `nameOf`, `learnWriters`, `follow(site, person)`, `change(site)` and `remove(site)`. */
      constructor(app, site) {
        this.app = app;
        this.client = app.session.client;
        this.site = site;
        this.channel = `sites:${site}`;
        const name = siteName(site);
        this.whom = h("p", { class: "small" });
        this.note = h("p", { class: "soft small sites-note", role: "status" });
        const list = h("ol", { class: "sites-posts", tabindex: "0", "aria-label": `Posts of ${siteIn(site)}` });
        this.rows = keyedList(list, {
          key: ({ key, offset }) => key ?? offset,
          make: (post) => (post.key ? this.#makePending(post) : this.#makePost(post)),
        });
        const input = h("input", {
          class: "input", id: uniqueId("post"), maxlength: 1000, autocomplete: "off", placeholder: "Write here",
          "aria-label": `Write at ${siteIn(site)}`,
        });
        const form = h("form", { class: "sites-write", on: {
          submit: (event) => {
            event.preventDefault();
            this.#write(input);
          },
        } }, input, h("button", { type: "submit", class: "button" }, "Post"));
        this.element = h("li", { class: "sites-column card" }, h("div", { class: "sites-head" },
          h("span", { class: "sites-sign", "aria-hidden": true }, sites[site]?.[0] ?? "•"),
          h("div", { class: "grow" }, h("h2", {}, name), this.whom),
          button("✎", () => app.change(site), { kind: "icon", label: `Change what you read at ${siteIn(site)}` }),
          button("✕", () => app.remove(site), { kind: "icon", label: `Leave ${siteIn(site)}` })), form, this.note, list);
      }

      show(person) {
        if (this.person === person) return;
        this.person = person;
        fill(this.whom, person ? [h("span", { class: "chip" }, `Only ${this.app.nameOf(person)}`), " ",
          button("Everybody", () => this.app.follow(this.site, ""), { class: "sites-link", label: "Read everybody again" })]
          : h("span", { class: "soft" }, "Everybody"));
        this.#close();
        this.#posts.clear();
        this.#draw();
        const options = { recover: true, ...(person ? { filter: filter.eq("user", person) } : {}) };
        const there = this.client.subscription(this.channel);
        if (there && there.state !== "unsubscribed") there.unsubscribe();
        const mine = this.#subscription = this.client.subscribe(this.channel, options);
        this.#isLoading = true;
        this.#held.keep(mine.on("publication", (post) => this.#take([post])));
        this.#held.keep(mine.on("subscribed", ({ wasRecovering, recovered }) => {
          if (wasRecovering && recovered) this.#sayState(); else this.#load(mine);
        }));
        this.#held.keep(mine.on("subscribing", () => this.#sayState()));
        this.#held.keep(mine.on("unsubscribed", ({ reason }) => { this.note.textContent = `Not subscribed: ${reason}`; }));
        this.#held.keep(mine.on("error", ({ error }) => { this.note.textContent = sentence(error); }));
        this.#sayState();
      }

      #close() {
        this.#held.end();
        this.#subscription?.unsubscribe();
        this.#subscription = null;
      }

      end() {
        this.#close();
        this.element.remove();
      }

      async #load(mine) {
        try {
          // The history is not filtered: what others have written also says who writes here.
          const { publications } = await mine.history({ limit: mostPosts, reverse: true });
          if (mine !== this.#subscription) return;
          this.#isLoading = false;
          this.app.learnWriters(this.site, publications, true);
          this.#take(publications.filter(({ info }) => !this.person || info?.user === this.person));
        } catch (error) {
          if (mine === this.#subscription) this.note.textContent = sentence(error);
        }
      }

      #take(publications) {
        this.app.learnWriters(this.site, publications);
        for (const post of publications) {
          if (post.tags.deletes) this.#posts.delete(Number(post.tags.deletes));
          else if (!post.tags.edits && typeof post.data?.text === "string") this.#posts.set(post.offset, post);
        }
        const newest = [...this.#posts.values()].sort((a, b) => b.offset - a.offset).slice(0, mostPosts);
        this.#posts = new Map(newest.map((post) => [post.offset, post]));
        this.#draw();
      }

      #draw() {
        this.rows.show([...[...this.#pending.values()].reverse(), ...this.#posts.values()]);
        this.#sayState();
      }

      #sayState() {
        const isOn = this.#subscription?.state === "subscribed";
        const text = !isOn && this.client.connectionState !== "connected"
          ? "Offline. What others write meanwhile comes when you are back."
          : !isOn || this.#isLoading ? "Loading …" : this.#posts.size + this.#pending.size > 0 ? ""
            : this.person ? `${this.app.nameOf(this.person)} has not written here yet. What they write comes at once.`
              : "Nobody has written here yet. Be the first.";
        if (this.note.textContent !== text) this.note.textContent = text;
      }

      #makePost({ info, data, time }) {
        const user = info?.user ?? "";
        const name = this.app.nameOf(user);
        const picture = avatar(user, name, "small");
        this.app.session.store.showPicture(picture, user);
        picture.rename(name);
        const author = user === this.app.session.user || this.person ? h("strong", {}, name)
          : button(name, () => this.app.follow(this.site, user), {
            class: "sites-link", label: `${name}: follow only them at ${siteIn(this.site)}`, title: `Follow only ${name}`,
          });
        return h("li", { class: "sites-post" }, picture, h("div", { class: "grow" },
          h("div", { class: "row small" }, author, time ? timeTag(time, undefined, { class: "soft" }) : null),
          h("p", {}, data.text)));
      }

      #makePending({ text }) {
        const { user } = this.app.session;
        return h("li", { class: "sites-post is-pending" }, avatar(user, this.app.nameOf(user), "small"),
          h("div", { class: "grow" }, h("div", { class: "row small" }, h("strong", {}, this.app.nameOf(user)),
            h("span", { class: "soft" }, "waits to be sent")), h("p", {}, text)));
      }

      /** It waits in the client for the connection, and is published once however often it is said. */
      async #write(input) {
        const text = input.value.trim();
        if (!text) return;
        input.value = "";
        const key = newKey();
        const { session } = this.app;
        // What goes out at once is not shown as waiting: the post itself is there before one could read that.
        const timer = setTimeout(() => {
          this.#pending.set(key, { key, text });
          this.#draw();
        }, this.client.connectionState === "connected" ? 800 : 0);
        const sent = session.waits();
        try {
          await this.client.publish(this.channel, { text }, { key });
          if (this.person && this.person !== session.user) {
            session.toast(`Posted. You read only ${this.app.nameOf(this.person)} here, so you do not see it.`);
          }
        } catch (error) {
          if (!input.value) input.value = text;
          session.toast(`Not posted: ${sentence(error)}`);
        } finally {
          clearTimeout(timer);
          this.#pending.delete(key);
          this.#draw();
          sent();
        }
      }
    }

    """##

  private static let demo28 = ##"""
    /* Six to Eight. */

    .sites-form .field-help:empty { display: none; }
    .sites-columns { display: grid; gap: var(--space-4); align-items: start;
      grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); }
    .sites-column { display: flex; flex-direction: column; gap: var(--space-3); min-width: 0; }
    .sites-head { display: flex; align-items: center; gap: var(--space-2); }
    .sites-head h2 { overflow-wrap: break-word; }
    .sites-head .button { width: 2.5rem; min-height: 2.5rem; }
    .sites-sign { display: grid; place-items: center; width: 2.75rem; height: 2.75rem; flex: none; font-size: 1.5rem;
      border-radius: var(--radius-small); background: var(--accent-soft); }
    .sites-link { padding: 0; border: 0; background: none; color: var(--accent); font: inherit; font-weight: 650;
      cursor: pointer; }
    .sites-link:hover { text-decoration: underline; }
    .sites-posts { display: flex; flex-direction: column; gap: var(--space-3); min-width: 0; overflow-y: auto;
      max-height: max(16rem, calc(100dvh - 22rem)); overscroll-behavior: contain; padding-block: var(--space-1); }
    .sites-posts:empty, .sites-note:empty { display: none; }
    .sites-post { display: flex; gap: var(--space-2); }
    .sites-post p { white-space: pre-wrap; }
    .sites-post.is-pending p { font-style: italic; }
    .sites-write { display: flex; gap: var(--space-2); }
    .sites-write .button { flex: none; }
    .sites-empty { display: flex; flex-direction: column; align-items: center; gap: var(--space-4); text-align: center;
      padding: var(--space-6) var(--space-4); }
    .sites-empty h2 { font-size: var(--title); }

    @media (prefers-reduced-motion: no-preference) {
      .sites-post { animation: rise 0.18s ease-out; }
    }

    """##

  private static let demo29 = ##"""
    // Six to Eight: a reader of many sites. A site is a channel in which everybody may write; who follows one person there
    // has the server filter on the publisher. The choices of a person are a map channel, on all devices. Nothing waits for
    // anything else: the form is ready at once, each column says by itself what it is doing.

    import { attempt, idOf, nameOf, offlineNote, ownMap, persist } from "./people.js";
    import { Column, mostPosts, siteIn, siteName, sites } from "./sites-column.js";
    import { announce, bag, button, field, fill, h, uniqueId } from "./ui.js";

    const nobody = "";
    /** Writers of a site that are remembered, and those of them that are offered. */
    const [mostWriters, mostOffered] = [200, 8];

    /** Who is followed at another site: the same person where they write there, or where nobody knows whether they do. */
    export const keptPerson = (person, writers) => (!writers || writers.has(person) ? person : nobody);

    class Sites {
      #held = bag();
      #columns = new Map();
      /** By site, those whose posts have come; `known` where the site's history was read. */
      #writers = new Map();
      #known = new Set();
      #looked = new Set();
      /** Whom the person wants to follow, whatever site is chosen. */
      #wanted = nobody;

      constructor(root, session) {
        this.root = root;
        this.session = session;
        this.client = session.client;
        this.choiceChannel = `site-choice:#${session.user}`;
        this.choices = ownMap(this.client, this.choiceChannel, { order: "ascending" });
        this.#build();
        for (const name of ["change", "subscribed"]) this.#held.keep(this.choices.on(name, () => this.#later()));
        this.#draw();
      }

      unmount() {
        this.#held.end();
        for (const column of this.#columns.values()) column.end();
        this.#columns.clear();
        this.choices.unsubscribe();
        fill(this.root);
      }

      nameOf(user) { return nameOf(this.session, user); }

      /** `isAll`: these are all who are kept there, and not only who writes now. */
      learnWriters(site, publications, isAll = false) {
        const known = this.#writers.get(site) ?? new Set();
        const before = known.size;
        for (const { info } of publications) if (info?.user && known.size < mostWriters) known.add(info.user);
        this.#writers.set(site, known);
        const isNews = known.size > before || (isAll && !this.#known.has(site));
        if (isAll) this.#known.add(site);
        if (isNews && site === this.site.value) this.#suggest();
      }

      #build() {
        const site = field("Site", {
          tag: "select", children: Object.entries(sites).map(([value, [sign, text]]) => h("option", { value },
            `${sign} ${text}`)),
          on: { change: () => this.#switched() },
        });
        this.site = site.input;
        const list = h("datalist", { id: uniqueId("writers") });
        this.known = list;
        const person = field("Follow only (optional)", {
          list: list.id, autocomplete: "off", maxlength: 60, placeholder: "Everybody", spellcheck: "false",
          on: {
            input: () => {
              this.#wanted = idOf(this.person.value);
              this.#suggest();
            },
          },
        });
        this.person = person.input;
        this.writers = h("div", { class: "picker-found", role: "group", "aria-label": "Who writes there" });
        this.hint = h("p", { class: "field-help", role: "status" });
        this.columns = h("ul", { class: "sites-columns", "aria-label": "What you read" });
        this.empty = h("section", { class: "card sites-empty", hidden: true },
          h("h2", {}, "Everything worth reading, side by side"),
          h("p", { class: "soft" }, "Press Save and you read the first site at once, with everybody who writes there. Or "
            + "begin with one of these:"),
          h("div", { class: "row row-centre" }, Object.entries(sites).slice(0, 6).map(([value, [sign, text]]) =>
            button([h("span", { "aria-hidden": true }, sign), text], () => this.follow(value, nobody),
              { label: `Read ${text}` }))));
        const offline = offlineNote(this.session, "You are offline. What you save or post waits in this window, and goes "
          + "out as soon as you are back.");
        this.#held.keep(() => offline.end());
        fill(this.root, h("div", { class: "sites stack" }, h("h1", {}, "Six to Eight"), offline.element,
          h("div", { class: "sided" },
            h("div", { class: "sided-side" }, h("form", {
              class: "sites-form card stack", "aria-label": "What to read", on: {
                submit: (event) => {
                  event.preventDefault();
                  this.follow(this.site.value, idOf(this.person.value));
                },
              },
            }, site.element, h("div", { class: "stack-tight" }, person.element, list, this.hint, this.writers),
            h("button", { type: "submit", class: "button button-primary" }, "Save"))),
            h("div", { class: "sided-main stack" }, this.columns, this.empty))));
        this.#suggest();
      }

      /** What is known of who writes at the chosen site. */
      #suggest() {
        const site = this.site.value;
        const people = [...this.#writers.get(site) ?? []].filter((user) => user !== this.session.user);
        const chosen = idOf(this.person.value);
        fill(this.known, people.map((user) => h("option", { value: user }, this.nameOf(user))));
        const hadFocus = this.writers.contains(document.activeElement) ? document.activeElement.dataset.user : null;
        fill(this.writers, people.slice(0, mostOffered).map((user) => button(this.nameOf(user), () => {
          this.#wanted = this.person.value = chosen === user ? nobody : user;
          this.#suggest();
        }, {
          class: "button button-small", "aria-pressed": String(chosen === user), dataset: { user },
          label: `Follow only ${this.nameOf(user)}`,
        })));
        if (hadFocus) [...this.writers.children].find(({ dataset }) => dataset.user === hadFocus)?.focus();
        const text = people.length > 0 ? `Who writes at ${siteIn(site)}:`
          : this.#known.has(site) ? `Nobody else writes at ${siteIn(site)} yet.` : "";
        const left = this.#wanted && !chosen ? ` ${this.nameOf(this.#wanted)} does not: you would read everybody.` : "";
        if (this.hint.textContent !== text + left) this.hint.textContent = text + left;
      }

      #switched() {
        const site = this.site.value;
        const writers = this.#known.has(site) ? this.#writers.get(site) : undefined;
        this.person.value = keptPerson(this.#wanted, writers);
        this.#suggest();
        if (!writers) this.#look(site);
      }

      /** Reads who writes at a site that is not subscribed to. The form does not wait for it. */
      async #look(site) {
        const channel = `sites:${site}`;
        const there = this.client.subscription(channel);
        if (this.#looked.has(site) || (there && there.state !== "unsubscribed")) return;
        this.#looked.add(site);
        const wanted = this.#wanted;
        const glance = this.client.subscribe(channel, {});
        try {
          await glance.ready();
          const { publications } = await glance.history({ limit: mostPosts, reverse: true });
          this.learnWriters(site, publications, true);
          // Whoever has typed or saved meanwhile meant what they did.
          const isAsItWas = this.site.value === site && this.#wanted === wanted && idOf(this.person.value) === wanted;
          if (isAsItWas && this.columns.isConnected) {
            this.person.value = keptPerson(wanted, this.#writers.get(site));
            this.#suggest();
          }
        } catch {
          // The person stays, as where nobody knows whether they write there.
          this.#looked.delete(site);
        } finally {
          if (!this.#columns.has(site)) glance.unsubscribe();
        }
      }

      change(site) {
        this.site.value = site;
        this.#wanted = this.person.value = this.choices.view.get(site)?.person ?? nobody;
        this.#suggest();
        this.person.focus();
      }

      #say(method, rest, offline) {
        return persist(this.session, method, { channel: this.choiceChannel, ...rest }, () => this.session.toast(offline));
      }

      /** Reads the site, everybody there or one person. */
      follow(site, person) {
        const since = this.choices.view.get(site)?.since ?? Date.now();
        return attempt(this.session, async () => {
          await this.#say("map.set", { key: site, data: { person, since }, score: since },
            `You are offline. ${siteName(site)} is saved as soon as you are back.`);
          announce(`You read ${siteIn(site)}: ${person ? `only ${this.nameOf(person)}` : "everybody"}.`);
        }, "Not saved");
      }

      remove(site) {
        const before = this.choices.view.get(site);
        return attempt(this.session, async () => {
          await this.#say("map.remove", { key: site },
            `You are offline. You leave ${siteIn(site)} as soon as you are back.`);
          if (this.columns.isConnected) this.site.focus();
          this.session.toast(`You have left ${siteIn(site)}.`, { undo: () => before && attempt(this.session,
            () => this.#say("map.set", { key: site, data: before, score: before.since },
              "You are offline. It comes back as soon as you are."), "Not brought back") });
        }, "Not left");
      }

      /** Subscriptions begin outside of the client's events: within one, what is ended would still be there. */
      #later() { queueMicrotask(() => { if (this.columns.isConnected) this.#draw(); }); }

      #draw() {
        const { view } = this.choices;
        for (const [site, column] of this.#columns) {
          if (view.has(site)) continue;
          column.end();
          this.#columns.delete(site);
        }
        for (const [site, data] of view) {
          if (!this.#columns.has(site)) this.#columns.set(site, new Column(this, site));
          const column = this.#columns.get(site);
          if (!column.element.isConnected) this.columns.append(column.element);
          column.show(data?.person ?? nobody);
        }
        this.columns.hidden = view.size === 0;
        this.empty.hidden = view.size > 0 || this.choices.state !== "subscribed";
      }
    }

    /** Shows the sites in `root`. */
    export function mount(root, session) {
      const app = new Sites(root, session);
      return { unmount: () => app.unmount() };
    }

    """##

  private static let demo30 = ##"""
    // The cameras of State, and sample pictures for devices without one. All pictures are upright.

    import { h, hue } from "./ui.js";

    const width = 1080;
    const height = 1440;

    /** The two sides, and what browsers call them. */
    export const sides = { front: "user", rear: "environment" };

    /** The camera of a side as a stream, or null: there is none, it is refused, or the page is not served securely. */
    export async function openCamera(side) {
      try {
        return await navigator.mediaDevices.getUserMedia({
          audio: false, video: { facingMode: { ideal: sides[side] }, width: { ideal: 1280 }, height: { ideal: 1706 } },
        });
      } catch {
        return null;
      }
    }

    export const stop = (stream) => stream?.getTracks().forEach((track) => track.stop());

    /** What the video shows, cut to upright. The front camera is mirrored, as it is seen while taking the picture. */
    export function frameOf(video, side) {
      const canvas = h("canvas", { width, height });
      const pen = canvas.getContext("2d");
      const scale = Math.max(width / video.videoWidth, height / video.videoHeight);
      const [w, t] = [video.videoWidth * scale, video.videoHeight * scale];
      if (side === "front") {
        pen.translate(width, 0);
        pen.scale(-1, 1);
      }
      pen.drawImage(video, (width - w) / 2, (height - t) / 2, w, t);
      return canvas;
    }

    /** The canvas as a JPEG. */
    export const asJpeg = (canvas) => new Promise((resolve, reject) => {
      canvas.toBlob((blob) => {
        if (blob) resolve(blob); else reject(new Error("this browser could not make a picture; try another browser"));
      }, "image/jpeg", 0.86);
    });

    function gradient(pen, ...colours) {
      const made = pen.createLinearGradient(0, 0, 0, height);
      colours.forEach((colour, index) => made.addColorStop(index / (colours.length - 1), colour));
      return made;
    }

    function disc(pen, colour, x, y, across, down = across) {
      pen.fillStyle = colour;
      pen.beginPath();
      pen.ellipse(x, y, across, down, 0, 0, 2 * Math.PI);
      pen.fill();
    }

    /** Hills under a sky, different each time. */
    function drawHills(pen) {
      const base = Math.floor(Math.random() * 360);
      pen.fillStyle = gradient(pen, `hsl(${base} 62% 52%)`, `hsl(${(base + 40) % 360} 80% 82%)`,
        `hsl(${(base + 60) % 360} 85% 90%)`);
      pen.fillRect(0, 0, width, height);
      disc(pen, `hsl(${(base + 60) % 360} 95% 94%)`, width * (0.3 + Math.random() * 0.4), height * 0.34,
        110 + Math.random() * 50);
      for (let layer = 0; layer < 5; layer += 1) {
        const phase = Math.random() * 6;
        pen.fillStyle = `hsl(${(base + 150 + layer * 10) % 360} 34% ${60 - layer * 10}%)`;
        pen.beginPath();
        pen.moveTo(0, height);
        for (let x = 0; x <= width; x += 12) {
          const wave = Math.sin(x / (170 + layer * 45) + phase) + 0.45 * Math.sin(x / 80 + 2 * phase);
          pen.lineTo(x, height * (0.52 + layer * 0.1) + wave * (62 - layer * 9));
        }
        pen.lineTo(width, height);
        pen.fill();
      }
    }

    const skins = ["#f6d3b8", "#e8b48f", "#c98a5e", "#9a623c", "#6d4227"];
    const hairs = ["#2b1b14", "#5a3825", "#a8672f", "#d9b26a", "#8d8f96", "#7a2f1d"];

    /** Somebody who smiles at the camera: the same person has the same colours. */
    function drawPortrait(pen, name) {
      const tone = hue(name);
      const [skin, hair] = [skins[tone % skins.length], hairs[tone % hairs.length]];
      const lean = Math.round(Math.random() * 60 - 30);
      const [x, y] = [width / 2 + lean, height * 0.44];
      pen.fillStyle = gradient(pen, `hsl(${tone} 55% 78%)`, `hsl(${(tone + 30) % 360} 60% 62%)`);
      pen.fillRect(0, 0, width, height);
      disc(pen, `hsl(${(tone + 15) % 360} 60% 84% / 55%)`, width * 0.82, height * 0.16, 210);
      disc(pen, hair, x, y - 40, 300, 330);
      if (tone % 2) disc(pen, hair, x, y + 190, 330, 330);
      disc(pen, `hsl(${(tone + 180) % 360} 45% 42%)`, width / 2, height + 130, 500, 520);
      pen.fillStyle = skin;
      pen.fillRect(x - 85, y + 180, 170, 230);
      disc(pen, skin, x, y + 400, 130, 90);
      disc(pen, skin, x, y + 20, 235, 285);
      pen.fillStyle = hair;
      pen.beginPath();
      pen.ellipse(x, y - 150, 250, 150, 0, Math.PI, 2 * Math.PI);
      pen.quadraticCurveTo(x + 60, y - 175, x - 250, y - 60);
      pen.fill();
      for (const side of [-1, 1]) {
        disc(pen, "#ffffff", x + side * 92, y + 5, 40, 30);
        disc(pen, "#2b2320", x + side * 92 + lean / 5, y + 7, 19);
        disc(pen, "rgb(220 90 90 / 22%)", x + side * 130, y + 105, 52, 36);
      }
      pen.strokeStyle = "#7a2f2f";
      pen.lineWidth = 16;
      pen.lineCap = "round";
      pen.beginPath();
      pen.arc(x, y + 95, 82, 0.18 * Math.PI, 0.82 * Math.PI);
      pen.stroke();
    }

    /** A picture for devices without a camera, which says that it is one. */
    export function drawSample(side, name) {
      const canvas = h("canvas", { width, height });
      const pen = canvas.getContext("2d");
      if (side === "front") drawPortrait(pen, name); else drawHills(pen);
      const text = `Sample of ${name}, ${new Date().toLocaleTimeString()}`;
      pen.font = "500 34px system-ui, sans-serif";
      pen.textAlign = "center";
      const wide = Math.min(width - 80, pen.measureText(text).width + 64);
      pen.fillStyle = "rgb(0 0 0 / 45%)";
      pen.beginPath();
      pen.roundRect(width - wide - 32, 32, wide, 68, 34);
      pen.fill();
      pen.fillStyle = "#ffffff";
      pen.fillText(text, width - wide / 2 - 32, 78, width - 120);
      return canvas;
    }

    """##

  private static let demo31 = ##"""
    // What State has to say whichever app is open: how many exchanges wait for one on the tab, and what has just happened.

    import { nameOf } from "./people.js";
    import { announce, count, fill, h } from "./ui.js";

    /** In which events something new is there for me, and how it is told. */
    const news = {
      received: (name) => `${name} has sealed something for you.`,
      revealed: (name) => `Revealed: you and ${name} can see both.`,
      expired: (name) => `Nobody answered: the exchange with ${name} has expired.`,
      ended: (name) => `What you and ${name} have shown each other is over, and deleted.`,
      reacted: (name) => `${name} has reacted.`,
    };

    /** Exchanges that wait for me: to be answered, or to be looked at. */
    const waits = ({ phase, unread }) => phase === "received" || (phase === "revealed" && unread);

    /**
     * Watches a session's exchanges, and shows on `tab` how many wait. Gives `{ isSeen }`: while State is open it says
     * whether an event is on the screen already, which then is only read out.
     */
    export function watchState(session, tab) {
      const { client, demo } = session;
      const watch = { isSeen: () => false };
      if (!demo.apps.includes("state")) return watch;
      const threads = client.state.threads();
      let drawn = 0;
      const draw = () => {
        const sum = [...threads.view.values()].filter(waits).length;
        if (sum === drawn) return;
        drawn = sum;
        fill(tab, "State", sum > 0 ? [" ", h("span", { class: "badge", "aria-hidden": true }, String(sum)),
          h("span", { class: "visually-hidden" }, `, ${count(sum, "exchange")} for you`)] : []);
      };
      for (const name of ["change", "subscribed"]) threads.on(name, draw);
      client.state.events().on("publication", ({ data }) => {
        const user = data?.with;
        if (!user) return;
        if (["received", "revealed", "reacted"].includes(data.event)) client.state.delivered(user).catch(() => {});
        const text = news[data.event]?.(nameOf(session, user));
        if (!text) return;
        if (watch.isSeen(data.event, user)) return announce(text);
        const opens = data.event === "received" || data.event === "revealed";
        const open = () => session.navigate(`#/state/${encodeURIComponent(user)}`);
        session.toast(text, opens ? { undo: open, label: "Open" } : {});
      });
      fill(tab, "State");
      return watch;
    }

    """##

  private static let demo32 = ##"""
    // The recorder of State: two pictures within a time that the server says, and that shoots by itself when it is over.
    //
    // | step      | what is seen                     | leads to                                                        |
    // |-----------|----------------------------------|-----------------------------------------------------------------|
    // | ready     | how long there will be, Start    | front (the camera is asked for first, then `state.begin`)       |
    // | front     | the front camera, a countdown    | rear: shutter, or the time is over                              |
    // | rear      | the rear camera, the countdown   | review: shutter, or the time is over                            |
    // | review    | both, caption, limit for answers | front or rear (taken again), sending, late                      |
    // | sending   | what waits                       | over, late (error 434), review (any other error)                |
    // | late      | nothing was sent, send anyway    | sending (after another `state.begin`)                           |
    // | over      | -                                | the overview                                                    |
    //
    // Given up from each of them but `sending`: the pictures are discarded.

    import { newKey } from "../fanfare.js";
    import { asJpeg, drawSample, frameOf, openCamera, sides, stop } from "./state-camera.js";
    import { announce, bag, button, count, duration, field, fill, h, sentence, svg } from "./ui.js";

    const titles = { front: "You", rear: "What you see" };
    const tooLate = 434;
    const unknownPicture = 435;
    /** Seconds before the end that are told to those who listen. */
    const told = [60, 30, 10, 5];
    const circle = 2 * Math.PI * 26;

    /** What those who answer may be given. "0" is their own setting. */
    const limits = [["0", "their own choice"], ["10000", "10 seconds"], ["30000", "30 seconds"],
      ["60000", "1 minute"], ["120000", "2 minutes"], ["300000", "5 minutes"]];

    function countdown() {
      const ring = svg("circle", { class: "ring-left", cx: 32, cy: 32, r: 26, "stroke-dasharray": circle });
      const text = h("span", { class: "ring-text", role: "timer", "aria-live": "off" });
      const element = h("div", { class: "ring" },
        svg("svg", { viewBox: "0 0 64 64", "aria-hidden": true },
          svg("circle", { class: "ring-all", cx: 32, cy: 32, r: 26 }), ring), text);
      let last = Infinity;
      return {
        element,
        show(left, whole) {
          const seconds = Math.max(0, Math.ceil(left / 1000));
          const minutes = Math.floor(seconds / 60);
          const words = seconds >= 60 ? `${minutes}:${String(seconds % 60).padStart(2, "0")}` : String(seconds);
          if (text.textContent !== words) text.textContent = words;
          const share = Math.min(1, Math.max(0, left / Math.max(1, whole)));
          ring.setAttribute("stroke-dashoffset", String(circle * (1 - share)));
          element.classList.toggle("ring-short", seconds <= 10);
          const mark = told.find((each) => last > each && seconds === each);
          if (mark !== undefined) announce(`${count(mark, "second")} left`);
          last = seconds;
        },
      };
    }

    /**
     * Opens the recorder in `root`. `to` is the user id, `name` what they are called, `limit` milliseconds that an answer
     * has (undefined: one's own setting). `learn(now)` hears the server's time; `close(text)` is called at the end.
     */
    export class Recorder {
      #held = bag();
      #step = "ready";
      #stream = null;
      #samples = false;
      #shots = { front: null, rear: null };
      #ring = countdown();
      #recordEnds = 0;
      #sendEnds = 0;
      #whole = 1;
      #isShooting = false;
      #isOver = false;
      #timeIsOver = false;
      #key = newKey();
      #caption = "";
      #replyLimit = "0";

      constructor(root, { session, to, name, limit, isAnswer, learn, close }) {
        Object.assign(this, { root, session, to, name, limit, isAnswer, learn, close });
        this.body = h("div", { class: "recorder-body" });
        this.note = h("p", { class: "recorder-note", role: "status" });
        this.heading = h("h2", { tabindex: "-1" }, isAnswer ? `Your answer to ${name}` : `A State for ${name}`);
        fill(root, h("section", { class: "recorder", "aria-label": "Recorder" },
          h("div", { class: "recorder-head" }, this.heading, this.#ring.element,
            button("Give up", () => this.#giveUp(), { class: "button button-small" })), this.note, this.body));
        this.#ring.element.hidden = true;
        this.#held.every(200, () => this.#tick());
        this.#held.keep(() => stop(this.#stream));
        this.#showReady();
        this.heading.focus();
      }

      /** The screen is left. What is being sent goes on; anything else is given up. */
      end() {
        if (this.#isOver) return;
        this.#isOver = true;
        this.#held.end();
        const ids = this.#discardAll();
        if (["front", "rear", "review", "late"].includes(this.#step)) {
          this.session.client.state.cancel(this.to, ids).catch(() => {});
        }
      }

      #tell(text) { this.note.textContent = text; }

      #showReady() {
        this.#step = "ready";
        const time = h("strong", {}, this.limit ? duration(this.limit) : "…");
        if (!this.limit) this.#showOwnLimit(time);
        const frame = (number, sign, text) => h("li", { class: "recorder-plan" },
          h("span", { class: "recorder-plan-sign", "aria-hidden": true }, sign), h("strong", {}, `${number}. ${text}`));
        fill(this.body, h("div", { class: "recorder-ready card" },
          h("ol", { class: "recorder-plans" }, frame(1, "🤳", titles.front), frame(2, "🏞️", titles.rear)),
          h("div", { class: "stack" },
            h("p", {}, "You have ", time, " for both pictures. When the time is over, they are taken by themselves."),
            h("p", { class: "soft" }, this.isAnswer
              ? `As soon as yours is there, both of you see both. Until then you see nothing of what ${this.name} has sent.`
              : `${this.name} cannot see yours before answering, and has 24 hours for it. Neither can anybody else.`),
            h("div", { class: "row" },
              button("Start with the camera", () => this.#start(false), { kind: "primary" }),
              button("Start with sample pictures", () => this.#start(true))))));
      }

      /** What the server gives oneself; it says it again when the recorder begins. */
      async #showOwnLimit(place) {
        try {
          place.textContent = duration((await this.session.client.state.settings()).limit);
        } catch {
          place.textContent = "some time";
        }
      }

      async #start(samples) {
        fill(this.body, h("p", { class: "recorder-wait card" },
          samples ? "One moment …" : "Waiting for the camera. The time does not run yet."));
        this.#samples = samples;
        // The person is asked about the camera before the time begins to run.
        if (!samples) await this.#openStream("front");
        if (this.#isOver) return stop(this.#stream);
        const isBegun = await this.#begin();
        if (this.#isOver) {
          if (isBegun) this.session.client.state.cancel(this.to).catch(() => {});
          return;
        }
        if (!isBegun) return this.#showReady();
        await this.#showCamera("front");
      }

      async #begin() {
        const { client } = this.session;
        try {
          const asked = performance.now();
          const { at, limit, deadline, now } = await client.state.begin(this.to);
          // Half the way there and back has passed since the server looked at its clock.
          const since = performance.now() - (performance.now() - asked) / 2;
          this.learn(now);
          this.#recordEnds = since + (at + limit - now);
          this.#sendEnds = since + (deadline - now);
          this.#whole = limit;
          this.#timeIsOver = false;
          this.#ring.element.hidden = false;
          return true;
        } catch (error) {
          stop(this.#stream);
          this.#stream = null;
          this.#tell(client.connectionState === "connected" ? sentence(error)
            : "The recorder needs a connection, since its time is the server's. Try again when you are online.");
          return false;
        }
      }

      async #openStream(side) {
        stop(this.#stream);
        this.#stream = await openCamera(side);
        if (this.#isOver) return stop(this.#stream);
        if (this.#stream) return;
        this.#samples = true;
        this.#tell("There is no camera that this page may use, so sample pictures are drawn instead.");
      }

      async #showCamera(side) {
        this.#step = side;
        this.video = null;
        if (!this.#samples && (side !== "front" || !this.#stream)) await this.#openStream(side);
        if (this.#isOver) return;
        const shutter = button("", () => this.#shoot(), { kind: "shutter", label: `Take the ${side} picture` });
        let view;
        if (this.#samples) {
          this.sample = drawSample(side, this.session.name);
          this.sample.classList.add("recorder-view");
          set(this.sample, `Sample of the ${side} picture`);
          view = this.sample;
        } else {
          view = this.video = h("video", {
            class: `recorder-view ${side === "front" ? "is-mirrored" : ""}`, playsinline: true, muted: true, autoplay: true,
            srcObject: this.#stream, "aria-label": `What the ${side} camera sees`,
          });
          await this.video.play().catch(() => {});
          if (this.#isOver) return;
        }
        const taken = this.#shots[side === "front" ? "rear" : "front"];
        fill(this.body, h("div", { class: "recorder-stage" },
          h("div", { class: "recorder-frame" }, view,
            h("p", { class: "recorder-side" }, `${side === "front" ? 1 : 2} of 2 · ${titles[side]}`),
            taken ? h("img", { class: "recorder-taken", src: taken.address, alt: "The other picture, taken" }) : null),
          shutter));
        this.#tick();
        shutter.focus();
        announce(`${titles[side]}. Take the picture, or wait until the time is over.`);
      }

      async #shoot() {
        const side = this.#step;
        if (this.#isShooting || !(side in sides)) return;
        this.#isShooting = true;
        try {
          // A camera that shows nothing yet gives no picture: then a sample takes its place.
          const hasFrame = this.video && this.video.videoWidth > 0;
          const blob = await asJpeg(hasFrame ? frameOf(this.video, side)
            : this.sample ?? drawSample(side, this.session.name));
          if (this.#isOver) return;
          this.#keepShot(side, blob);
          const next = ["front", "rear"].find((each) => !this.#shots[each]);
          if (next) await this.#showCamera(next); else this.#showReview();
        } catch (error) {
          this.#tell(sentence(error));
        } finally {
          this.#isShooting = false;
        }
      }

      /** Uploads it at once, while the other is taken. */
      #keepShot(side, blob) {
        this.sample = null;
        const control = new AbortController();
        const shot = { id: newKey(), blob, address: URL.createObjectURL(blob), control, error: null };
        this.#shots[side] = shot;
        this.#upload(shot);
      }

      #upload(shot) {
        const { pictures } = this.session.client.state;
        shot.error = null;
        shot.done = pictures.upload(shot.blob, { id: shot.id, signal: shot.control.signal }).catch((error) => {
          shot.error = error;
        });
      }

      #drop(side) {
        const shot = this.#shots[side];
        if (!shot) return null;
        this.#shots[side] = null;
        shot.control.abort();
        URL.revokeObjectURL(shot.address);
        return shot.id;
      }

      #discardAll() {
        if (this.#step === "sending") {
          for (const shot of Object.values(this.#shots)) if (shot) URL.revokeObjectURL(shot.address);
          return [];
        }
        return Object.keys(sides).map((side) => this.#drop(side)).filter(Boolean);
      }

      async #again(side) {
        const id = this.#drop(side);
        // What cannot be discarded now is gone by itself within the hour.
        if (id) this.session.client.state.discard([id]).catch(() => {});
        this.#key = newKey();
        await this.#showCamera(side);
      }

      #showReview() {
        this.#step = "review";
        stop(this.#stream);
        this.#stream = null;
        const shotView = (side) => h("figure", { class: "recorder-shot" },
          h("img", { src: this.#shots[side].address, alt: `Your ${side} picture` }),
          h("figcaption", {}, titles[side],
            this.#timeIsOver ? null : button("Take again", () => this.#again(side), { kind: "quiet" })));
        const caption = field("Caption", {
          maxlength: 280, value: this.#caption, autocomplete: "off",
          on: { input: ({ target }) => { this.#caption = target.value; } },
        }, "Sealed with the pictures. Up to 280 characters.");
        const reply = this.isAnswer ? null : field(`How long ${this.name} has to record the answer`, {
          tag: "select", children: limits.map(([value, text]) => h("option", { value }, text)),
          on: { change: ({ target }) => { this.#replyLimit = target.value; } },
        });
        if (reply) reply.input.value = this.#replyLimit;
        const send = button(this.isAnswer ? "Send and reveal both" : "Seal and send", () => this.#send(),
          { kind: "primary" });
        fill(this.body, h("div", { class: "recorder-review" },
          h("div", { class: "recorder-shots" }, shotView("front"), shotView("rear")),
          h("div", { class: "card stack recorder-form" }, caption.element, reply?.element,
            h("div", { class: "row" }, send))));
        send.focus();
        announce("Both pictures are taken. You can write a caption, and send them.");
      }

      async #send() {
        if (this.#step === "sending") return;
        this.#step = "sending";
        const { client, toast } = this.session;
        const { front, rear } = this.#shots;
        fill(this.body, h("div", { class: "recorder-wait card" }, h("p", {}, "Sending …"),
          h("progress", { "aria-label": "Sending" })));
        this.#ring.element.hidden = true;
        this.#tell(client.connectionState === "connected" ? ""
          : "You are offline. Both pictures are kept on this page, and "
          + "go out as soon as you are back, if that is before the time is over. Leave the page open.");
        try {
          for (const shot of [front, rear]) {
            if (shot.error) this.#upload(shot);
            await shot.done;
            if (shot.error) throw shot.error;
          }
          const { phase } = await client.state.send({
            to: this.to, front: front.id, rear: rear.id, caption: this.#caption.trim() || undefined,
            replyLimit: Number(this.#replyLimit) || undefined, key: this.#key,
          });
          const text = phase === "revealed" ? `You and ${this.name} can see both now.`
            : `Sealed. ${this.name} has 24 hours to answer.`;
          if (this.#isOver) toast(text); else this.#finish(text, phase);
        } catch (error) {
          if (this.#isOver) return toast(`Your State for ${this.name} was not sent: ${error.message}`);
          if (error.code === tooLate) return this.#showLate();
          if (error.code === unknownPicture) this.#renew();
          this.#ring.element.hidden = false;
          this.#showReview();
          this.#tell(`Not sent: ${sentence(error)}`);
        }
      }

      /** The server does not know them any more: they go up again under other ids, which needs another key. */
      #renew() {
        this.#key = newKey();
        for (const shot of Object.values(this.#shots)) {
          shot.id = newKey();
          this.#upload(shot);
        }
      }

      #showLate() {
        this.#step = "late";
        this.#tell("");
        fill(this.body, h("div", { class: "recorder-wait card", role: "alert" },
          h("p", {}, "That came after the deadline. Nothing was sent, and your pictures are still here."),
          h("div", { class: "row" }, button("Open the recorder again and send them", async () => {
            if (this.#step === "late" && await this.#begin() && !this.#isOver) this.#send();
          }, { kind: "primary" }))));
      }

      #finish(text, phase) {
        this.end();
        this.close(text, phase);
      }

      #giveUp() {
        if (this.#step === "sending") {
          this.session.toast("It is on its way already, and goes on.");
          this.end();
          return this.close("");
        }
        this.end();
        this.close("Given up. Nothing was sent.");
      }

      #tick() {
        const now = performance.now();
        if (this.#step === "front" || this.#step === "rear") {
          this.#ring.show(this.#recordEnds - now, this.#whole);
          if (now < this.#recordEnds) return;
          if (!this.#timeIsOver) this.#tell("The time was over, so the pictures took themselves.");
          this.#timeIsOver = true;
          this.#shoot();
        } else if (this.#step === "review") {
          this.#ring.show(this.#sendEnds - now, this.#sendEnds - this.#recordEnds + this.#whole);
          if (now >= this.#recordEnds && !this.#timeIsOver) {
            this.#timeIsOver = true;
            for (const each of this.body.querySelectorAll("figcaption button")) each.remove();
            this.#tell("The time to record is over. Send them before the countdown ends.");
          }
          if (now >= this.#sendEnds) this.#showLate();
        }
      }
    }

    /** Names what a canvas shows. */
    function set(canvas, label) {
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", label);
    }

    """##

  private static let demo33 = ##"""
    // What two people have shown each other in State: both pictures of both, captions, and one reaction of each.

    import { button, duration, fill, fullTime, h, sentence, shortTime } from "./ui.js";

    const reactions = [["🔥", "fire"], ["❤️", "heart"], ["😂", "laughing"], ["😮", "astonished"], ["👏", "applause"]];

    /** Shows a revealed thread in `root`. `now()` is the server's time; `back()` and `again()` leave. */
    export class Reveal {
      #addresses = new Map();
      #isOver = false;

      constructor(root, { session, thread, name, now, back, again }) {
        Object.assign(this, { session, user: thread.with, name, now, thread });
        this.front = thread.theirs.front;
        this.heading = h("h2", { tabindex: "-1" }, `You and ${name}`);
        this.left = h("p", { class: "state-left" });
        this.theirs = this.#side(thread.theirs, name);
        this.mine = this.#side(thread.mine, "You");
        this.status = h("p", { class: "visually-hidden", role: "status" });
        this.buttons = reactions.map(([sign, word]) => h("button", {
          type: "button", class: "button state-reaction", "aria-pressed": "false", "aria-label": word, title: word,
          dataset: { sign }, on: { click: (event) => this.#react(event.currentTarget) },
        }, sign));
        fill(root, h("section", { class: "state-reveal", "aria-label": `Revealed: you and ${name}` },
          h("div", { class: "state-reveal-head" },
            button("←", back, { kind: "icon", label: "All exchanges" }),
            h("div", { class: "grow" }, this.heading, this.left),
            button(`Send ${name} another`, again)),
          h("div", { class: "state-sides" }, this.theirs.element, this.mine.element),
          h("div", { class: "state-reactions", role: "group", "aria-label": `React to ${name}` }, this.buttons),
          this.status));
        this.draw(thread);
        this.tick();
        this.heading.focus();
        this.#load();
      }

      async #load() {
        const loaded = await Promise.all([this.theirs.load(), this.mine.load()]);
        // Looked at is what was on the screen: not what could not be fetched, and not what was left before.
        if (loaded[0] && !this.#isOver && this.thread.unread) {
          this.session.client.state.seen(this.user).catch((error) => this.session.toast(sentence(error)));
        }
      }

      /** One person's two pictures: one large, the other in its corner; a click exchanges them. */
      #side(sealed, name) {
        const note = h("p", { class: "state-note", role: "status" }, "Fetching …");
        const images = {
          front: h("img", { alt: `${name}, front camera` }), rear: h("img", { alt: `${name}, rear camera` }),
        };
        const sticker = h("span", { class: "state-sticker", "aria-hidden": true });
        const frame = h("button", {
          type: "button", class: "state-frame", "aria-label": `${name}: exchange the large and the small picture`,
          on: { click: () => frame.classList.toggle("is-turned") },
        }, images.rear, images.front);
        const retry = button("Try again", () => load(), { hidden: true });
        const element = h("figure", { class: "state-side" }, h("div", { class: "state-stage" }, frame, sticker,
          h("figcaption", {}, h("strong", {}, name), sealed.caption ? h("span", {}, sealed.caption) : null)), note, retry);
        const load = async () => {
          retry.hidden = true;
          note.textContent = "Fetching …";
          try {
            for (const side of ["rear", "front"]) {
              const { bytes, type } = await this.session.client.state.pictures.download(sealed[side]);
              if (this.#isOver) return false;
              const before = this.#addresses.get(sealed[side]);
              if (before) URL.revokeObjectURL(before);
              const address = URL.createObjectURL(new Blob([bytes], { type }));
              this.#addresses.set(sealed[side], address);
              images[side].src = address;
            }
            note.textContent = "";
            return true;
          } catch (error) {
            note.textContent = error.status === 404 ? "These pictures are gone." : sentence(error);
            retry.hidden = error.status === 404;
            return false;
          }
        };
        return { element, load, sticker };
      }

      async #react(pressed) {
        const isMine = pressed.getAttribute("aria-pressed") === "true";
        try {
          await this.session.client.state.react(this.user, isMine ? undefined : pressed.dataset.sign);
        } catch (error) {
          this.session.toast(sentence(error));
        }
      }

      /** Whether this is still what is shown: another exchange with the same person is another reveal. */
      isOf(thread) { return thread?.phase === "revealed" && thread.theirs?.front === this.front; }

      draw(thread) {
        this.thread = thread;
        for (const each of this.buttons) {
          each.setAttribute("aria-pressed", String(each.dataset.sign === thread.mine?.reaction));
        }
        // What the other thinks of my pictures is on mine, and mine on theirs.
        this.mine.sticker.textContent = thread.theirs?.reaction ?? "";
        this.theirs.sticker.textContent = thread.mine?.reaction ?? "";
        const text = thread.theirs?.reaction ? `${this.name} has reacted: ${thread.theirs.reaction}` : "";
        if (this.status.textContent !== text) this.status.textContent = text;
      }

      tick() {
        const { until } = this.thread;
        const text = `${duration(until - this.now())} left, until ${shortTime(until)}. Then both are deleted.`;
        if (this.left.textContent !== text) this.left.textContent = text;
        this.left.title = fullTime(until);
      }

      end() {
        this.#isOver = true;
        for (const address of this.#addresses.values()) URL.revokeObjectURL(address);
        this.#addresses.clear();
      }
    }

    """##

  private static let demo34 = ##"""
    /* State. `--state` is the colour of a thread's phase, as the server says it. */

    .app-state { flex: 1; }
    .state-list { display: flex; flex-direction: column; gap: var(--space-3); }
    .state-list:empty { display: none; }
    .state-row { position: relative; display: flex; flex-wrap: wrap; align-items: center;
      gap: var(--space-3) var(--space-4); padding: var(--space-4);
      border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow);
      background: linear-gradient(90deg, color-mix(in srgb, var(--state) 13%, var(--surface)), var(--surface) 45%);
      border-inline-start: 0.375rem solid var(--state); }
    .state-ring { --left: 360deg; display: grid; place-items: center; width: 3.75rem; height: 3.75rem; flex: none;
      border-radius: 50%; background: conic-gradient(var(--state) var(--left), var(--raised) 0); }
    .state-ring .avatar { --size: 3.25rem; border: 3px solid var(--surface); }
    .state-what { flex: 1 1 14rem; min-width: 0; }
    .state-title { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-1) var(--space-2); }
    .state-badge { padding: 0 var(--space-2); border-radius: var(--radius-full); font-size: var(--small); font-weight: 650;
      border: 1.5px solid var(--state); background: color-mix(in srgb, var(--state) 16%, var(--surface)); }
    .state-left { color: var(--text-soft); font-size: var(--small); font-variant-numeric: tabular-nums; }
    .state-row[data-phase="expired"] .state-ring .avatar { filter: grayscale(1); }
    .state-clock { display: flex; flex-direction: column; gap: var(--space-3); border-style: dashed; }

    .state-empty { display: flex; flex-direction: column; align-items: center; gap: var(--space-4); text-align: center;
      padding: var(--space-5) var(--space-4); }
    .state-empty h2 { font-size: var(--title); }
    .state-steps { display: grid; gap: var(--space-4); width: 100%; margin: var(--space-2) 0;
      grid-template-columns: repeat(auto-fit, minmax(min(12rem, 100%), 1fr)); }
    .state-step { display: flex; flex-direction: column; align-items: center; gap: var(--space-1); }
    .state-step-sign { display: grid; place-items: center; width: 4rem; height: 4rem; margin-bottom: var(--space-1);
      border-radius: 50%; font-size: 1.75rem; background: color-mix(in srgb, var(--state) 18%, var(--surface));
      border: 2px solid var(--state); }
    /* The colours that the server gives these phases, for a picture of them. */
    .state-step[data-phase="sent"] { --state: #f5a623; }
    .state-step[data-phase="received"] { --state: #2f80ed; }
    .state-step[data-phase="revealed"] { --state: #27ae60; }

    /* What was revealed: everything of it fits a window, and scrolls where it is low. */
    .state-reveal, .recorder { display: flex; flex-direction: column; gap: var(--space-4); }
    .state-reveal-head { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-2); }
    .state-sides { --wide: min(24rem, calc((100dvh - 17rem) * 3 / 4)); display: grid; gap: var(--space-4);
      justify-content: center; grid-template-columns: repeat(2, minmax(0, max(14rem, var(--wide)))); }
    .state-side { display: flex; flex-direction: column; gap: var(--space-2); }
    .state-stage { position: relative; aspect-ratio: 3 / 4; border-radius: var(--radius); overflow: hidden;
      background: var(--raised); box-shadow: var(--shadow-high); }
    .state-frame { position: absolute; inset: 0; width: 100%; height: 100%; padding: 0; border: 0; cursor: pointer;
      background: none; }
    .state-frame:focus-visible { outline-offset: -4px; outline-color: #ffffff; }
    .state-frame img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover; }
    .state-frame img:not([src]) { display: none; }
    .state-frame img:last-child, .state-frame.is-turned img:first-child { inset: var(--space-3) auto auto var(--space-3);
      width: 32%; height: auto; aspect-ratio: 3 / 4; border: 3px solid #ffffff; border-radius: var(--radius-small);
      z-index: 1; }
    .state-frame.is-turned img:last-child { inset: 0; width: 100%; height: 100%; border: 0; border-radius: 0; z-index: 0; }
    .state-side figcaption { position: absolute; inset: auto 0 0; display: flex; flex-direction: column; color: #ffffff;
      padding: var(--space-5) var(--space-4) var(--space-3); pointer-events: none;
      background: linear-gradient(transparent, rgb(0 0 0 / 62%) 40%, rgb(0 0 0 / 78%)); }
    .state-sticker { position: absolute; inset: auto var(--space-3) var(--space-3) auto; z-index: 2; display: grid;
      place-items: center; width: 3.25rem; height: 3.25rem; border-radius: 50%; background: #ffffff; font-size: 1.75rem;
      line-height: 1; box-shadow: var(--shadow-high); pointer-events: none; }
    .state-sticker:empty { display: none; }
    .state-note { color: var(--text-soft); font-size: var(--small); }
    .state-note:empty { display: none; }
    .state-reactions { display: flex; flex-wrap: wrap; justify-content: center; gap: var(--space-2); }
    .state-reaction { width: 3rem; height: 3rem; padding: 0; font-size: 1.375rem; }

    /* The recorder */
    .recorder { width: min(56rem, 100%); margin: 0 auto; }
    .recorder-head { display: flex; align-items: center; gap: var(--space-3); min-height: 4rem; }
    .recorder-head h2 { flex: 1; min-width: 0; }
    .recorder-note { padding: var(--space-3); border-radius: var(--radius-small); background: var(--warn-soft);
      color: var(--warn); font-size: var(--small); }
    .recorder-note:empty { display: none; }
    .recorder-body { display: flex; flex-direction: column; gap: var(--space-4); }
    .recorder-ready { display: grid; gap: var(--space-5); align-items: center; padding: var(--space-5);
      grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); }
    .recorder-plans { display: grid; grid-template-columns: repeat(2, minmax(0, 10rem)); gap: var(--space-3);
      justify-content: center; }
    .recorder-plan { display: flex; flex-direction: column; gap: var(--space-2); align-items: center; text-align: center; }
    .recorder-plan-sign { display: grid; place-items: center; width: 100%; aspect-ratio: 3 / 4; font-size: 3rem;
      border: 2px dashed var(--line-strong); border-radius: var(--radius); background: var(--raised); }
    .recorder-wait { display: flex; flex-direction: column; align-items: center; gap: var(--space-3); text-align: center; }
    .recorder-stage { display: flex; flex-direction: column; align-items: center; gap: var(--space-3);
      padding: var(--space-4); border-radius: var(--radius); background: #0b0c10; }
    .recorder-frame { position: relative; width: min(100%, 26rem, max(12rem, calc((100dvh - 19.5rem) * 3 / 4)));
      aspect-ratio: 3 / 4; border-radius: var(--radius); background: #000000; overflow: hidden; }
    /* With something said above it, there is less room. */
    .recorder-note:not(:empty) ~ .recorder-body .recorder-frame {
      width: min(100%, 26rem, max(12rem, calc((100dvh - 23.5rem) * 3 / 4))); }
    .recorder-view { width: 100%; height: 100%; object-fit: cover; }
    .recorder-view.is-mirrored { scale: -1 1; }
    .recorder-side { position: absolute; inset: auto auto var(--space-3) var(--space-3); padding: 0.125rem var(--space-3);
      border-radius: var(--radius-full); background: rgb(0 0 0 / 72%); color: #ffffff; font-weight: 650;
      font-size: var(--small); }
    .recorder-taken { position: absolute; inset: var(--space-3) auto auto var(--space-3); width: 26%; aspect-ratio: 3 / 4;
      object-fit: cover; border: 3px solid #ffffff; border-radius: var(--radius-small); }
    .recorder-review { display: grid; gap: var(--space-5); align-items: start;
      grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
    .recorder-shots { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: var(--space-3); }
    .recorder-shot { display: flex; flex-direction: column; gap: var(--space-1); }
    .recorder-shot img { width: 100%; aspect-ratio: 3 / 4; object-fit: cover; border-radius: var(--radius);
      box-shadow: var(--shadow); }
    .recorder-shot figcaption { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between;
      font-size: var(--small); min-height: var(--target); }
    .recorder-shot .button { padding: 0 var(--space-2); }
    .button-shutter { width: 4.5rem; height: 4.5rem; flex: none; padding: 0; border: 4px solid #ffffff; background: #0b0c10;
      box-shadow: inset 0 0 0 4px #0b0c10, inset 0 0 0 3rem #e5484d; }
    .button-shutter:hover { background: #0b0c10; box-shadow: inset 0 0 0 5px #0b0c10, inset 0 0 0 3rem #ff6369; }
    .button-shutter:focus-visible { outline-color: #a79fff; }
    .ring { position: relative; width: 4rem; height: 4rem; flex: none; }
    .ring svg { width: 100%; height: 100%; rotate: -90deg; }
    .ring circle { fill: none; stroke-width: 6; }
    .ring-all { stroke: var(--raised); }
    .ring-left { stroke: var(--accent); stroke-linecap: round; }
    .ring-text { position: absolute; inset: 0; display: grid; place-items: center; font-weight: 700;
      font-variant-numeric: tabular-nums; }
    .ring-short .ring-left { stroke: var(--danger); }
    .ring-short .ring-text { color: var(--danger); }

    @media (max-width: 30rem) {
      .state-what { flex-basis: 10rem; }
      .state-reveal-head > .button:last-child { width: 100%; }
      .state-actions { width: 100%; }
      .state-actions .button:first-child { flex: 1; }
      .state-sides { gap: var(--space-2); grid-template-columns: repeat(2, minmax(0, 1fr)); }
      .state-side figcaption { padding: var(--space-4) var(--space-2) var(--space-2); font-size: var(--small); }
      .state-sticker { inset: auto var(--space-1) var(--space-1) auto; width: 2.5rem; height: 2.5rem; font-size: 1.25rem; }
      .recorder-stage { padding: var(--space-3); }
      .recorder-ready { padding: var(--space-4); }
      .recorder-shot figcaption { flex-direction: column; align-items: flex-start; }
    }
    @media (prefers-reduced-motion: no-preference) {
      .ring-left { transition: stroke-dashoffset 0.2s linear; }
      .state-row { transition: border-color 0.3s; }
      .state-sticker { animation: state-pop 0.25s ease-out; }
      @keyframes state-pop { from { scale: 0.3; } }
    }
    @media (forced-colors: active) {
      .state-row, .state-ring { forced-color-adjust: none; }
      .button-shutter { border: 4px solid; }
    }

    """##

  private static let demo35 = ##"""
    // State: two people exchange pictures that neither sees before both have sent (docs/STATE.md). This is the overview in
    // the colours of the phases, and what was revealed; the recorder is in state-recorder.js.
    //
    // | view      | leads to                                                                                     |
    // |-----------|----------------------------------------------------------------------------------------------|
    // | overview  | recorder: a person is chosen, or an answer; reveal: a revealed thread is opened               |
    // | recorder  | overview: sent, or given up                                                                  |
    // | reveal    | overview: back, or what was revealed has ended; recorder: another                             |

    import { ServerClock } from "./server-clock.js";
    import { nameOf, offlineNote, picker } from "./people.js";
    import { Recorder } from "./state-recorder.js";
    import { Reveal } from "./state-reveal.js";
    import {
      announce, avatar, bag, button, confirm, count, duration, field, fill, fullTime, h, keyedList, sentence,
    } from "./ui.js";

    const recordingTimes = [5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000];
    /** What needs me comes first. */
    const urgency = ["received", "revealed", "sent", "expired", "idle"];

    /** What a phase is called, and what it means for me. Colour alone says nothing to those who do not see it. */
    const phases = {
      sent: { word: "Sealed", sign: "◔", text: (name) => `Yours is sealed. ${name} has not answered yet.` },
      received: { word: "Your turn", sign: "●", text: (name) => `${name} has sealed something for you. Answer to see it.` },
      revealed: { word: "Revealed", sign: "◉", text: (name) => `You and ${name} can see both.` },
      expired: { word: "Expired", sign: "○", text: () => "Nobody answered in time. Nobody ever sees what was sealed." },
      idle: { word: "Blocked", sign: "–", text: (name) => `You have blocked ${name}.` },
    };

    class StateApp {
      #held = bag();
      #view = "overview";
      #recorder = null;
      #reveal = null;

      constructor(root, session) {
        this.root = root;
        this.session = session;
        const { client } = session;
        this.threads = client.state.threads();
        this.events = client.state.events();
        this.clock = new ServerClock(session, () => this.#tick());
        this.#held.keep(this.clock.end);
        this.#build();
        this.#held.keep(this.threads.on("change", (change) => this.#changed(change)));
        this.#held.keep(this.threads.on("subscribed", () => this.#draw()));
        this.#held.keep(session.store.onChange(() => this.#draw()));
        this.#held.keep(this.events.on("publication", (event) => this.#heard(event)));
        session.news.isSeen = (event, user) => this.#isSeen(event, user);
        this.#held.keep(() => { session.news.isSeen = () => false; });
        this.#held.every(1000, () => this.#tick());
        this.#draw();
      }

      /** `#/state/ben` opens what there is with that person, the recorder otherwise. */
      route([user]) {
        if (user && user !== this.session.user) {
          this.threads.ready().then(() => {
            if (this.list.isConnected) this.#enter(user);
          }, () => {});
        }
      }

      unmount() {
        this.#recorder?.end();
        this.#reveal?.end();
        this.#held.end();
        fill(this.root);
      }

      #name(user) { return nameOf(this.session, user); }

      #build() {
        this.list = h("ul", { class: "state-list", "aria-label": "Your exchanges" });
        this.rows = keyedList(this.list, {
          key: (thread) => thread.with, make: (thread) => this.#makeRow(thread), update: (row, thread) => row.show(thread),
        });
        const find = this.picker = picker(this.session, {
          label: "Send a State to", verb: "Send a State to", choose: (user, name) => this.#enter(user, name),
        });
        this.#held.keep(() => find.end());
        const offline = offlineNote(this.session, "You are offline. This is how things stood; the times run on, on the "
          + "server. Nothing that was sealed is lost. To record, you need a connection.");
        this.#held.keep(() => offline.end());
        this.empty = this.#buildEmpty();
        this.overview = h("div", { class: "sided" },
          h("div", { class: "sided-side" }, h("div", { class: "card" }, find.element), this.#buildSettings(),
            this.clock.controls()),
          h("div", { class: "sided-main stack" }, offline.element, this.list, this.empty));
        this.detail = h("div", { class: "state-detail", hidden: true });
        this.title = h("h1", { tabindex: "-1" }, "State");
        fill(this.root, h("div", { class: "state-app stack" }, this.title, this.overview, this.detail));
      }

      /** How an exchange goes, for those who have none. */
      #buildEmpty() {
        const step = (sign, phase, title, text) => h("li", { class: "state-step", dataset: { phase } },
          h("span", { class: "state-step-sign", "aria-hidden": true }, sign), h("strong", {}, title),
          h("span", { class: "soft small" }, text));
        return h("section", { class: "card state-empty", hidden: true },
          h("h2", {}, "Nobody goes first"),
          h("p", { class: "soft" }, "Show somebody what you are doing right now. Neither of you sees anything before both "
            + "have sent."),
          h("ol", { class: "state-steps" },
            step("📸", "sent", "You record", "Two pictures, you and what you see, against the clock."),
            step("🔒", "received", "It is sealed", "The other has a day to answer, and knows nothing of what is in it."),
            step("✨", "revealed", "Both see both", "For a day. Then the pictures are deleted.")),
          h("div", { class: "row" }, button("Choose somebody", () => this.picker.input.focus(), { kind: "primary" })),
          h("p", { class: "soft small" }, "To try it by yourself, sign in with another name in a second window."));
      }

      #buildSettings() {
        const { client, toast } = this.session;
        const { element, input } = field("Your own time to record", {
          tag: "select", on: {
            change: async () => {
              try {
                await client.state.settings({ limit: Number(input.value) });
                toast("Your time to record is set, on all your devices.");
              } catch (error) {
                toast(sentence(error));
              }
            },
          },
          children: [0, ...recordingTimes].map((time) => h("option", { value: time },
            time === 0 ? "as the server has it" : duration(time))),
        }, "For your first pictures, and for answers where the other has not chosen a time.");
        const details = h("details", { class: "side-settings card", on: {
          toggle: async () => {
            if (!details.open) return;
            try {
              const { limit } = await client.state.settings();
              if ([...input.options].some(({ value }) => value === String(limit))) input.value = String(limit);
            } catch {
              // The choice is there without what holds now.
            }
          },
        } }, h("summary", {}, "Settings"), element);
        return details;
      }

      #makeRow(first) {
        const user = first.with;
        const picture = avatar(user, this.#name(user));
        const name = h("h2", { class: "state-name" });
        const badge = h("span", { class: "state-badge" });
        const text = h("p", { class: "state-text" });
        const left = h("p", { class: "state-left" });
        const actions = h("div", { class: "row state-actions" });
        const row = h("li", { class: "state-row" }, h("span", { class: "state-ring" }, picture),
          h("div", { class: "state-what" }, h("div", { class: "state-title" }, name, badge), text, left), actions);
        let drawn = "";
        row.tick = () => {
          const { phase, since, until } = row.thread;
          const rest = until - this.clock.now();
          const over = phase === "expired" || !until ? "" : rest <= 0 ? "ends at any moment" : `${duration(rest)} left`;
          if (left.textContent !== over) left.textContent = over;
          left.title = until ? `until ${fullTime(until)}` : "";
          // The ring around the picture is the time that is left.
          const share = phase === "expired" ? 1 : Math.min(1, Math.max(0, rest / Math.max(1, until - since)));
          row.style.setProperty("--left", `${Math.round(share * 360)}deg`);
        };
        row.show = (thread) => {
          row.thread = thread;
          const called = this.#name(user);
          const what = phases[thread.phase] ?? phases.idle;
          row.style.setProperty("--state", thread.colour);
          row.dataset.phase = thread.phase;
          this.session.store.showPicture(picture, user);
          picture.rename(called);
          name.textContent = called;
          badge.textContent = `${what.sign} ${what.word}${thread.unread ? ", new" : ""}`;
          const limit = thread.phase === "received" && thread.limit ? ` You will have ${duration(thread.limit)}.` : "";
          text.textContent = what.text(called) + limit;
          row.tick();
          const wanted = `${thread.phase} ${thread.unread} ${thread.blocked} ${called}`;
          if (wanted === drawn) return;
          const hadFocus = actions.contains(document.activeElement);
          drawn = wanted;
          fill(actions, this.#actions(thread, called));
          if (hadFocus) actions.querySelector("button")?.focus();
        };
        return row;
      }

      #actions(thread, name) {
        const user = thread.with;
        const { state } = this.session.client;
        const block = button("Block", () => this.#block(user), { kind: "quiet", label: `Block ${name}` });
        switch (thread.phase) {
          case "received":
            return [button("Record your answer", () => this.#record(user), { kind: "primary" }), block];
          case "revealed":
            return [button(thread.unread ? "Look at it" : "Look again", () => this.#look(user), {
              kind: thread.unread ? "primary" : "", label: `Look at what you and ${name} have sent`,
            }), block];
          case "expired":
            return [button("Try again", () => this.#record(user), { label: `Send ${name} another` }),
              button("Put away", () => this.#do(() => state.seen(user)), { kind: "quiet", label: `Put ${name} away` })];
          case "sent": return [block];
          default:
            return thread.blocked ? [button("Unblock", () => this.#unblock(user), { label: `Unblock ${name}` })] : [];
        }
      }

      async #do(f) {
        try {
          await f();
        } catch (error) {
          this.session.toast(sentence(error));
        }
      }

      async #block(user) {
        const name = this.#name(user);
        const { state, clique } = this.session.client;
        const isSure = await confirm(`Block ${name}?`, [
          `What is open between you is over at once, and yours is destroyed. Nothing of ${name} reaches you any more, `
          + "here and in Clique.",
          `${name} is not told: for them it looks as if you did not answer. You can unblock at any time.`,
        ], { action: "Block", danger: true });
        if (!isSure) return;
        await this.#do(() => Promise.all([state.block(user), clique.block(user)]));
        this.session.toast(`${name} is blocked.`, { undo: () => this.#unblock(user) });
      }

      #unblock(user) {
        const { state, clique } = this.session.client;
        return this.#do(() => Promise.all([state.unblock(user), clique.unblock(user)]));
      }

      /** A person was chosen: what is open decides what comes. */
      #enter(user, name) {
        const thread = this.threads.view.get(user);
        if (thread?.phase === "revealed" && thread.unread) return this.#look(user);
        if (thread?.phase === "sent") {
          return this.session.toast(`Yours is sealed. ${this.#name(user)} answers next, or it expires.`);
        }
        if (thread?.blocked) return this.session.toast(`You have blocked ${this.#name(user)}. Unblock first.`);
        this.#record(user, name);
      }

      #record(user, name = this.#name(user)) {
        const thread = this.threads.view.get(user);
        this.#endDetail();
        this.#show("recorder");
        this.#recorder = new Recorder(this.detail, {
          session: this.session, to: user, name, limit: thread?.phase === "received" ? thread.limit : undefined,
          isAnswer: thread?.phase === "received", learn: (now) => this.clock.told(now),
          close: (text, phase) => {
            this.#recorder = null;
            if (phase === "revealed") this.told = { user, time: Date.now() };
            this.#back(user);
            if (phase === "revealed") this.#revealSoon(user);
            if (phase) announce(text); else if (text) this.session.toast(text);
          },
        });
      }

      /** Who has answered sees at once what it was for. */
      #revealSoon(user) {
        if (this.threads.view.get(user)?.phase === "revealed") return this.#look(user);
        const off = this.threads.on("change", ({ key, data }) => {
          if (key !== user) return;
          off();
          if (data?.phase === "revealed" && this.#view === "overview") this.#look(user);
        });
        this.#held.keep(off);
      }

      #show(view) {
        this.#view = view;
        this.overview.hidden = view !== "overview";
        this.title.hidden = view !== "overview";
        this.detail.hidden = view === "overview";
        if (view === "overview") fill(this.detail);
        scrollTo(0, 0);
      }

      #endDetail() {
        this.#recorder?.end();
        this.#reveal?.end();
        this.#recorder = this.#reveal = null;
      }

      #back(user = this.#reveal?.user) {
        this.#endDetail();
        this.#show("overview");
        // The same person can be chosen by an address again.
        if (location.hash.startsWith("#/state/")) history.replaceState(null, "", "#/state");
        this.#draw();
        (user && this.rows.rows.get(user)?.querySelector("button") || this.title).focus();
      }

      #look(user) {
        const thread = this.threads.view.get(user);
        if (thread?.phase !== "revealed" || !thread.mine || !thread.theirs) return;
        this.#endDetail();
        this.#show("reveal");
        this.#reveal = new Reveal(this.detail, {
          session: this.session, thread, name: this.#name(user), now: () => this.clock.now(), back: () => this.#back(),
          again: () => this.#record(user),
        });
      }

      #changed({ key, data }) {
        this.clock.ask();
        if (this.#reveal?.user === key) {
          if (this.#reveal.isOf(data)) {
            this.#reveal.draw(data);
          } else {
            this.vanished = { user: key, time: Date.now() };
            this.#back();
          }
        }
        this.#draw();
      }

      #heard({ data, time }) {
        this.clock.heard(time);
        if (data?.event === "ended" && this.#reveal?.user === data.with) this.#back();
      }

      /** Whether what has happened is on the screen, or was told already by the recorder. */
      #isSeen(event, user) {
        if (event === "reacted") return this.#reveal?.user === user;
        const isJust = (what) => what?.user === user && Date.now() - what.time < 5000;
        // What vanishes while one looks at it needs a word.
        if (event === "ended") return this.#view === "overview" && !isJust(this.vanished);
        if (event === "revealed" && isJust(this.told)) return true;
        return this.#view === "overview" || this.#recorder?.to === user;
      }

      #draw() {
        const threads = [...this.threads.view.values()]
          .sort((a, b) => urgency.indexOf(a.phase) - urgency.indexOf(b.phase) || b.since - a.since);
        this.rows.show(threads);
        this.empty.hidden = threads.length > 0 || this.threads.state !== "subscribed";
        const waiting = threads.filter(({ phase }) => phase === "received").length;
        const text = waiting ? `${count(waiting, "exchange")} ${waiting === 1 ? "waits" : "wait"} for your answer` : "";
        if (text !== this.lastWaiting && text) announce(text);
        this.lastWaiting = text;
      }

      #tick() {
        for (const row of this.rows.rows.values()) row.tick();
        this.#reveal?.tick();
      }
    }

    /** Shows State in `root`. */
    export function mount(root, session) {
      const app = new StateApp(root, session);
      return { unmount: () => app.unmount(), route: (parts) => app.route(parts) };
    }

    """##

  private static let demo36 = ##"""
    // Small helpers for pages without a framework. What people have written reaches the page as text only, never as markup.

    const properties = new Set(["checked", "disabled", "hidden", "selected", "indeterminate", "srcObject", "muted",
      "open", "readOnly", "required"]);
    const vectorNamespace = "http://www.w3.org/2000/svg";

    /** Sets attributes of an element: `on` holds listeners, `class`, `dataset` and `css` (of the CSSOM) what they say. */
    export function set(element, attributes) {
      for (const [name, value] of Object.entries(attributes ?? {})) {
        if (name === "on") {
          for (const [event, listener] of Object.entries(value)) {
            if (listener) element.addEventListener(event, listener);
          }
        } else if (name === "dataset") {
          for (const [key, text] of Object.entries(value)) element.dataset[key] = text;
        } else if (name === "css") {
          for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
        } else if (name === "value") {
          // An option takes its text where the attribute is missing, so "" has to be there; a field shows its property.
          if (element instanceof HTMLOptionElement) element.setAttribute("value", value);
          else if (element.value !== value) element.value = value ?? "";
        } else if (properties.has(name)) {
          if (element[name] !== value) element[name] = value;
        } else if (value === null || value === undefined || value === false) {
          element.removeAttribute(name);
        } else {
          const text = value === true ? (name.startsWith("aria-") ? "true" : "") : String(value);
          if (element.getAttribute(name) !== text) element.setAttribute(name, text);
        }
      }
      return element;
    }

    function append(element, children) {
      for (const child of children.flat(Infinity)) {
        if (child === null || child === undefined || child === false || child === "") continue;
        element.append(child instanceof Node ? child : document.createTextNode(String(child)));
      }
      return element;
    }

    /**
     * An element: `h("button", { class: "button", on: { click } }, "Send")`. Children are nodes, text, arrays, or nothing.
     * An `aria-` attribute of `false` is left out: write "false" where it has to be there.
     */
    export function h(tag, attributes, ...children) {
      return append(set(document.createElement(tag), attributes), children);
    }

    /** The same for SVG. */
    export function svg(tag, attributes, ...children) {
      return append(set(document.createElementNS(vectorNamespace, tag), attributes), children);
    }

    /** Puts these children in place of what the element has. */
    export function fill(element, ...children) {
      element.replaceChildren();
      return append(element, children);
    }

    /**
     * Keeps the children of `parent` as `items` say, in their order, without making those again that stay: the focus and
     * the place of scrolling stay with them. `make(item)` gives an element, `update(element, item)` is called for every
     * item.
     */
    export function keyedList(parent, { key, make, update }) {
      const rows = new Map();
      return {
        rows,
        show(items) {
          const wanted = new Set();
          let place = parent.firstChild;
          const focused = parent.contains(document.activeElement) ? document.activeElement : null;
          for (const item of items) {
            const id = key(item);
            if (wanted.has(id)) continue;
            wanted.add(id);
            let row = rows.get(id);
            if (!row) {
              row = make(item);
              rows.set(id, row);
            }
            update?.(row, item);
            if (row === place) {
              place = place.nextSibling;
            } else {
              parent.insertBefore(row, place);
            }
          }
          for (const [id, row] of rows) {
            if (wanted.has(id)) continue;
            row.remove();
            rows.delete(id);
          }
          // A row that was moved has lost the focus on the way.
          if (focused && focused !== document.activeElement && parent.contains(focused)) {
            focused.focus({ preventScroll: true });
          }
        },
        clear() {
          for (const row of rows.values()) row.remove();
          rows.clear();
        },
      };
    }

    const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
    const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });
    const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
    const longDay = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
    const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
    const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

    let ahead = 0;

    /** What time it is on the server, as far as the page was told (server-clock.js). Times that it shows are from there. */
    export function serverNow() {
      return Date.now() + ahead;
    }

    export function setServerNow(now) {
      ahead = now - Date.now();
    }

    function midnight(time) {
      return new Date(time).setHours(0, 0, 0, 0);
    }

    /** Days since `time`, by the calendar: 0 for today. */
    export function daysAgo(time, now = serverNow()) {
      return Math.round((midnight(now) - midnight(time)) / 86_400_000);
    }

    /** The time of day, `09:41`. Times are milliseconds. */
    export function timeOfDay(time) {
      return clock.format(time);
    }

    /** As short as it can be: the time of day today, the weekday within a week, else the date. */
    export function shortTime(time, now = serverNow()) {
      const days = daysAgo(time, now);
      if (days <= 0) return clock.format(time);
      return days < 7 ? weekday.format(time) : day.format(time);
    }

    /** "Today", "yesterday", or the day: for the lines between the messages of different days. */
    export function dayName(time, now = serverNow()) {
      const days = daysAgo(time, now);
      if (days < 0 || days > 1) return longDay.format(time);
      const text = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(-days, "day");
      return text.charAt(0).toLocaleUpperCase() + text.slice(1);
    }

    /** The whole date, for titles. */
    export function fullTime(time) {
      return full.format(time);
    }

    /** "5 min ago", or "in 3 hr". */
    export function fromNow(time, now = serverNow()) {
      const seconds = (time - now) / 1000;
      const amount = Math.abs(seconds);
      if (amount < 45) return relative.format(0, "second");
      if (amount < 3_300) return relative.format(Math.round(seconds / 60), "minute");
      if (amount < 79_200) return relative.format(Math.round(seconds / 3_600), "hour");
      return relative.format(Math.round(seconds / 86_400), "day");
    }

    /** A length of time: "45 s", "12 min", "3 h 5 min", "2 days". */
    export function duration(milliseconds) {
      const seconds = Math.max(0, Math.round(milliseconds / 1000));
      if (seconds < 60) return `${seconds} s`;
      const minutes = Math.round(seconds / 60);
      if (minutes < 60) return `${minutes} min`;
      const hours = Math.floor(minutes / 60);
      if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
      return `${Math.round(hours / 24)} days`;
    }

    /** A `<time>` with the whole date as its title. */
    export function timeTag(time, text = shortTime(time), attributes) {
      return h("time", { datetime: new Date(time).toISOString(), title: fullTime(time), ...attributes }, text);
    }

    /** What a number of things is called: `count(2, "message", "messages")`. */
    export function count(number, one, many = `${one}s`) {
      return `${number.toLocaleString()} ${number === 1 ? one : many}`;
    }

    /** What waits to be read, in words: "2 new messages, 1 request". */
    export function newsText(messages, requests) {
      return [messages && count(messages, "new message"), requests && count(requests, "request")].filter(Boolean).join(", ");
    }

    let spoken = 0;

    /** Says it to those who listen to the page: the live region `#live`, or `#alert` where it cannot wait. */
    export function announce(text, { urgent = false } = {}) {
      const region = document.getElementById(urgent ? "alert" : "live");
      if (!region) return;
      // The same text twice is a change only with another character: one that nobody reads out.
      spoken += 1;
      region.textContent = spoken % 2 ? text : `${text}\u00a0`;
    }

    /** A number in 0..<360 that stands for the text: the same name has the same colour everywhere. */
    export function hue(text) {
      let sum = 2_166_136_261;
      for (const character of String(text)) sum = Math.imul(sum ^ character.codePointAt(0), 16_777_619);
      return (sum >>> 0) % 360;
    }

    /** The first letters of a name, two at most. */
    export function initials(name) {
      const words = String(name).trim().split(/\s+/u).filter(Boolean);
      const letters = words.length > 1 ? [words[0], words[words.length - 1]] : words;
      return letters.map((word) => Array.from(word)[0].toLocaleUpperCase()).join("") || "?";
    }

    /** A round picture of somebody: initials on a colour until `show(address)`. Decoration: the name is beside it. */
    export function avatar(user, name = user, size = "") {
      const element = h("span", {
        class: `avatar ${size ? `avatar-${size}` : ""}`, "aria-hidden": true, css: { "--hue": String(hue(user)) },
      }, initials(name));
      element.show = (address) => fill(element, h("img", { src: address, alt: "" }));
      element.rename = (text) => {
        if (!element.querySelector("img") && element.textContent !== initials(text)) element.textContent = initials(text);
      };
      return element;
    }

    /** A button. `kind` is "primary", "danger", "quiet" or "icon"; an icon needs a `label`. */
    export function button(text, click, { kind = "", label, ...attributes } = {}) {
      return h("button", {
        type: "button", class: `button ${kind ? `button-${kind}` : ""}`, "aria-label": label,
        title: kind === "icon" ? label : undefined, on: { click }, ...attributes,
      }, text);
    }

    /** What an empty screen says: what it is for, and what to do first. */
    export function emptyState(title, text, ...actions) {
      return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), h("p", {}, text),
        actions.length ? h("div", { class: "row row-centre" }, actions) : null);
    }

    let names = 0;

    /** An id that nothing else on the page has. */
    export function uniqueId(prefix = "id") {
      names += 1;
      return `${prefix}-${names}`;
    }

    /** An input with its label above, and help below: `field("Name", { maxlength: 40 }, "As others see it")`. */
    export function field(label, attributes = {}, help = "") {
      const { tag = "input", id = uniqueId("field"), children = [], ...rest } = attributes;
      const note = help ? h("p", { class: "field-help", id: `${id}-help` }, help) : null;
      const input = h(tag, { id, class: "input", "aria-describedby": note ? note.id : undefined, ...rest }, children);
      const element = h("div", { class: "field" }, h("label", { for: id }, label), input, note);
      return { element, input };
    }

    /**
     * A dialog that is open until it is closed: with Escape, with its buttons, or `close(value)`. `build(close)` gives its
     * content. The promise has the value, undefined where it was dismissed; the focus returns to where it was, unless somebody
     * has taken it somewhere else by then.
     */
    export function openDialog(title, build, { className = "" } = {}) {
      return new Promise((resolve) => {
        const heading = h("h2", { class: "dialog-title", id: uniqueId("dialog") }, title);
        const element = h("dialog", { class: `dialog ${className}`, "aria-labelledby": heading.id });
        const before = document.activeElement;
        let result;
        const close = (value) => {
          result = value;
          element.close();
        };
        append(element, [heading, build(close, element)]);
        element.addEventListener("click", (event) => {
          if (event.target === element) close(undefined);
        });
        element.addEventListener("close", () => {
          element.remove();
          // The browser tells of the end some moments later, when a person may be writing again.
          if (document.activeElement === document.body && before?.isConnected) before.focus();
          resolve(result);
        });
        document.body.append(element);
        element.showModal();
      });
    }

    /** Asks whether to do it: `await confirm("Delete?", "It is gone for all.", { action: "Delete", danger: true })`. */
    export async function confirm(title, text, { action = "OK", cancel = "Cancel", danger = false } = {}) {
      const paragraphs = [text].flat().filter(Boolean);
      const answer = await openDialog(title, (close) => [
        paragraphs.map((paragraph) => (paragraph instanceof Node ? paragraph : h("p", {}, paragraph))),
        h("div", { class: "dialog-actions" },
          button(cancel, () => close(false), { kind: "quiet", autofocus: danger }),
          button(action, () => close(true), { kind: danger ? "danger" : "primary", autofocus: !danger })),
      ]);
      return answer === true;
    }

    /** What went wrong, as a sentence. */
    export function sentence(error) {
      const text = error?.message ? String(error.message) : String(error);
      return text.charAt(0).toLocaleUpperCase() + text.slice(1);
    }

    /** Calls `f` once things have rested for `delay` milliseconds; `.now()` does not wait,
     * `.cancel()` forgets it, and `.isWaiting()` says whether it is due. */
    export function rested(f, delay) {
      let timer;
      let waiting = null;
      const now = () => {
        clearTimeout(timer);
        const given = waiting;
        waiting = null;
        if (given) f(...given);
      };
      const call = (...given) => {
        waiting = given;
        clearTimeout(timer);
        timer = setTimeout(now, delay);
      };
      call.now = now;
      call.isWaiting = () => waiting !== null;
      call.cancel = () => {
        clearTimeout(timer);
        waiting = null;
      };
      return call;
    }

    /** Calls `f` at most once for each frame that is drawn, however often it is asked to. */
    export function onceAFrame(f) {
      let asked = false;
      return () => {
        if (asked) return;
        asked = true;
        // A page in the background draws no frames, and still has to be right when it is looked at.
        const run = () => {
          asked = false;
          f();
        };
        if (document.hidden) setTimeout(run, 50); else requestAnimationFrame(run);
      };
    }

    /** Things to undo when a screen is left: `keep(off)` takes functions, `end()` calls them, the last one first. */
    export function bag() {
      const held = [];
      return {
        keep(f) {
          held.push(f);
          return f;
        },
        listen(target, name, listener, options) {
          target.addEventListener(name, listener, options);
          held.push(() => target.removeEventListener(name, listener, options));
        },
        every(milliseconds, f) {
          const timer = setInterval(f, milliseconds);
          held.push(() => clearInterval(timer));
        },
        end() {
          for (const f of held.splice(0).reverse()) f();
        },
      };
    }

    /** Whether the person wants things not to move. */
    export function calm() {
      return matchMedia("(prefers-reduced-motion: reduce)").matches;
    }

    """##

  static let console: [(name: String, digest: String, text: String)] = [
    ("actions.js", "0e50157023458e2a3b14f9ccf0b01051", console0),
    ("address.js", "da0b70c77e4e1067e1c7c393d706c152", console1),
    ("apps.js", "bc307f42e6ef1514287c35cfa53e393b", console2),
    ("channel-history.js", "bace30d8eb8667116b42d999fe67c37c", console3),
    ("channel-members.js", "d66dab160dc0059df8bd3660e73d30c6", console4),
    ("channel-publish.js", "ac822b4325268ec8bc7268c1fe3e9ec6", console5),
    ("channel-tail.js", "18977a81733c63160c72c69eaa403c0a", console6),
    ("channel.js", "e83ae6957160d3cefa8363c1021084f8", console7),
    ("channels.js", "ff1afb4982313e69e7282daf563b41ee", console8),
    ("console.css", "74b819cce0409a610ccf5ca854b42ebb", console9),
    ("filter.js", "fd3d0345cf892e5623f247876d5b2a2d", console10),
    ("format.js", "c66e4fe8628b8ef4e6bb88248c47fe27", console11),
    ("index.html", "079aaefd166f660e5940a8724239078e", console12),
    ("limit-names.js", "8103793a9f8acf9e1a7ca7acf903c36a", console13),
    ("limits.js", "c36b2982182cdb7aa34877a80caa8184", console14),
    ("links.js", "c92712b6b3715b818c9e2f3684ad8555", console15),
    ("live.js", "a2442e2aa76b43d47fc9fa18b3a6f64e", console16),
    ("overview.js", "47ac6f5275b5fd13ed98d634fd60f2b6", console17),
    ("parts.js", "e22c98e9db59a481bb58901ba0e85407", console18),
    ("people.js", "eed942ac0a8763faac4603969ec2a19a", console19),
    ("plot.js", "8e299870d5825b77c821abd8ca9b780b", console20),
    ("server.js", "1f3d377e3a3942561fd8f2c7de97ecc2", console21),
    ("settings.js", "5fd78c63ec97666ff8f67921e56d26d0", console22),
    ("shell.js", "dde1b8a395bd5271274d4ae9af4f46c8", console23),
    ("sign-in.js", "07ed1b809173e17b89f3454f3c00d51a", console24),
    ("table.js", "9a33b36167652ca384b8141f037eb42b", console25),
    ("users.js", "989c8bb448bb8902b2bcbdf169635df3", console26),
    ("webhooks.js", "3b21f94a221f35ed08091549022f87d4", console27),
    ("why.js", "5924d65c86313c98bee39102e1910104", console28),
  ]

  private static let console0 = ##"""
    // What an operator does to people and channels. Each asks first, and says what it does.

    import { field } from "./ui.js";
    import { ask, choice } from "./parts.js";
    import { call } from "./server.js";

    const day = 86_400;
    const inSeconds = (more) => Math.floor(Date.now() / 1000) + more;

    function reasonField(help = "The client is told. At most 123 bytes.") {
      return field("Reason", { maxlength: 123, autocomplete: "off" }, help);
    }

    /** `target`: `{ user }` or `{ client }`; `name`: how it is called in sentences. */
    export function disconnect(context, target, name) {
      const back = choice("Afterwards", [
        ["3503", "the client stays away"], ["4000", "the client may come back at once"],
      ]);
      const reason = reasonField();
      return ask(context, {
        title: `Disconnect ${name}?`, action: "Disconnect", fields: [back, reason],
        text: [
          target.client ? "This connection ends on its gateway." : "All connections of this user end, on every gateway.",
          "It keeps nobody from connecting again: revoke the tokens, or suspend the user, for that."],
        run: (key) => call("disconnect", {
          ...target, code: Number(back.input.value), reason: reason.input.value || undefined, idempotency_key: key,
        }),
        done: () => `Every gateway has disconnected ${name}.`,
      });
    }

    export function unsubscribe(context, target, name, channel) {
      const back = choice("Afterwards", [["2000", "they stay unsubscribed"], ["2500", "their clients subscribe again"]]);
      return ask(context, {
        title: `Unsubscribe ${name}?`, action: "Unsubscribe", fields: [back],
        text: [`The subscription to ${channel} ends; the connection stays.`,
          "Where the channel lets people in, they may subscribe again."],
        run: (key) => call("unsubscribe", { ...target, channel, code: Number(back.input.value), idempotency_key: key }),
        done: () => `${name} is not subscribed to ${channel} any more.`,
      });
    }

    export function revokeTokens(context, user) {
      return ask(context, {
        title: `Revoke the tokens of ${user}?`, action: "Revoke",
        text: ["Every token of this user that was issued until now is refused from here on.",
          "Connections that rest on one of them end.",
          "It cannot be taken back. Your backend can issue new tokens, with which the user signs in again."],
        run: (key) => call("invalidate_user_tokens", { user, idempotency_key: key }),
        done: () => `The tokens of ${user} that were issued until now are revoked.`,
      });
    }

    export function revokeToken(context) {
      const uid = field("The token's id (jti)", { class: "input mono", autocomplete: "off", spellcheck: "false",
        maxlength: 1024 });
      return ask(context, {
        title: "Revoke one token?", action: "Revoke", fields: [uid],
        text: "The token is refused from here on, and the connections that rest on it end. It cannot be taken back.",
        run: (key) => call("revoke_token", { uid: uid.input.value, idempotency_key: key }),
        done: () => `The token ${uid.input.value} is revoked.`,
      });
    }

    export function suspend(context, user) {
      const until = choice("Until", [
        [String(3600), "in an hour"], [String(day), "tomorrow at this time"], [String(7 * day), "in a week"],
        [String(30 * day), "in thirty days"], ["", "it is lifted"],
      ]);
      const reason = reasonField("For operators. The user does not see it.");
      return ask(context, {
        title: `Suspend ${user}?`, action: "Suspend", fields: [until, reason],
        text: ["The user is sent away and not let in, whatever token they show. To others they look as if they were away.",
          "What they wrote stays. It can be lifted at any time."],
        run: (key) => call("user_suspend", {
          user, reason: reason.input.value || undefined, idempotency_key: key,
          expire_at: until.input.value ? inSeconds(Number(until.input.value)) : undefined,
        }),
        done: () => `${user} is suspended.`,
      });
    }

    export function unsuspend(context, user) {
      return ask(context, {
        title: `Let ${user} in again?`, action: "Lift the suspension", isDanger: false,
        text: "From now on the user can sign in with a token that holds.",
        run: (key) => call("user_unsuspend", { user, idempotency_key: key }),
        done: () => `${user} can sign in again.`,
      });
    }

    export function deleteUser(context, user) {
      const ban = choice("The id", [["", "may be used again"], ["ban", "stays revoked, as long as revocations last"]]);
      return ask(context, {
        title: `Delete everything of ${user}?`, action: "Delete for good", fields: [ban], repeat: user,
        text: [
          "All that this server keeps of the user is deleted: publications, entries of maps, what Clique and State keep.",
          "It begins when the order is on disk, goes on over restarts, and cannot be taken back."],
        run: () => call("user_delete", { user, ban: ban.input.value === "ban" || undefined }),
        done: ({ state }) => `The deletion of ${user} is ordered: ${state}.`,
      });
    }

    export function deletePublication(context, channel, offset) {
      return ask(context, {
        title: `Delete publication ${offset}?`, action: "Delete",
        text: [`Its content is removed from the history of ${channel}, and subscribers are told that it was deleted.`,
          "Who has seen it has seen it. It cannot be taken back."],
        run: (key) => call("delete", { channel, offset, idempotency_key: key }),
        done: () => `Publication ${offset} of ${channel} is deleted.`,
      });
    }

    export function removeHistory(context, channel) {
      return ask(context, {
        title: `Remove the history of ${channel}?`, action: "Remove it all", repeat: channel,
        text: ["All publications that the channel keeps are removed. Nobody can recover them, and it cannot be taken back.",
          "Offsets go on from where they are; what is published from now on is kept as before."],
        run: (key) => call("history_remove", { channel, idempotency_key: key }),
        done: () => `The history of ${channel} is removed.`,
      });
    }

    export function removeEntry(context, channel, key) {
      return ask(context, {
        title: `Remove the entry ${key}?`, action: "Remove",
        text: `The key is removed from ${channel}, for everybody who sees the map. It cannot be taken back.`,
        run: (idempotency) => call("map_remove", { channel, key, idempotency_key: idempotency }),
        done: () => `The entry ${key} of ${channel} is removed.`,
      });
    }

    """##

  private static let console1 = ##"""
    // Addresses of pages: everything that one looks at has one, which can be kept and sent to somebody.

    function decoded(part) {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    }

    /** `#/channels/chat%3A42?view=tail` → `{ path: ["channels", "chat:42"], query: { view: "tail" } }`. */
    export function readAddress(hash) {
      const [path, query = ""] = hash.replace(/^#\/?/u, "").split(/\?(.*)/su);
      return {
        path: path.split("/").filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(query)),
      };
    }

    /** The address of a page: `addressOf(["channels", name], { view: "tail" })`. What is empty is left out of the query. */
    export function addressOf(path, query = {}) {
      const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
      const text = new URLSearchParams(given).toString();
      return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
    }

    """##

  private static let console2 = ##"""
    // Clique and State without their contents: reports, who hears nothing of whom and why, groups. No word and no picture
    // of
    // anybody is asked for here.

    import { button, count, field, fill, h, timeTag } from "./ui.js";
    import { addressOf } from "./address.js";
    import { userLink } from "./channel-history.js";
    import { byUnit, number } from "./format.js";
    import { live } from "./live.js";
    import { ask, chip, choice, factList, heading, note, problemBox, views } from "./parts.js";
    import { call } from "./server.js";
    import { pagedList, table } from "./table.js";

    const pageSize = 20;
    const outcomes = [["dismissed", "dismissed: nothing was wrong"], ["warned", "warned"], ["suspended", "suspended"],
      ["other", "something else"]];

    // Reports

    function settle(context, one) {
      const outcome = choice("What was found", outcomes);
      const text = field("Note", { tag: "textarea", rows: 3, maxlength: 1000 }, "For other moderators.");
      return ask(context, {
        title: `Settle report ${one.report}?`, action: "Settle", fields: [outcome, text], isDanger: false,
        text: ["It does nothing to anybody by itself: suspend the user on their page for that.",
          "Whoever has reported sees that it is settled, and not what was found."],
        run: (key) => call("clique_report_settle", {
          report: one.report, outcome: outcome.input.value, note: text.input.value || undefined, idempotency_key: key,
        }),
        done: () => `Report ${one.report} is settled.`,
      });
    }

    function reportColumns(context, reload) {
      return [
        { id: "report", name: "Report", isHead: true, get: (one) => one.report },
        { id: "user", name: "About", get: (one) => one.user, stamp: (one) => one.user, build: (one) => userLink(one.user) },
        { id: "by", name: "By", wide: true, get: (one) => one.by, stamp: (one) => one.by ?? "",
          build: (one) => userLink(one.by) },
        { id: "reason", name: "Reason", get: (one) => one.reason },
        { id: "time", name: "When", className: "fit", get: (one) => one.time, stamp: (one) => one.time,
          build: (one) => timeTag(one.time) },
        { id: "kept", name: "Messages kept", number: true, wide: true, get: (one) => one.kept,
          show: (one) => number(one.kept) },
        { id: "state", name: "State", get: (one) => one.state, stamp: (one) => `${one.state} ${one.outcome ?? ""}`,
          build: (one) => (one.state === "open" ? chip("waits", "warn") : chip(one.outcome ?? "settled", "good")) },
        { id: "actions", name: "", className: "actions", get: () => "", stamp: (one) => one.state,
          build: (one) => context.may("clique_report_settle") && button(
          one.state === "open" ? "Settle…" : "Settle anew…", async () => {
            if (await settle(context, one)) reload();
          }, { kind: "quiet", "aria-label": `Settle report ${one.report}` }) },
      ];
    }

    function reportsView(root, context) {
      const state = choice("Show", [["open", "those that wait"], ["settled", "settled ones"], ["all", "all"]]);
      const user = field("About the user", { class: "input mono", autocomplete: "off", spellcheck: "false" });
      const problem = problemBox(() => pages.reload());
      const summary = h("p", { class: "small soft", role: "status" });
      const rows = table({
        caption: "Reports", note: "in the order in which they came", columns: reportColumns(context, () => pages.reload()),
        key: (one) => one.report, pageSize: 50, isStacked: true,
        empty: () => [h("p", { class: "strong" }, "There are no such reports."),
          h("p", { class: "soft" }, "People report others, and single messages, in Clique.")],
      });
      const pages = pagedList({
        label: "Pages of reports",
        async load(cursor) {
          const answer = await call("clique_reports", {
            state: state.input.value, limit: pageSize, ...(user.input.value ? { user: user.input.value } : {}),
            ...(cursor ? { cursor } : {}),
          });
          return { items: answer.reports, next: answer.cursor, open: answer.open };
        },
        show(items, { open }) {
          problem.show(null);
          rows.show(items);
          summary.textContent = `${count(open, "report")} ${open === 1 ? "waits" : "wait"} for somebody to look.`;
        },
        onError: (error) => problem.show(error),
      });
      state.input.addEventListener("change", () => pages.restart());
      root.append(h("form", { class: "form", on: {
        submit: (event) => {
          event.preventDefault();
          pages.restart();
        },
      } }, state.element, user.element, h("button", { type: "submit", class: "button" }, "Show")),
      summary, problem.element, rows.element, pages.element,
      note(["What was reported is not shown here: ", h("code", {}, "fanfare report show 12"),
        " shows one, and has a line in the audit."]));
      pages.restart();
    }

    // Two people

    const standings = {
      none: "They have no conversation.", requested: "A request waits to be answered.", active: "They have a conversation.",
      declined: "A request was declined.", ended: "The conversation has ended: one of them has left.",
    };

    function pairBox({ standing, by, silence, blocked_by: blocked = [], waiting, conversation }) {
      const facts = factList();
      facts.show({ Standing: standing, By: by, "What is silent": silence, "Waits to be seen": number(waiting),
        Conversation: conversation });
      return h("section", { class: "card stack-tight" }, h("h2", {}, "Clique"), h("p", {}, standings[standing] ?? ""),
        blocked.length > 0 ? note(`Blocked by ${blocked.join(" and ")}.`, "warn") : null, facts.element);
    }

    function threadBox(answer) {
      const facts = factList();
      const phases = Object.entries(answer.phases ?? {}).map(([user, phase]) => `${user}: ${phase}`).join(", ");
      facts.show({ Phases: phases, Pictures: answer.pictures, "Seen by": (answer.seen_by ?? []).join(", ") });
      const hidden = answer.hidden_from ?? [];
      const blocked = answer.blocked_by ?? [];
      return h("section", { class: "card stack-tight" }, h("h2", {}, "State"),
        hidden.length > 0 ? note(`What was sent is not shown to ${hidden.join(" and ")}: a block, or a limit.`,
          "warn") : null,
        blocked.length > 0 ? note(`Blocked by ${blocked.join(" and ")}.`, "warn") : null, facts.element);
    }

    async function showPair(context, place, user, other) {
      const apps = context.session?.apps ?? ["clique", "state"];
      const asked = [
        apps.includes("clique") ? call("clique_pair", { user, other }).then(pairBox) : null,
        apps.includes("state") ? call("state_thread", { user, other }).then(threadBox) : null,
      ].filter(Boolean);
      const boxes = await Promise.all(asked.map((one) => one.catch((error) => note(error.message, "bad"))));
      fill(place, h("div", { class: "halves" }, boxes));
    }

    function pairView(root, context, query) {
      const text = { class: "input mono", autocomplete: "off", spellcheck: "false", autocapitalize: "off", required: true };
      const user = field("Between", { ...text, value: query.user ?? "", placeholder: "ada" });
      const other = field("and", { ...text, value: query.other ?? "", placeholder: "ben" });
      const place = h("div", { role: "status" });
      const run = () => showPair(context, place, user.input.value, other.input.value);
      root.append(h("form", { class: "form", novalidate: true, on: {
        submit: (event) => {
          event.preventDefault();
          const missing = [user, other].find((one) => one.input.value === "");
          if (missing) return missing.input.focus();
          context.replace(["apps"], { view: "pair", user: user.input.value, other: other.input.value });
          run();
        },
      } }, user.element, other.element, h("button", { type: "submit", class: "button button-primary" }, "Look")),
      h("p", { class: "small soft" },
        "What stands here must not reach the two: a block and a declined request are what the apps hide."), place);
      if (query.user && query.other) run();
    }

    // Groups of one user

    function membersText(members) {
      return `${members.length}: ${members.slice(0, 8).join(", ")}${members.length > 8 ? "…" : ""}`;
    }

    function groupsView(root, context, query) {
      const user = field("User", { class: "input mono", autocomplete: "off", spellcheck: "false", value: query.user ?? "",
        placeholder: "ada" });
      const problem = problemBox(() => load());
      const rows = table({
        caption: "Groups", key: (one) => one.conversation, pageSize: 20, columns: [
          { id: "conversation", name: "Group", isHead: true, mono: true, get: (one) => one.conversation.slice(0, 10),
            title: (one) => one.conversation },
          { id: "founder", name: "Founder", get: (one) => one.founder, stamp: (one) => one.founder ?? "",
            build: (one) => userLink(one.founder) },
          { id: "created", name: "Since", className: "fit", wide: true, get: (one) => one.created,
            stamp: (one) => one.created,
            build: (one) => timeTag(one.created) },
          { id: "members", name: "Members", get: (one) => one.members.length,
            show: (one) => membersText(one.members) },
          { id: "blocks", name: "Blocks", number: true, get: (one) => one.blocks.length,
            show: (one) => number(one.blocks.length) },
          { id: "links", name: "Links", number: true, wide: true, get: (one) => one.links,
            show: (one) => number(one.links) },
        ],
        empty: () => h("p", { class: "strong" }, "This user is in no group."),
      });
      rows.element.hidden = true;
      async function load() {
        try {
          const { groups } = await call("clique_groups", { user: user.input.value });
          problem.show(null);
          rows.element.hidden = false;
          rows.show(groups);
        } catch (error) {
          problem.show(error);
        }
      }
      root.append(h("form", { class: "form", on: {
        submit: (event) => {
          event.preventDefault();
          if (!user.input.value) return user.input.focus();
          context.replace(["apps"], { view: "groups", user: user.input.value });
          load();
        },
      } }, user.element, h("button", { type: "submit", class: "button button-primary" }, "Look")), problem.element,
        rows.element);
      if (user.input.value) load();
    }

    // Limits of the apps

    function limitsView(root) {
      const rows = table({
        caption: "Limits of the apps", note: "hit in the last two minutes", key: (one) => one.name, pageSize: 20, columns: [
          { id: "name", name: "Limit", isHead: true, mono: true, get: (one) => one.name },
          { id: "now", name: "At most", number: true, get: (one) => one.most, show: (one) => byUnit(one.most, one.unit) },
        ],
        empty: () => [h("p", { class: "strong" }, "No limit of Clique or State was hit in the last two minutes."),
          h("p", { class: "soft" }, h("a", { href: "#/limits" }, "All limits"))],
      });
      root.append(rows.element);
      return live.watch(() => {
        const found = new Map();
        for (const frame of live.history) {
          for (const [name, value] of frame.limits) {
            if (!name.startsWith("app ")) continue;
            const most = Math.max(value, found.get(name)?.most ?? 0);
            found.set(name, { name: name.slice(4), most, unit: frame.limitUnits.get(name) });
          }
        }
        rows.show([...found.values()]);
      });
    }

    const kinds = {
      reports: { name: "Reports", mount: reportsView }, pair: { name: "Two people", mount: pairView },
      groups: { name: "Groups", mount: groupsView }, limits: { name: "Limits hit", mount: limitsView },
    };

    export function mount(root, context) {
      const tabs = views("What to look at", Object.entries(kinds).map(([id, { name }]) => ({ id, name })));
      const place = h("div", { class: "stack" });
      let view = "";
      let off = null;
      root.append(heading("Clique and State", {
        lead: "What the apps keep about people, without a word or picture of theirs.",
      }), tabs.element, place);
      const apps = context.session?.apps;
      if (apps && !apps.includes("clique") && !apps.includes("state")) {
        tabs.element.hidden = true;
        place.append(h("div", { class: "nothing" }, h("p", { class: "strong" }, "Neither of the two is on."),
          h("p", { class: "soft" }, "They are switched on with ", h("code", {}, "clique.enabled"), " and ",
            h("code", {}, "state.enabled"), ".")));
        return { unmount() {} };
      }
      return {
        route(parts, query) {
          const wanted = query.view ?? (query.user ? "groups" : "reports");
          const id = Object.hasOwn(kinds, wanted) ? wanted : "reports";
          tabs.show(id, (other) => addressOf(["apps"], { view: other === "reports" ? "" : other }));
          if (id === view) return;
          off?.();
          view = id;
          place.replaceChildren();
          off = kinds[id].mount(place, context, query) ?? null;
        },
        unmount() {
          off?.();
        },
      };
    }

    """##

  private static let console3 = ##"""
    // What a channel keeps: publications, the newest first, or the entries of a map. A page at a time, from the server.

    import { button, h, timeTag } from "./ui.js";
    import { deletePublication, removeEntry, removeHistory } from "./actions.js";
    import { addressOf } from "./address.js";
    import { bytes, clockTime, oneLine, pretty, whole } from "./format.js";
    import { jsonCell, problemBox } from "./parts.js";
    import { call } from "./server.js";
    import { pagedList, table } from "./table.js";

    const pageSize = 25;

    /** What a publication is beside its data, for whoever opens it. */
    export function wholePublication(one) {
      const { data, ...rest } = one;
      return `${pretty(data)}\n\n${pretty(rest)}`;
    }

    export function dataLine(one) {
      if (one.tags?.deleted) return "deleted";
      if (one.tags?.edits) return `edits ${one.tags.edits}: ${oneLine(one.data)}`;
      if (one.data === undefined && one.data_bytes > 0) return `${bytes(one.data_bytes)}, too much for a sample`;
      if (one.tags?.deletes) return `deletes ${one.tags.deletes}`;
      return oneLine(one.data);
    }

    export function userLink(user) {
      return user ? h("a", { class: "cell-link", href: addressOf(["users", user]) }, user)
        : h("span", { class: "soft" }, "–");
    }

    function timeCell(time) {
      const isToday = new Date(time).toDateString() === new Date().toDateString();
      return isToday ? timeTag(time, clockTime(time)) : timeTag(time);
    }

    function historyColumns(context, channel, reload) {
      return [
        { id: "offset", name: "Offset", isHead: true, get: (one) => one.offset, show: (one) => whole(one.offset) },
        { id: "time", name: "When", className: "fit", get: (one) => one.time, stamp: (one) => one.time,
          build: (one) => timeCell(one.time) },
        { id: "user", name: "Who", wide: true, get: (one) => one.info?.user, stamp: (one) => one.info?.user ?? "",
          build: (one) => userLink(one.info?.user) },
        { id: "data", name: "Data", className: "block", get: (one) => one.offset,
          stamp: (one) => JSON.stringify([one.data, one.tags]),
          build: (one) => jsonCell(dataLine(one), () => wholePublication(one)) },
        { id: "actions", name: "", className: "actions", get: () => "", stamp: (one) => String(Boolean(one.tags?.deleted)),
          build: (one) => [
            h("a", { class: "button button-quiet", href: addressOf(["why"], { channel, offset: one.offset }),
              "aria-label": `Why did publication ${one.offset} not reach somebody?` }, "Why?"),
            one.tags?.deleted || !context.may("delete") ? null : button("Delete…", async () => {
              if (await deletePublication(context, channel, one.offset)) reload();
            }, { kind: "quiet", "aria-label": `Delete publication ${one.offset}` })] },
      ];
    }

    export function mountHistory(root, context, channel) {
      const problem = problemBox(() => pages.reload());
      const rows = table({
        caption: "History", isTitled: true, note: "the newest first",
        columns: historyColumns(context, channel, () => pages.reload()),
        key: (one) => one.offset, pageSize, isStacked: true,
        empty: () => [h("p", { class: "strong" }, "This channel keeps nothing now."),
          h("p", { class: "soft" }, "How much is kept is history_size and history_ttl of its namespace: see ",
            h("a", { href: addressOf(["settings"], { find: "history" }) }, "the configuration"), ".")],
      });
      const pages = pagedList({
        label: "Pages of the history",
        async load(since) {
          const answer = await call("history", { channel, limit: pageSize, reverse: true, ...(since ? { since } : {}) });
          const items = answer.publications ?? [];
          const last = items.at(-1);
          const hasMore = items.length === pageSize && last.offset > 1;
          return { items, next: hasMore ? { offset: last.offset, epoch: answer.epoch } : undefined };
        },
        show(items) {
          problem.show(null);
          rows.show(items);
        },
        onError: (error) => problem.show(error),
      });
      root.append(
        h("div", { class: "row row-between" },
          h("p", { class: "small soft" }, "The page stays as it was read, however busy the channel is."),
          h("div", { class: "row" }, button("Read the newest", () => pages.restart(), { class: "button button-small" }),
            context.may("history_remove") && button("Remove it all…", async () => {
              if (await removeHistory(context, channel)) pages.restart();
            }, { class: "button button-small button-danger" }))),
        problem.element, rows.element, pages.element);
      pages.restart();
      return { unmount() {} };
    }

    export function mountEntries(root, context, channel) {
      const problem = problemBox(() => pages.reload());
      const rows = table({
        caption: "Entries of the map", isTitled: true, key: (one) => one.key, pageSize, isStacked: true, columns: [
          { id: "key", name: "Key", isHead: true, mono: true, get: (one) => one.key },
          { id: "time", name: "Written", className: "fit", get: (one) => one.time, stamp: (one) => one.time,
            build: (one) => timeCell(one.time) },
          { id: "score", name: "Score", number: true, wide: true, get: (one) => one.score,
            show: (one) => whole(one.score) },
          { id: "data", name: "Data", className: "block", get: (one) => one.key, stamp: (one) => JSON.stringify(one.data),
            build: (one) => jsonCell(oneLine(one.data), () => wholePublication(one)) },
          { id: "actions", name: "", className: "actions", get: () => "",
            build: (one) => context.may("map_remove") && button("Remove…", async () => {
            if (await removeEntry(context, channel, one.key)) pages.reload();
          }, { kind: "quiet", "aria-label": `Remove the entry ${one.key}` }) },
        ],
        empty: () => h("p", { class: "strong" }, "This map has no entries now."),
      });
      const pages = pagedList({
        label: "Pages of the map",
        async load(cursor) {
          const answer = await call("map_list", { channel, limit: pageSize, ...(cursor ? { cursor } : {}) });
          return { items: answer.entries ?? [], next: answer.cursor || undefined };
        },
        show(items) {
          problem.show(null);
          rows.show(items);
        },
        onError: (error) => problem.show(error),
      });
      root.append(
        h("div", { class: "row row-between" },
          h("p", { class: "small soft" }, "In the map's own order. The page stays as it was read."),
          button("Read again", () => pages.restart(), { class: "button button-small" })),
        problem.element, rows.element, pages.element);
      pages.restart();
      return { unmount() {} };
    }

    """##

  private static let console4 = ##"""
    // Who is on a channel: how many at once, their names when that is asked for.

    import { button, count, h } from "./ui.js";
    import { disconnect, unsubscribe } from "./actions.js";
    import { addressOf } from "./address.js";
    import { oneLine, whole } from "./format.js";
    import { factList, problemBox } from "./parts.js";
    import { call } from "./server.js";
    import { table } from "./table.js";

    /** With more members than this, their names come when somebody asks for them: the answer is large. */
    const namedAtOnce = 300;

    function columns(context, channel, reload) {
      const act = (f) => async () => {
        if (await f()) reload();
      };
      return [
        { id: "user", name: "User", isHead: true, get: (one) => one.user, show: (one) => one.user || "without a user",
          href: (one) => (one.user ? addressOf(["users", one.user]) : addressOf(["clients", one.client])) },
        { id: "client", name: "Client", mono: true, wide: true, get: (one) => one.client,
          href: (one) => addressOf(["clients", one.client]) },
        { id: "info", name: "Info", wide: true, mono: true, get: (one) => oneLine(one.conn_info ?? one.chan_info ?? "",
          120),
          show: (one) => [one.conn_info, one.chan_info].filter((part) => part !== undefined)
            .map((part) => oneLine(part, 120)).join(" ") },
        { id: "actions", name: "", className: "actions", get: () => "", build: (one) => [
          context.may("unsubscribe") && button("Unsubscribe…", act(() => unsubscribe(context, { client: one.client },
            one.user || one.client, channel)),
            { kind: "quiet", "aria-label": `Unsubscribe ${one.user || one.client}` }),
          context.may("disconnect") && button("Disconnect…", act(() => disconnect(context, { client: one.client },
            one.user || one.client)),
            { kind: "quiet", "aria-label": `Disconnect ${one.user || one.client}` })] },
      ];
    }

    export function mountMembers(root, context, channel) {
      const controller = new AbortController();
      const facts = factList();
      const problem = problemBox(() => load());
      const more = h("p", { class: "row", hidden: true });
      const rows = table({
        caption: "Members", isTitled: true, isStacked: true, columns: columns(context, channel, () => loadNames()),
          key: (one) => one.client, pageSize: 25,
        sort: { id: "user", down: false },
        empty: () => [h("p", { class: "strong" }, "Presence shows nobody here."),
          h("p", { class: "soft" }, "It is kept where the namespace has presence on: ",
            h("a", { href: addressOf(["settings"], { find: "presence" }) }, "see the configuration"),
            ". How many subscribe is known all the same, and stands above.")],
      });
      rows.element.hidden = true;
      root.append(
        h("div", { class: "row row-between" }, facts.element,
          button("Ask again", () => load(), { class: "button button-small" })),
        problem.element, more, rows.element);

      async function loadNames() {
        more.hidden = true;
        try {
          const { presence, partial } = await call("presence", { channel }, { signal: controller.signal });
          problem.show(null);
          rows.element.hidden = false;
          rows.show(Object.values(presence));
          if (partial) {
            more.hidden = false;
            more.replaceChildren("These are the first 10,000; there are more.");
          }
        } catch (error) {
          if (error.name !== "AbortError") problem.show(error);
        }
      }
      async function load() {
        try {
          const stats = await call("presence_stats", { channel }, { signal: controller.signal });
          problem.show(null);
          facts.show({ "Clients present": whole(stats.num_clients), "Different users": whole(stats.num_users) });
          if (stats.num_clients <= namedAtOnce) return loadNames();
          more.hidden = false;
          more.replaceChildren(`${count(stats.num_clients, "client")}. `,
            button("List them by name", loadNames, { class: "button button-small" }));
        } catch (error) {
          if (error.name !== "AbortError") problem.show(error);
        }
      }
      load();
      return {
        unmount() {
          controller.abort();
        },
      };
    }

    """##

  private static let console5 = ##"""
    // Publishes on a channel. What is typed stays in the window until it was published, whichever page is looked at
    // meanwhile.

    import { announce, button, count, field, fill, h, sentence } from "./ui.js";
    import { addressOf } from "./address.js";
    import { whole } from "./format.js";
    import { call, newKey } from "./server.js";

    const drafts = new Map();
    const mostDrafts = 20;

    function draftOf(channel) {
      let draft = drafts.get(channel);
      if (!draft) {
        draft = { data: '{\n  "text": ""\n}', tags: [], key: "", score: "" };
        drafts.set(channel, draft);
        if (drafts.size > mostDrafts) drafts.delete(drafts.keys().next().value);
      }
      return draft;
    }

    /** What the call takes; throws what is wrong with what was typed. */
    export function bodyOf(channel, draft, isMap) {
      let data;
      try {
        data = JSON.parse(draft.data);
      } catch (error) {
        throw new Error(`The data is not JSON: ${error.message}`, { cause: error });
      }
      if (data === null) throw new Error("The data may be any JSON but null.");
      const tags = draft.tags.filter(({ name }) => name !== "");
      const body = { channel, data };
      if (tags.length > 0) body.tags = Object.fromEntries(tags.map(({ name, value }) => [name, value]));
      if (!isMap) return body;
      if (draft.key === "") throw new Error("An entry of a map needs a key.");
      body.key = draft.key;
      if (draft.score !== "") {
        if (!/^-?\d{1,15}$/u.test(draft.score)) throw new Error("A score is a whole number.");
        body.score = Number(draft.score);
      }
      return body;
    }

    function tagRows(draft) {
      const list = h("div", { class: "stack-tight" });
      const add = button("Add a tag", () => {
        const tag = { name: "", value: "" };
        draft.tags.push(tag);
        list.append(rowOf(tag));
        list.lastElementChild.querySelector("input").focus();
      }, { class: "button button-small" });
      function rowOf(tag) {
        const name = field("Tag", { value: tag.name, class: "input mono", placeholder: "lang", autocomplete: "off" });
        const value = field("Value", { value: tag.value, class: "input mono", placeholder: "en", autocomplete: "off" });
        name.input.addEventListener("input", () => {
          tag.name = name.input.value;
        });
        value.input.addEventListener("input", () => {
          tag.value = value.input.value;
        });
        const row = h("div", { class: "form" }, name.element, value.element, button("✕", () => {
          draft.tags.splice(draft.tags.indexOf(tag), 1);
          row.remove();
          add.focus();
        }, { kind: "icon", label: "Remove this tag" }));
        return row;
      }
      fill(list, draft.tags.map(rowOf));
      return h("div", { class: "stack-tight" }, list, h("div", {}, add));
    }

    function bound(draft, name, label, attributes, help) {
      const made = field(label, { value: draft[name], ...attributes }, help);
      made.input.addEventListener("input", () => {
        draft[name] = made.input.value;
      });
      return made;
    }

    export function mountPublish(root, context, channel, shared) {
      const draft = draftOf(channel);
      const isMap = () => shared.known?.broker.kind === "map";
      const reach = () => (shared.known?.gateways ?? []).reduce((sum, { found }) => sum + (found?.subscribers ?? 0), 0);
      const data = bound(draft, "data", "Data", { tag: "textarea", rows: 8, spellcheck: "false", autocapitalize: "off" },
        "Any JSON but null. Subscribers get it as it stands here, without an author.");
      const key = bound(draft, "key", "Key", { class: "input mono", autocomplete: "off", maxlength: 255 });
      const score = bound(draft, "score", "Score", { class: "input mono", inputmode: "numeric", autocomplete: "off" });
      const map = h("div", { class: "form" }, key.element, score.element);
      const problem = h("p", { class: "field-error", role: "alert" });
      const done = h("p", { class: "note note-good", hidden: true });
      const submit = h("button", { type: "submit", class: "button button-primary" }, "Publish");
      // A call whose answer was lost is made again with its key as long as nothing was changed, and so done once.
      let sent = { text: "", key: "" };
      const onSubmit = async (event) => {
        event.preventDefault();
        if (submit.getAttribute("aria-disabled") === "true") return;
        problem.textContent = "";
        done.hidden = true;
        try {
          const body = bodyOf(channel, draft, isMap());
          const text = JSON.stringify(body);
          if (sent.text !== text) sent = { text, key: newKey() };
          submit.setAttribute("aria-disabled", "true");
          const { offset } = await call("publish", { ...body, idempotency_key: sent.key });
          sent = { text: "", key: "" };
          done.hidden = false;
          const said = `Published${offset === undefined ? "" : ` as ${whole(offset)}`}.`;
          fill(done, said, " ", h("a", { href: addressOf(["channels", channel], { view: "history" }) }, "See the history"));
          announce(said);
        } catch (error) {
          const hint = error.isLost ? " It may have been published; to press again does it only once." : "";
          problem.textContent = `${sentence(error)}${hint}`;
        } finally {
          submit.setAttribute("aria-disabled", "false");
        }
      };
      root.append(h("form", { class: "card stack", novalidate: true, on: {
        submit: onSubmit,
        // What was wrong is being mended.
        input: () => {
          problem.textContent = "";
        },
      } },
        data.element, map, h("details", { open: draft.tags.length > 0 }, h("summary", {}, "Tags"), tagRows(draft)),
        problem, done, h("div", { class: "row" }, submit)));
      const known = () => {
        map.hidden = !isMap();
        const text = shared.known ? `Publish to ${count(reach(), "subscriber")}` : "Publish";
        if (submit.textContent !== text) submit.textContent = text;
      };
      known();
      return { known, unmount() {} };
    }

    """##

  private static let console6 = ##"""
    // What is published on a channel as it comes: a sample of it, which says what it leaves out. A filter is tried out here
    // against what really comes.

    import { button, count, fill, h, sentence, timeTag } from "./ui.js";
    import { dataLine, wholePublication } from "./channel-history.js";
    import { FilterForm } from "./filter.js";
    import { clockTime, rate } from "./format.js";
    import { keepStream } from "./server.js";

    /** Rows that stay on the page; older ones go. */
    const mostRows = 100;
    /** Seconds over which it is counted how much comes. */
    const counted = 10;

    function row(one) {
      const full = h("pre", { class: "json", tabindex: "0" });
      const line = dataLine(one);
      return h("details", { class: "tail-row", on: {
        toggle: (event) => {
          if (event.target.open && full.textContent === "") full.textContent = wholePublication(one);
        },
      } },
      h("summary", {},
        h("span", { class: "mono" }, one.offset ?? ""),
        h("span", { class: "soft" }, one.time ? timeTag(one.time, clockTime(one.time)) : ""),
        h("span", {}, one.info?.user ?? ""),
        h("span", { class: "mono" }, line)),
      full);
    }

    /** How much came in the last seconds, shown or left out. */
    function counter() {
      let seen = [];
      return {
        add(number) {
          seen.push({ at: Date.now(), number });
        },
        clear() {
          seen = [];
        },
        get perSecond() {
          const since = Date.now() - counted * 1000;
          seen = seen.filter(({ at }) => at >= since);
          const first = seen[0]?.at;
          if (first === undefined) return 0;
          return seen.reduce((sum, { number }) => sum + number, 0) / Math.max(1, (Date.now() - first) / 1000);
        },
      };
    }

    function rows() {
      const element = h("div", { class: "tail", role: "log", "aria-live": "off", "aria-label": "Publications as they come",
        tabindex: "0" });
      const empty = h("div", { class: "nothing" });
      let waiting = [];
      let isHeld = false;
      const put = (node) => {
        element.prepend(node);
        while (element.children.length > mostRows) element.lastElementChild.remove();
      };
      return {
        element: h("div", {}, empty, element),
        /** What comes while it is held waits, no more of it than is shown. */
        hold(wanted) {
          isHeld = wanted;
          if (!isHeld) for (const node of waiting.splice(0)) put(node);
        },
        add(node) {
          if (isHeld) {
            waiting = [...waiting.slice(1 - mostRows), node];
          } else {
            put(node);
          }
        },
        clear() {
          waiting = [];
          element.replaceChildren();
        },
        say(text) {
          element.hidden = element.children.length === 0;
          empty.hidden = !element.hidden;
          if (empty.textContent !== text) fill(empty, h("p", { class: "soft" }, text));
        },
        get waiting() {
          return waiting.length;
        },
      };
    }

    const words = {
      opening: "Listening…", paused: "Nothing is read while the page is not looked at.",
      lost: "No connection. It is tried again.",
    };

    class Tail {
      #channel;
      #context;
      #list = rows();
      #passed = counter();
      #heldBack = counter();
      #state = h("p", { class: "small soft grow", role: "status" });
      #form = new FilterForm((filter) => this.#try(filter));
      #details;
      #hold = button("Hold", () => this.#toggle(), { class: "button button-small", "aria-pressed": "false" });
      #stream = null;
      #filter;
      #shown;
      #isHeld = false;
      #name = "opening";
      #refusal = "";
      #timer;

      constructor(root, context, channel) {
        this.#channel = channel;
        this.#context = context;
        this.#details = h("details", { class: "card" }, h("summary", { class: "strong" }, "Try a filter"),
          h("p", { class: "soft small" },
            "The same filters that subscriptions have, on the tags of publications; user is always the publishing user."),
          this.#form.element);
        const clear = button("Clear", () => {
          this.#list.clear();
          this.#tell();
        }, { class: "button button-small button-quiet" });
        root.append(this.#details, h("div", { class: "row" }, this.#state, this.#hold, clear), this.#list.element);
        this.#timer = setInterval(() => {
          if (!document.hidden) this.#tell();
        }, 1000);
      }

      route(query) {
        if (this.#stream && query.filter === this.#shown) return;
        this.#shown = query.filter;
        let filter;
        try {
          filter = query.filter ? JSON.parse(query.filter) : undefined;
        } catch {
          this.#context.toast("The filter in the address cannot be read. It is left out.", { isBad: true });
        }
        if (this.#stream && JSON.stringify(filter) === JSON.stringify(this.#filter)) return;
        this.#form.set(filter);
        this.#details.open = Boolean(filter);
        this.#open(filter);
      }

      unmount() {
        clearInterval(this.#timer);
        this.#stream?.stop();
      }

      #try(filter) {
        this.#shown = filter && JSON.stringify(filter);
        this.#context.replace(["channels", this.#channel], { filter: this.#shown });
        this.#open(filter);
      }

      #toggle() {
        this.#isHeld = !this.#isHeld;
        this.#list.hold(this.#isHeld);
        this.#hold.setAttribute("aria-pressed", String(this.#isHeld));
        this.#tell();
      }

      #open(filter) {
        this.#stream?.stop();
        this.#list.clear();
        this.#passed.clear();
        this.#heldBack.clear();
        this.#filter = filter;
        const given = filter ? { filter: JSON.stringify(filter) } : {};
        this.#stream = keepStream(`tail?${new URLSearchParams({ channel: this.#channel, ...given })}`, {
          onMessage: (message) => this.#take(message),
          onState: (name, { error }) => this.#become(name, error),
        });
      }

      #become(name, error) {
        this.#name = name;
        if (name === "refused") {
          this.#refusal = this.#filter ? "The tail is not open: the filter was refused." : sentence(error);
          if (this.#filter) this.#form.fail(sentence(error));
          this.#details.open ||= Boolean(this.#filter);
        }
        this.#tell();
      }

      #take(message) {
        if (message.filtered > 0) this.#heldBack.add(message.filtered);
        if (message.skipped > 0) {
          this.#passed.add(message.skipped);
          this.#list.add(h("p", { class: "tail-skip" },
            `${count(message.skipped, "publication")} left out here: this is a sample.`));
        }
        if (message.offset === undefined && message.data === undefined) return;
        this.#passed.add(1);
        this.#list.add(row(message));
      }

      #tell() {
        const passed = this.#passed.perSecond;
        const all = passed + this.#heldBack.perSecond;
        const share = all > passed ? ` of ${rate(all)}` : "";
        const what = `${this.#filter ? "Passes the filter" : "Comes now"}: ${rate(passed)}${share}.`;
        const held = this.#isHeld ? ` Held; ${count(this.#list.waiting, "row")} wait.` : "";
        const closed = this.#name === "refused" ? this.#refusal : words[this.#name];
        const text = closed ?? `${what}${held}`;
        if (this.#state.textContent !== text) this.#state.textContent = text;
        const nothing = this.#filter ? "Nothing has passed the filter yet."
          : "Listening. What is published from now on appears here.";
        this.#list.say(closed ?? nothing);
      }
    }

    export function mountTail(root, context, channel) {
      return new Tail(root, context, channel);
    }

    """##

  private static let console7 = ##"""
    // One channel: what it is, how busy it is, and what one can look at and do there.

    import { count, fill, h } from "./ui.js";
    import { addressOf } from "./address.js";
    import { mountEntries, mountHistory } from "./channel-history.js";
    import { mountMembers } from "./channel-members.js";
    import { mountPublish } from "./channel-publish.js";
    import { mountTail } from "./channel-tail.js";
    import { age, byteRate, bytes, number, rate, whole } from "./format.js";
    import { busyChannels, live } from "./live.js";
    import { chip, factList, heading, missingGateways, problemBox, views } from "./parts.js";
    import { call, poll } from "./server.js";

    const durabilities = { durable: "durable", relaxed: "relaxed", memory: "in memory" };

    function sum(gateways, name) {
      return gateways.reduce((total, { found }) => total + (found?.[name] ?? 0), 0);
    }

    function factsOf({ broker, gateways }, busy) {
      const history = broker.history;
      const keeps = history?.size_limit > 0 || history?.publications > 0;
      return {
        Subscribers: number(sum(gateways, "subscribers")),
        Deliveries: busy ? rate(busy.deliveries) : undefined,
        Published: busy ? rate(busy.publications) : undefined,
        Bytes: busy ? byteRate(busy.bytes) : undefined,
        "Newest position": broker.offset === undefined ? undefined : whole(broker.offset),
        Keeps: keeps ? `${whole(history.publications)} of ${whole(history.size_limit)}` : history && "no history",
        "For up to": keeps && history.ttl_ms > 0 ? age(history.ttl_ms / 1000) : undefined,
        "In history": keeps ? bytes(history.bytes) : undefined,
        Behind: sum(gateways, "subscribers_behind") > 0 ? count(sum(gateways, "subscribers_behind"),
          "subscriber") : undefined,
        "Kept for them": sum(gateways, "kept_bytes") > 0 ? bytes(sum(gateways, "kept_bytes")) : undefined,
        "On gateways": number(broker.gateways ?? gateways.length),
        Epoch: broker.epoch,
      };
    }

    function chipsOf({ broker }) {
      return [
        broker.kind === "map" ? chip("map") : null,
        broker.durability ? chip(durabilities[broker.durability] ?? broker.durability) : null,
        broker.lane && broker.lane !== "publications" ? chip(`lane ${broker.lane}`) : null,
        broker.exists === false ? chip("nothing here yet", "warn") : null,
      ];
    }

    /** What the views share: the channel's name, and what the server said of it last. */
    function makeViews(context, name, shared) {
      const isMap = () => shared.known?.broker.kind === "map";
      return {
        tail: { name: "Live tail", mount: (root) => mountTail(root, context, name) },
        history: { name: "History", mount: (root) => (
          isMap() ? mountEntries(root, context, name) : mountHistory(root, context, name)) },
        members: { name: "Members", mount: (root) => mountMembers(root, context, name) },
        publish: { name: "Publish", mount: (root) => mountPublish(root, context, name, shared) },
      };
    }

    export function mountChannel(root, context, name) {
      const shared = { known: null };
      const kinds = makeViews(context, name, shared);
      const facts = factList();
      const chips = h("div", { class: "row" });
      const problem = problemBox(() => asking.now());
      if (!context.may("publish")) delete kinds.publish;
      if (!context.may("presence")) delete kinds.members;
      const tabs = views("What to look at", Object.entries(kinds).map(([id, one]) => ({ id, name: one.name })));
      const place = h("div", { class: "stack" });
      let view = "";
      let open = null;
      let wanted = null;
      root.append(
        heading(name, { mono: true, crumb: { text: "Channels", href: "#/channels" }, actions: chips }),
         problem.element, facts.element, tabs.element, place);

      let chipsShown = "";
      const showChips = () => {
        const { kind, durability, lane, exists } = shared.known.broker;
        const stamp = JSON.stringify([kind, durability, lane, exists]);
        if (stamp === chipsShown) return;
        chipsShown = stamp;
        fill(chips, chipsOf(shared.known));
      };
      const show = () => {
        if (!shared.known) return;
        facts.show(factsOf(shared.known, busyChannels().find((one) => one.channel === name)));
      };
      function showView(query) {
        wanted = query;
        // Whether it is a map says what the history is.
        if (!shared.known && query.view === "history") return fill(place, h("p", { class: "soft" }, "Asking…"));
        const id = Object.hasOwn(kinds, query.view) ? query.view : "tail";
        if (id !== view) {
          open?.unmount?.();
          view = id;
          place.replaceChildren();
          open = kinds[id].mount(place);
          tabs.show(id, (other) => addressOf(["channels", name], { view: other === "tail" ? "" : other }));
        }
        open.route?.(query);
      }
      const asking = poll(4, async (signal) => {
        try {
          const isFirst = !shared.known;
          shared.known = await call("inspect_channel", { channel: name }, { signal });
          problem.show(missingGateways(shared.known));
          showChips();
          if (isFirst && shared.known.broker.kind === "map") tabs.rename("history", "Entries");
          show();
          if (isFirst && wanted) showView(wanted);
          open?.known?.();
        } catch (error) {
          if (error.name !== "AbortError") problem.show(error);
        }
      });
      const off = live.watch(show);
      return {
        route: showView,
        unmount() {
          off();
          asking.stop();
          open?.unmount?.();
        },
      };
    }

    """##

  private static let console8 = ##"""
    // Channels: those that are busy, those whose names begin with something, and one of them (channel.js).

    import { button, count, fill, h } from "./ui.js";
    import { addressOf } from "./address.js";
    import { mountChannel } from "./channel.js";
    import { byteRate, number, rate } from "./format.js";
    import { busyChannels, live } from "./live.js";
    import { heading, lookForm, problemBox } from "./parts.js";
    import { call } from "./server.js";
    import { table } from "./table.js";

    /** With more channels than this, none are listed before somebody says which. */
    const listedAtOnce = 2000;

    function columns() {
      return [
        { id: "channel", name: "Channel", isHead: true, mono: true, get: (one) => one.channel, title: (one) => one.channel,
          href: (one) => addressOf(["channels", one.channel]) },
        { id: "subscribers", name: "Subscribers", number: true, get: (one) => one.subscribers,
          show: (one) => number(one.subscribers) },
        { id: "deliveries", name: "Deliveries", number: true, get: (one) => one.deliveries,
          show: (one) => rate(one.deliveries) },
        { id: "publications", name: "Published", number: true, wide: true, get: (one) => one.publications,
          show: (one) => rate(one.publications) },
        { id: "bytes", name: "Bytes", number: true, wide: true, get: (one) => one.bytes,
          show: (one) => byteRate(one.bytes) },
      ];
    }

    class ChannelList {
      #prefix = "";
      #found = null;
      #controller = new AbortController();
      #problem = problemBox(() => this.#load());
      #state = h("p", { class: "soft small", role: "status" });
      #form;
      #rows = table({
        caption: "Channels with subscribers", isTitled: true, columns: columns(), key: (one) => one.channel, pageSize: 25,
        sort: { id: "subscribers", down: true },
        note: "rates are known of the 50 channels to which most bytes go",
        empty: () => [h("p", { class: "strong" }, "No such channel has a subscriber."),
          h("p", { class: "soft" }, "A channel that nobody follows can be opened by its whole name.")],
      });
      #off;

      constructor(root, context) {
        this.#form = lookForm({
          label: "Names that begin with", placeholder: "chat:", action: "List", canBeEmpty: true,
          onGo: (text) => context.go(["channels"], { prefix: text, list: "1" }),
          more: button("Open this channel", () => {
            const { input } = this.#form;
            if (input.value) context.go(["channels", input.value]); else input.focus();
          }),
        });
        root.append(
          heading("Channels"), this.#form.element, this.#problem.element, this.#state, this.#rows.element);
        this.#rows.element.hidden = true;
        this.#off = live.watch(() => {
          this.#loadIfFew();
          this.#show();
        });
      }

      route(query) {
        const wanted = query.prefix ?? "";
        const { input } = this.#form;
        if (input.value !== wanted) input.value = wanted;
        if (query.list === undefined && !wanted) return;
        if (this.#found && wanted === this.#prefix) return;
        this.#prefix = wanted;
        this.#load();
      }

      unmount() {
        this.#off();
        this.#controller.abort();
      }

      #show() {
        if (!this.#found) return;
        const busy = new Map(busyChannels().map((one) => [one.channel, one]));
        this.#rows.element.hidden = false;
        this.#rows.show(this.#found.map((one) => ({ ...busy.get(one.channel), ...one })));
      }

      async #load() {
        this.#controller.abort();
        this.#controller = new AbortController();
        const { signal } = this.#controller;
        this.#found ??= [];
        this.#state.textContent = "Asking every gateway…";
        try {
          const { channels, partial } = await call("channels", this.#prefix ? { prefix: this.#prefix } : {}, { signal });
          this.#found = Object.entries(channels).map(([channel, one]) => ({ channel, subscribers: one.num_clients }));
          this.#problem.show(null);
          const more = partial ? ": there are more, or a gateway did not answer. Type more of the name."
            : this.#hasOthers() ? ". Others, as those of Clique and State, are not for this console to read." : ".";
          this.#state.textContent = `${count(this.#found.length, "channel")} with subscribers${more}`;
          this.#rows.first();
          this.#show();
        } catch (error) {
          if (error.name === "AbortError") return;
          this.#state.textContent = "";
          this.#problem.show(error);
        }
      }

      /** Whether the server has channels that are left out of the list by `console.channels`, and not by what was typed. */
      #hasOthers() {
        return !this.#prefix && live.last?.now.get("channels") > this.#found.length;
      }

      /** Where there are few, all of them are there at once. */
      #loadIfFew() {
        const channels = live.last?.now.get("channels");
        if (channels === undefined || this.#found) return;
        if (channels <= listedAtOnce) return this.#load();
        if (this.#state.textContent) return;
        fill(this.#state, `This server has ${count(channels, "channel")}: say how the names begin. `,
          "The busy ones stand in the ", h("a", { href: "#/overview" }, "overview"), ".");
      }
    }

    export function mount(root, context) {
      let shown = null;
      let name;
      return {
        route(parts, query) {
          const wanted = parts[0];
          if (!shown || wanted !== name) {
            shown?.unmount();
            root.replaceChildren();
            name = wanted;
            shown = name === undefined ? new ChannelList(root, context) : mountChannel(root, context, name);
            context.title(name ?? "Channels");
          }
          shown.route?.(query);
        },
        unmount() {
          shown?.unmount();
        },
      };
    }

    """##

  private static let console9 = ##"""
    /* The console: denser than the demo, whose tokens and components it stands on (base.css). */

    :root {
      --plot-1: light-dark(#4a3fd1, #a79fff);
      --plot-2: light-dark(#0b7269, #4fd1c0);
      --plot-3: light-dark(#b04a00, #f7b267);
      --plot-4: light-dark(#a81f6d, #ff8fc8);
      --bar: light-dark(#dcd8fb, #343060);
      --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace;
      --radius: 0.625rem;
      --title: 1.375rem;
      --large: 1rem;
      --target: 2.25rem;
      font-size: 93.75%;
    }

    @media (pointer: coarse) {
      :root { --target: 2.75rem; }
    }

    code, .mono { font-family: var(--mono); font-size: 0.92em; }
    h1.mono { font-size: 1.25rem; font-weight: 700; overflow-wrap: anywhere; }
    .button { white-space: nowrap; }
    code { padding: 0.0625rem 0.3rem; border-radius: 0.25rem; background: var(--raised); }
    h2 { letter-spacing: -0.005em; }

    /* The frame */

    .top { flex-wrap: nowrap; min-height: 3.25rem; padding-block: var(--space-1); }
    .brand { white-space: nowrap; }
    .menu { display: none; }
    .skip:not(:focus) { box-shadow: none; }
    .side-foot { display: flex; flex-direction: column; align-items: flex-start; gap: var(--space-1); margin-top: auto;
      padding: var(--space-3) var(--space-3) 0; }
    .side-foot .button { margin-inline-start: calc(-1 * var(--space-3)); }
    .frame { flex: 1; display: grid; grid-template-columns: 12.5rem minmax(0, 1fr); min-height: 0; }
    .side {
      position: sticky; top: 3.25rem; align-self: start; display: flex; flex-direction: column; gap: 0.125rem;
      height: calc(100dvh - 3.25rem); padding: var(--space-4) var(--space-2); overflow-y: auto;
      border-inline-end: 1px solid var(--line);
    }
    .side a {
      display: flex; align-items: center; min-height: var(--target); padding: 0 var(--space-3);
      border-radius: var(--radius-small); color: var(--text-soft); text-decoration: none; font-weight: 550;
    }
    .side a:hover { background: var(--raised); color: var(--text); }
    .side a:focus-visible { outline-offset: -3px; }
    .side a[aria-current] { background: var(--accent-soft); color: var(--accent); }
    main { max-width: 88rem; margin: 0; padding: var(--space-4) var(--space-5) var(--space-6); }
    .page { display: flex; flex-direction: column; gap: var(--space-4); }
    .page > * { min-width: 0; }
    .page > :empty, .page .stack-tight:empty { display: none; }
    .signed-out .side, .signed-out .menu { display: none; }
    .skip:not(:focus) { box-shadow: none; }
    .side-foot { display: flex; flex-direction: column; align-items: flex-start; gap: var(--space-1); margin-top: auto;
      padding: var(--space-3) var(--space-3) 0; }
    .side-foot .button { margin-inline-start: calc(-1 * var(--space-3)); }
    .signed-out .frame { grid-template-columns: minmax(0, 1fr); }
    .signed-out main { max-width: none; }
    .connection:not([hidden]) + .frame .side { top: 5.75rem; height: calc(100dvh - 5.75rem); }
    .connection { position: sticky; top: 3.25rem; z-index: 9; }
    .connection .button { min-height: 1.75rem; background: transparent; border-color: currentColor; color: inherit; }

    .status {
      display: inline-flex; align-items: center; gap: var(--space-2); min-height: 1.75rem; padding: 0 var(--space-3);
      border: 1px solid transparent; border-radius: var(--radius-full); background: var(--raised);
      margin-inline-start: auto; font-size: var(--small); font-weight: 600; white-space: nowrap; cursor: pointer;
    }
    .status::before { content: ""; width: 0.5rem; height: 0.5rem; border-radius: 50%; background: var(--line-strong); }
    .status[data-state="open"] { background: var(--good-soft); color: var(--good); }
    .status[data-state="open"]::before { background: currentColor; }
    .status[data-state="lost"], .status[data-state="refused"] { background: var(--danger-soft); color: var(--danger); }
    .status[data-state="lost"]::before, .status[data-state="refused"]::before { background: currentColor; }
    /* Numbers that have stopped say nothing of now. */
    .is-stale .finding-good { display: none; }
    .is-stale .tiles, .is-stale .plots, .is-stale .hops, .is-stale .is-live { filter: grayscale(1); }

    /* Headings of pages */

    .head { display: flex; align-items: flex-start; justify-content: space-between; gap: var(--space-3); flex-wrap: wrap; }
    .head h1 { min-width: 0; }
    .crumb { font-size: var(--small); }
    .lead { max-width: 46rem; color: var(--text-soft); }
    .views { display: flex; gap: var(--space-4); overflow-x: auto; border-bottom: 1px solid var(--line);
      scrollbar-width: none; }
    .views a { display: flex; align-items: center; min-height: var(--target); color: var(--text-soft);
      text-decoration: none; font-weight: 550; white-space: nowrap; border-bottom: 2px solid transparent; }
    .views a:hover { color: var(--text); }
    .views a:focus-visible { outline-offset: -3px; }
    .views a[aria-current] { color: var(--accent); border-bottom-color: var(--accent); }

    /* Tiles */

    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: var(--space-3); }
    .tile { position: relative; display: flex; flex-direction: column; min-width: 0; padding: var(--space-3);
      padding-bottom: 2.25rem; overflow: hidden; }
    .tile-value { font-size: 1.5rem; font-weight: 680; line-height: 1.25; letter-spacing: -0.02em;
      font-variant-numeric: tabular-nums; white-space: nowrap; }
    .spark { position: absolute; inset-inline: 0; bottom: 0; width: 100%; height: 2rem; }

    .findings { display: flex; flex-direction: column; gap: var(--space-2); }
    .findings:empty { display: none; }
    .finding { display: flex; align-items: center; gap: var(--space-2); padding: var(--space-2) var(--space-3);
      border-radius: var(--radius-small); font-size: var(--small); font-weight: 550; }
    .finding-good { padding-inline: 0; color: var(--good); }
    .finding-warn { background: var(--warn-soft); color: var(--warn); }
    .finding-bad { background: var(--danger-soft); color: var(--danger); }
    .finding a { color: inherit; }
    .dot { width: 0.5rem; height: 0.5rem; border-radius: 50%; background: currentColor; flex: none; }

    .two { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: var(--space-5); align-items: start; }
    .plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr)); gap: var(--space-3); }
    .plot { display: flex; flex-direction: column; gap: var(--space-1); min-width: 0; padding: var(--space-3); }
    .plot-canvas { width: 100%; height: 8.5rem; touch-action: pan-y; cursor: crosshair; }
    .plot-when { font-variant-numeric: tabular-nums; }
    .legend { display: flex; flex-wrap: wrap; gap: 0 var(--space-4); font-size: var(--small); color: var(--text-soft); }
    .legend li { display: flex; align-items: center; gap: var(--space-1); }
    .legend b { color: var(--text); font-weight: 650; font-variant-numeric: tabular-nums; }
    .swatch { width: 0.75rem; height: 0.1875rem; border-radius: 1px; background: var(--plot-1); }
    .swatch[data-colour="2"] { background: var(--plot-2); }
    .swatch[data-colour="3"] { background: var(--plot-3); }
    .swatch[data-colour="4"] { background: var(--plot-4); }
    .busiest { min-height: 1.45em; }

    /* Tables */

    .table-box { display: flex; flex-direction: column; gap: var(--space-2); min-width: 0; }
    .scroller { overflow-x: auto; background: var(--surface); border: 1px solid var(--line);
      border-radius: var(--radius); box-shadow: var(--shadow); }
    .table { width: 100%; border-collapse: collapse; font-size: 0.9em; }
    .table caption { padding: var(--space-2) var(--space-3); text-align: start; font-size: var(--small);
      color: var(--text-soft); border-bottom: 1px solid var(--line); }
    .table caption.visually-hidden { position: absolute; }
    .table th, .table td { padding: 0.3125rem var(--space-3); text-align: start; vertical-align: baseline;
      font-weight: 400; }
    .table thead th { font-weight: 600; color: var(--text-soft); font-size: var(--small); white-space: nowrap; }
    .table tbody tr { border-top: 1px solid var(--line); }
    .table thead + tbody tr:first-child { border-top: 1px solid var(--line); }
    .table tbody tr:hover { background: var(--raised); }
    .table .number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .table tbody th { overflow-wrap: anywhere; min-width: 7rem; }
    .table td.fit { white-space: nowrap; }
    .table summary { min-height: 0; }
    .table td .button { min-height: 1.75rem; padding: 0 var(--space-2); font-size: var(--small); }
    .table .actions { text-align: end; white-space: nowrap; padding-block: 0.125rem; }
    .sort { padding: 0; border: 0; background: none; font: inherit; color: inherit; cursor: pointer; }
    .sort:hover { color: var(--text); text-decoration: underline; }
    th[aria-sort] .sort { color: var(--text); }
    th[aria-sort="descending"] .sort::after { content: " ↓"; }
    th[aria-sort="ascending"] .sort::after { content: " ↑"; }
    .cell-link { text-decoration: none; font-weight: 550; }
    .cell-link:hover { text-decoration: underline; }
    .has-bar { background: linear-gradient(var(--bar) 0 0) right / calc(var(--part, 0) * 100%) 100% no-repeat; }
    :dir(rtl) .has-bar { background-position: left; }
    .is-busiest th, .is-busiest .has-bar { font-weight: 680; }
    .is-sum th, .is-sum td { font-weight: 650; }
    .pager { display: flex; align-items: center; gap: var(--space-3); justify-content: flex-end; }
    .nothing { padding: var(--space-5); text-align: center; border: 1px dashed var(--line-strong);
      border-radius: var(--radius); display: flex; flex-direction: column; gap: var(--space-2); align-items: center; }

    .table .has-bar { min-width: 9rem; }
    .hops tbody th { white-space: nowrap; }
    .range-cell { width: 34%; min-width: 7rem; }
    .range { position: relative; display: block; height: 0.5rem; border-radius: var(--radius-full);
      background: var(--raised); }
    .range-bar { position: absolute; inset-block: 0; border-radius: var(--radius-full); background: var(--plot-1); }
    .is-sum .range-bar { background: var(--plot-3); }
    .range-scale { display: flex; justify-content: space-between; font-size: 0.75rem; color: var(--text-soft); }
    .terms { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: var(--space-1) var(--space-4);
      padding: var(--space-2) 0; color: var(--text-soft); }
    .terms dt { color: var(--text); font-weight: 550; }
    summary { cursor: pointer; }
    details > summary { min-height: 1.75rem; display: list-item; }

    /* Facts, forms, the tail */

    .row > .facts { flex: 1; }
    .facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: var(--space-3); }
    .fact { display: flex; flex-direction: column; min-width: 0; }
    .fact dt { font-size: var(--small); color: var(--text-soft); }
    .fact dd { font-weight: 600; font-variant-numeric: tabular-nums; }
    .form { display: flex; flex-wrap: wrap; align-items: flex-end; gap: var(--space-3); }
    .form .field { flex: 1 1 11rem; min-width: 0; }
    .form .field-small { flex: 0 1 9rem; }
    select.input { padding-inline-end: var(--space-2); }
    .select { width: auto; }
    textarea.input { font-family: var(--mono); font-size: 0.92em; min-height: 7rem; }
    .input.mono { font-family: var(--mono); }
    .note-bad { background: var(--danger-soft); color: var(--danger); }
    .note-good { background: var(--good-soft); color: var(--good); }
    .chip-bad { background: var(--danger-soft); color: var(--danger); }
    .chip-warn { background: var(--warn-soft); color: var(--warn); }
    .json { margin: 0; padding: var(--space-3); overflow: auto; max-height: 24rem; border-radius: var(--radius-small);
      background: var(--raised); font-family: var(--mono); font-size: 0.86em; text-align: start; white-space: pre-wrap; }
    .halves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: var(--space-4);
      align-items: start; }
    .limit-text { display: block; max-width: 44rem; color: var(--text-soft); font-size: var(--small); }
    .table .spark-cell { position: relative; width: 9rem; vertical-align: middle; }
    .spark-cell .spark { position: static; width: 8rem; height: 1.75rem; }
    .filter-rule { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 3fr) minmax(0, 4fr) auto;
      gap: var(--space-2); align-items: end; }
    .tail { max-height: max(20rem, calc(100dvh - 24rem)); overflow-y: auto; background: var(--surface);
      border: 1px solid var(--line); border-radius: var(--radius);
      box-shadow: var(--shadow); }
    .tail-row { padding: var(--space-1) var(--space-3); border-top: 1px solid var(--line); font-size: 0.9em; }
    .tail-row:first-child { border-top: 0; }
    .tail-row summary { display: grid; grid-template-columns: 4.5rem 7rem 8rem minmax(0, 1fr); gap: var(--space-3);
      align-items: baseline; list-style: none; min-height: 0; }
    .tail-row summary::-webkit-details-marker { display: none; }
    .tail-row summary > * { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .tail-row .json { margin-block: var(--space-2); }
    .tail-skip { padding: 0.125rem var(--space-3); border-top: 1px solid var(--line); background: var(--raised);
      font-size: var(--small); color: var(--text-soft); }
    .toast-bad { background: light-dark(#7d1220, #ffdadd); color: light-dark(#ffffff, #3d070d); }
    .toast .button-icon { color: inherit; }
    .more { gap: var(--space-2) var(--space-5); }
    .verdict { font-size: 1.0625rem; font-weight: 600; }
    .field-error:empty { display: none; }
    .card > summary ~ form { margin-top: var(--space-3); }

    @media (max-width: 68rem) {
      .two { grid-template-columns: minmax(0, 1fr); }
    }

    @media (max-width: 48rem) {
      .frame { grid-template-columns: minmax(0, 1fr); }
      .menu { display: inline-flex; }
      .menu::after { content: "▾"; font-size: 0.8em; }
      .side {
        display: none; position: fixed; inset: 3.25rem 0 auto; z-index: 12; height: auto;
        max-height: calc(100dvh - 3.25rem); background: var(--surface); border: 0;
        border-bottom: 1px solid var(--line); box-shadow: var(--shadow-high);
      }
      .menu-open .side { display: flex; }
      .side a { min-height: 2.75rem; }
      .brand-note { display: none; }
      main { padding: var(--space-3) var(--space-3) var(--space-6); }
      .wide { display: none; }
      .table .has-bar { min-width: 0; }
      .hops tbody th { white-space: normal; min-width: 0; }
      .range-cell { width: 28%; min-width: 4.5rem; }
      .range-scale span:nth-child(2) { display: none; }
      .stacked thead { display: none; }
      .stacked tbody tr:first-child { border-top: 0; }
      .stacked tbody tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--space-3);
        padding: var(--space-2) var(--space-2); }
      .stacked tbody th, .stacked tbody td { padding: 0; }
      .stacked tbody .labelled::before { content: attr(data-label) " "; color: var(--text-soft); font-size: var(--small); }
      .stacked tbody .block { flex: 1 0 100%; min-width: 0; }
      .stacked tbody .actions { margin-inline-start: auto; }
      .table th, .table td { padding-inline: var(--space-2); }
      .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: var(--space-2); }
      .tile { padding: var(--space-2) var(--space-3) 2rem; }
      .tile-value { font-size: 1.25rem; }
      .terms { grid-template-columns: minmax(0, 1fr); }
      .terms dd { margin-bottom: var(--space-2); }
      .halves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: var(--space-4);
      align-items: start; }
    .limit-text { display: block; max-width: 44rem; color: var(--text-soft); font-size: var(--small); }
    .table .spark-cell { position: relative; width: 9rem; vertical-align: middle; }
    .spark-cell .spark { position: static; width: 8rem; height: 1.75rem; }
    .filter-rule { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
      .tail-row summary { grid-template-columns: auto 1fr auto; gap: 0 var(--space-3); }
      .tail-row summary > :nth-child(4) { grid-column: 1 / -1; }
    }

    @media (forced-colors: active) {
      .side a[aria-current], .views a[aria-current] { outline: 2px solid; }
      .range-bar, .swatch { forced-color-adjust: none; }
    }

    """##

  private static let console10 = ##"""
    // A filter on tags, put together from rules or written as JSON: the same that subscriptions have (docs/PROTOCOL.md).

    import { button, field, fill, h } from "./ui.js";
    import { choice } from "./parts.js";

    const comparisons = [
      ["eq", "is"], ["neq", "is not"], ["in", "is one of"], ["nin", "is none of"], ["ex", "is there"],
      ["nex", "is not there"], ["sw", "begins with"], ["ew", "ends with"], ["ct", "contains"], ["gt", "is above"],
      ["gte", "is at least"], ["lt", "is below"], ["lte", "is at most"],
    ];
    const withoutValue = new Set(["ex", "nex"]);
    const withList = new Set(["in", "nin"]);

    /** One rule as a node; lists are separated by commas. */
    export function nodeOf({ key, cmp, value }) {
      if (withoutValue.has(cmp)) return { key, cmp };
      if (!withList.has(cmp)) return { key, cmp, val: value };
      return { key, cmp, vals: value.split(",").map((one) => one.trim()).filter((one) => one !== "") };
    }

    /** All rules as one filter; undefined where there is none. Rules without a tag count for nothing. */
    export function filterOf(rules, op = "and") {
      const nodes = rules.filter(({ key }) => key !== "").map(nodeOf);
      return nodes.length > 1 ? { op, nodes } : nodes[0];
    }

    function ruleOf(node) {
      if (typeof node?.key !== "string" || !comparisons.some(([id]) => id === node.cmp)) return null;
      if (withList.has(node.cmp)) return { key: node.key, cmp: node.cmp, value: (node.vals ?? []).join(", ") };
      return { key: node.key, cmp: node.cmp, value: node.val ?? "" };
    }

    /** The rules of a filter, where it can be shown so: `{ op, rules }`, or null. */
    export function rulesOf(filter) {
      if (!filter) return { op: "and", rules: [] };
      if (filter.op === "and" || filter.op === "or") {
        const rules = (filter.nodes ?? []).map(ruleOf);
        return rules.every(Boolean) ? { op: filter.op, rules } : null;
      }
      const rule = ruleOf(filter);
      return rule ? { op: "and", rules: [rule] } : null;
    }

    function ruleRow(rule, onRemove) {
      const key = field("Tag", { value: rule.key, class: "input mono", placeholder: "user", autocomplete: "off",
        spellcheck: "false", autocapitalize: "off" });
      const cmp = choice("Comparison", comparisons);
      const value = field("Value", { value: rule.value, class: "input mono", autocomplete: "off", spellcheck: "false",
        autocapitalize: "off" });
      cmp.input.value = rule.cmp;
      const show = () => {
        value.element.hidden = withoutValue.has(cmp.input.value);
        value.input.placeholder = withList.has(cmp.input.value) ? "ada, ben" : "ada";
      };
      cmp.input.addEventListener("change", show);
      show();
      const element = h("div", { class: "filter-rule", role: "group", "aria-label": "Rule" }, key.element, cmp.element,
        value.element, button("✕", () => onRemove(row), { kind: "icon", label: "Remove this rule" }));
      const row = {
        element, focus: () => key.input.focus(),
        read: () => ({ key: key.input.value, cmp: cmp.input.value, value: value.input.value }),
      };
      return row;
    }

    /** `onApply(filter)` hears of a filter that can be read, undefined for none. `set(filter)` shows one. */
    export class FilterForm {
      #onApply;
      #rows = [];
      #isJSON = false;
      #list = h("div", { class: "stack-tight" });
      #op = choice("Together", [["and", "all rules hold"], ["or", "one rule holds"]]);
      #json = field("Filter as JSON", { tag: "textarea", spellcheck: "false", rows: 5 }, "Empty: everything.");
      #problem = h("p", { class: "field-error", role: "alert" });
      #swap = button("", () => this.#toggle(), { class: "button button-small button-quiet" });
      #add = button("Add a rule", () => {
        this.#addRow({ key: "", cmp: "eq", value: "" });
        this.#rows.at(-1).focus();
      }, { class: "button button-small" });

      constructor(onApply) {
        this.#onApply = onApply;
        const none = button("Without a filter", () => {
          this.set(undefined);
          onApply(undefined);
        }, { class: "button button-small button-quiet" });
        this.element = h("form", { class: "stack", on: {
          submit: (event) => {
            event.preventDefault();
            this.#apply();
          },
        } }, this.#list, this.#op.element, this.#json.element, this.#problem,
        h("div", { class: "row" },
          h("button", { type: "submit", class: "button button-primary button-small" }, "Try it"),
          this.#add, this.#swap, none));
        this.set(undefined);
      }

      set(filter) {
        this.#problem.textContent = "";
        this.#fill(filter);
      }

      /** What the server says against it. */
      fail(text) {
        this.#problem.textContent = text;
      }

      #addRow(rule) {
        const row = ruleRow(rule, (gone) => {
          this.#rows = this.#rows.filter((one) => one !== gone);
          gone.element.remove();
          this.#show();
          this.#add.focus();
        });
        this.#rows.push(row);
        this.#list.append(row.element);
        this.#show();
      }

      #show() {
        this.#list.hidden = this.#add.hidden = this.#isJSON;
        this.#op.element.hidden = this.#isJSON || this.#rows.length < 2;
        this.#json.element.hidden = !this.#isJSON;
        this.#swap.textContent = this.#isJSON ? "As rules" : "As JSON";
      }

      /** The filter as it is typed; throws what is wrong with it. */
      #read() {
        if (!this.#isJSON) return filterOf(this.#rows.map((row) => row.read()), this.#op.input.value);
        const text = this.#json.input.value.trim();
        if (!text) return undefined;
        try {
          return JSON.parse(text);
        } catch (error) {
          throw new Error(`The filter is not JSON: ${error.message}`, { cause: error });
        }
      }

      #apply() {
        this.#problem.textContent = "";
        try {
          this.#onApply(this.#read());
        } catch (error) {
          this.#problem.textContent = error.message;
        }
      }

      #toggle() {
        this.#problem.textContent = "";
        try {
          const filter = this.#read();
          if (this.#isJSON && !rulesOf(filter)) throw new Error("Rules cannot show this filter: it stays JSON.");
          this.#isJSON = !this.#isJSON;
          this.#fill(filter);
        } catch (error) {
          this.#problem.textContent = error.message;
        }
      }

      #fill(filter) {
        const known = rulesOf(filter);
        if (!known) this.#isJSON = true;
        this.#json.input.value = filter ? JSON.stringify(filter, null, 2) : "";
        this.#rows = [];
        fill(this.#list);
        for (const rule of known?.rules.length ? known.rules : [{ key: "", cmp: "eq", value: "" }]) this.#addRow(rule);
        this.#op.input.value = known?.op ?? "and";
        this.#show();
      }
    }

    """##

  private static let console11 = ##"""
    // Numbers as people read them.

    const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
    const precise = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
    const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
    const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

    /** A number that is not known is a dash, in words for whoever listens. */
    export const unknown = "–";

    const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

    /** 1,081; from a million on 1.2M. Small parts have one digit behind the point. */
    export function number(value) {
      if (!isNumber(value)) return unknown;
      if (Math.abs(value) >= 1e6) return compact.format(value);
      return Math.abs(value) < 10 && value !== Math.round(value) ? precise.format(value) : plain.format(value);
    }

    /** All digits. */
    export function whole(value) {
      return isNumber(value) ? plain.format(value) : unknown;
    }

    export function rate(value) {
      return isNumber(value) ? `${number(value)}/s` : unknown;
    }

    export function bytes(value) {
      if (!isNumber(value)) return unknown;
      const units = ["B", "KiB", "MiB", "GiB", "TiB"];
      let left = value;
      let unit = 0;
      while (Math.abs(left) >= 1024 && unit < units.length - 1) {
        left /= 1024;
        unit += 1;
      }
      return `${unit === 0 || left >= 100 ? plain.format(left) : precise.format(left)} ${units[unit]}`;
    }

    export function byteRate(value) {
      return isNumber(value) ? `${bytes(value)}/s` : unknown;
    }

    /** A time that passes in machines: 4.9 µs, 1.2 ms, 3 s. */
    export function seconds(value) {
      if (!isNumber(value)) return unknown;
      const [unit, factor] = value < 0.001 ? ["µs", 1e6] : value < 1 ? ["ms", 1e3] : ["s", 1];
      const scaled = value * factor;
      return `${scaled >= 100 ? plain.format(scaled) : precise.format(scaled)} ${unit}`;
    }

    /** Since when something runs: "64 s", "12 min", "3 h 5 min", "9 days". */
    export function age(value) {
      if (!isNumber(value)) return unknown;
      if (value < 120) return `${Math.round(value)} s`;
      const minutes = Math.round(value / 60);
      if (minutes < 120) return `${minutes} min`;
      const hours = Math.floor(minutes / 60);
      if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
      return `${Math.round(hours / 24)} days`;
    }

    /** The time of day with seconds. Times are milliseconds. */
    export function clockTime(time) {
      return clock.format(time);
    }

    /** Date and time. */
    export function fullMoment(time) {
      return moment.format(time);
    }

    /** By the unit of a frame's row. */
    export function byUnit(value, unit) {
      const forms = {
        per_second: rate, bytes, bytes_per_second: byteRate, seconds, count: number,
      };
      return (forms[unit] ?? number)(value);
    }

    export function percent(part) {
      if (!isNumber(part)) return unknown;
      return part > 0 && part < 0.01 ? "under 1 %" : `${Math.round(part * 100)} %`;
    }

    /** JSON on one line, no longer than `most` characters. */
    export function oneLine(value, most = 400) {
      const text = typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value) ?? "";
      return text.length > most ? `${text.slice(0, most)}…` : text;
    }

    /** JSON as one reads it. */
    export function pretty(value) {
      return JSON.stringify(value, null, 2) ?? "";
    }

    """##

  private static let console12 = ##"""
    <!doctype html>
    <html lang="en">
    <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
      <meta name="color-scheme" content="light dark">
      <meta name="description" content="What this Fanfare server does now, and what can be done about it.">
      <title>Fanfare console</title>
      <link rel="icon" href="data:,">
      <link rel="stylesheet" href="base.css">
      <link rel="stylesheet" href="console.css">
      <link rel="modulepreload" href="shell.js">
      <link rel="modulepreload" href="ui.js">
      <link rel="modulepreload" href="server.js">
      <link rel="modulepreload" href="live.js">
      <link rel="modulepreload" href="format.js">
      <link rel="modulepreload" href="overview.js">
      <link rel="modulepreload" href="plot.js">
      <link rel="modulepreload" href="table.js">
      <script type="module" src="shell.js"></script>
    </head>
    <body>
      <a class="skip" href="#main" id="skip">Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/overview">Fanfare <span class="brand-note">console</span></a>
        <button type="button" class="button button-small menu" id="menu" aria-expanded="false" aria-controls="nav">
          <span id="menu-text">Overview</span></button>
        <button type="button" class="status" id="status" data-state="opening" hidden><span id="status-text"></span></button>
      </header>
      <div class="connection" id="connection" role="status" hidden></div>
      <div class="frame">
        <nav class="side" id="nav" aria-label="Pages">
          <a href="#/overview" data-page="overview">Overview</a>
          <a href="#/channels" data-page="channels" data-api>Channels</a>
          <a href="#/users" data-page="users" data-api>Users and clients</a>
          <a href="#/limits" data-page="limits">Limits hit</a>
          <a href="#/webhooks" data-page="webhooks" data-api>Webhooks</a>
          <a href="#/links" data-page="links" data-api>Links and broker</a>
          <a href="#/apps" data-page="apps" data-api>Clique and State</a>
          <a href="#/why" data-page="why" data-api>Why?</a>
          <a href="#/settings" data-page="settings">Configuration</a>
          <div class="side-foot">
            <span class="small soft" id="node"></span>
            <button type="button" class="button button-small button-quiet" id="leave" hidden>Sign out</button>
          </div>
        </nav>
        <main id="main" tabindex="-1">
          <noscript><p class="empty">The console is a program in your browser: it needs JavaScript.</p></noscript>
        </main>
      </div>
      <div class="toasts" id="toasts"></div>
      <div class="visually-hidden" id="live" aria-live="polite"></div>
      <div class="visually-hidden" id="alert" aria-live="assertive"></div>
    </body>
    </html>

    """##

  private static let console13 = ##"""
    // What the limits that a frame names mean, and the setting that rules each: docs/OPERATIONS.md, in short.

    const gateway = {
      server_full: ["All connections are taken.", "server.max_connections"],
      handshakes: ["Too many connections have not sent their request yet.", "server.max_handshakes"],
      tls_handshakes: ["TLS handshakes wait for their turn.", "server.max_tls_handshakes"],
      unsigned: ["Too many connections have not signed in yet.", "server.max_unsigned"],
      address_connections: ["One address has too many connections; list it in server.trusted_proxies if it is a proxy.",
        "server.address.max_connections"],
      address_unsigned: ["One address has too many connections that have not signed in.", "server.address.max_unsigned"],
      address_handshakes: ["One address has too many connections without a request.", "server.address.max_handshakes"],
      address_tls_handshakes: ["TLS handshakes of one address wait.", "server.address.max_tls_handshakes"],
      address_rate: ["One address opens connections too fast.", "server.address.connections_per_second"],
      address_sign_ins: ["One address signs in too often.", "server.address.sign_ins_per_second"],
      client_certificate_missing: ["A client showed no certificate.", "server.tls.client_certificates"],
      client_certificate_refused: ["A client's certificate was not accepted.", "server.tls.client_ca_file"],
      proxy_header: ["A trusted proxy sent no PROXY header.", "server.proxy_protocol"],
      user_connections: ["A user has too many connections.", "client.max_connections_per_user"],
      token_checks: ["A client has too many tokens checked, and is read later.", "client.max_token_checks"],
      revoked_token: ["A revoked token was used, and counts for nothing."],
      channel_subscribers: ["A channel has as many subscribers on a gateway as it may.",
        "gateway.max_subscribers_per_channel"],
      channel_filters: ["A channel has as many different filters as it may.", "gateway.max_filters_per_channel"],
      client_channels: ["A client has as many subscriptions as it may.", "client.max_channels"],
      ordered_subscriptions: ["Clients were not subscribed though a service ordered it: the broker refused it."],
      picture_requests: ["As many requests for pictures are under way as may be.", "state.max_picture_requests"],
      picture_requests_of_user: ["One user has as many requests for pictures under way as may be.",
        "state.max_picture_requests_per_user"],
      backend: ["Your backend gave no usable answer, or is left alone for a while.", "proxies"],
      backend_calls: ["As many calls to your backend are under way as may be.", "proxies"],
      too_many_refusals: ["A client went on with commands that were refused, and was disconnected with 3013."],
      egress: ["More waits for clients than memory is set aside for: those for whom most waits are closed.",
        "gateway.egress_bytes"],
      slow: ["A client read too slowly, and was disconnected with 3008.", "client.queue_bytes"],
      slow_cut: ["A client that read too slowly was cut off.", "client.slow_close_grace"],
    };

    const broker = {
      "broker limits": ["Requests were refused for a limit of memory, of a channel or of a user; the log says which."],
      "broker quotas": ["A user keeps as much in a namespace as its quota.", "user_quota"],
      "broker idempotency keys": ["As many idempotency keys are held as are allowed.", "max_idempotency_keys"],
      "broker services": ["A service asked for what its grant does not allow.", "broker.services.keys"],
      "gateway slow disconnects": ["Clients read too slowly, and were disconnected with 3008.", "client.queue_bytes"],
    };

    const unrefused = new Set(["clique_max_requests_received", "state_max_received", "state_max_received_per_day"]);

    function rateMeaning(cause) {
      const match = /^(connection|user)_(.+?)(_refused)?$/u.exec(cause);
      if (!match) return {};
      const [, whose, kind, isRefused] = match;
      const setting = `client.${whose === "user" ? "user_limits" : "limits"}.${kind}_per_second`;
      if (isRefused) return { text: "A user went on beyond the rate over several connections, and was refused.", setting };
      const who = whose === "user" ? "A user's clients are together" : "A client is";
      return { text: `${who} faster than allowed, and read later.`, setting };
    }

    function appMeaning(limit) {
      const [app, ...rest] = limit.split("_");
      const setting = `${app}.${rest.join("_")}`;
      const text = unrefused.has(limit) ? "What was sent beyond the limit reaches nobody; nobody was refused."
        : "Calls of users went beyond the limit, and were refused.";
      return { text, setting };
    }

    /** What a limit of a frame (`gateway slow`, `app clique_max_places`, `broker limits`) means: `{ text?, setting? }`. */
    export function meaningOf(name) {
      if (Object.hasOwn(broker, name)) return { text: broker[name][0], setting: broker[name][1] };
      const [kind, cause = ""] = name.split(/ (.*)/su);
      if (kind === "app") return appMeaning(cause);
      if (kind !== "gateway") return {};
      if (Object.hasOwn(gateway, cause)) return { text: gateway[cause][0], setting: gateway[cause][1] };
      const code = /^disconnect_(\d+)$/u.exec(cause);
      if (code) return { text: `Clients were disconnected with code ${code[1]}.` };
      return rateMeaning(cause);
    }

    """##

  private static let console14 = ##"""
    // Limits that were hit while the page was open, with what each means and where it is set.

    import { h, timeTag } from "./ui.js";
    import { addressOf } from "./address.js";
    import { byUnit, clockTime, number } from "./format.js";
    import { live } from "./live.js";
    import { meaningOf } from "./limit-names.js";
    import { heading } from "./parts.js";
    import { spark } from "./plot.js";
    import { table } from "./table.js";

    function columns() {
      const lines = new Map();
      return {
        lines,
        list: [
          { id: "name", name: "Limit", isHead: true, className: "block", get: (one) => one.name, stamp: (one) => one.name,
            build: (one) => {
            const { text, setting } = meaningOf(one.name);
            return [h("span", { class: "strong" }, one.name),
              text ? h("span", { class: "limit-text" }, text) : null,
              setting ? h("a", { class: "small mono", href: addressOf(["settings"], { find: setting }) }, setting) : null];
          } },
          { id: "now", name: "Now", number: true, get: (one) => (one.at === live.last?.at ? one.now : 0),
            show: (one) => (one.at === live.last?.at ? byUnit(one.now, one.unit) : "–") },
          { id: "hits", name: "Since then", number: true, get: (one) => one.hits,
            show: (one) => number(Math.round(one.hits)) },
          { id: "at", name: "Last", wide: true, className: "fit", get: (one) => one.at, stamp: (one) => one.at,
            build: (one) => timeTag(one.at, clockTime(one.at)) },
          { id: "line", name: "", wide: true, className: "spark-cell", get: () => "", build: (one) => {
            const line = spark((frame) => frame.limits.get(one.name) ?? 0, 3);
            lines.set(one.name, line);
            return line.element;
          } },
        ],
      };
    }

    export function mount(root) {
      const { list, lines } = columns();
      const rows = table({
        caption: "Limits", isTitled: true, isStacked: true, note: "hit since the console was opened", columns: list,
          key: (one) => one.name, pageSize: 20,
        sort: { id: "at", down: true },
        empty: () => [h("p", { class: "strong" }, "No limit was hit since the console was opened."),
          h("p", { class: "soft" }, "When one is, it stands here with what it means and the setting that rules it. ",
            "What was before stands in the log, and in /metrics.")],
      });
      root.append(heading("Limits hit", {
        lead: "Whatever a peer can make grow has a limit. One that is hit now and then protects the server. One that is "
          + "hit all the time is too tight, or somebody goes too far: the log says who, once a minute.",
      }), rows.element);
      const draw = () => {
        rows.show([...live.limits.values()]);
        for (const line of lines.values()) line.draw();
      };
      draw();
      const off = live.watch(draw);
      return { unmount: off };
    }

    """##

  private static let console15 = ##"""
    // The processes behind the server: gateways, the broker, and what stands between them.

    import { h } from "./ui.js";
    import { addressOf } from "./address.js";
    import { age, bytes, byteRate, number, rate, seconds, whole } from "./format.js";
    import { hopTimes, live } from "./live.js";
    import { factList, heading, missingGateways, note, problemBox } from "./parts.js";
    import { plot } from "./plot.js";
    import { call, poll } from "./server.js";
    import { table } from "./table.js";

    function gatewayTable() {
      return table({
        caption: "Gateways", isTitled: true, key: (one) => one.uid, pageSize: 20, sort: { id: "clients", down: true },
          columns: [
          { id: "name", name: "Gateway", isHead: true, get: (one) => one.name, title: (one) => one.uid },
          { id: "clients", name: "Clients", number: true, get: (one) => one.num_clients,
            show: (one) => number(one.num_clients) },
          { id: "users", name: "Users", number: true, wide: true, get: (one) => one.num_users,
            show: (one) => number(one.num_users) },
          { id: "subs", name: "Subscriptions", number: true, get: (one) => one.num_subs,
            show: (one) => number(one.num_subs) },
          { id: "channels", name: "Channels", number: true, wide: true, get: (one) => one.num_channels,
            show: (one) => number(one.num_channels) },
          { id: "uptime", name: "Runs for", number: true, get: (one) => one.uptime, show: (one) => age(one.uptime) },
          { id: "version", name: "Version", wide: true, get: (one) => one.version },
        ],
        empty: () => [h("p", { class: "strong" }, "No gateway is linked to the broker."),
          h("p", { class: "soft" }, "Clients have nowhere to connect to. Start one with ", h("code", {}, "fanfare gateway"),
            ", or see in its log why the link does not open.")],
      });
    }

    /** What does not fit together, as sentences. */
    export function oddities({ nodes, broker, unanswered = 0 }) {
      const found = [missingGateways({ unanswered })?.message].filter(Boolean);
      const versions = new Set([...nodes.map((one) => one.version), broker.version]);
      if (versions.size > 1) found.push(`Processes of different versions run together: ${[...versions].join(", ")}.`);
      return found;
    }

    function linkPlots() {
      const hop = (name) => (frame) => frame.latencies.get(name)?.p99_seconds;
      return [
        plot({ title: "Links, 99 %", format: seconds, log: true, series: [
          { name: "to the broker", colour: 1, get: hop("link_in") },
          { name: "to the gateways", colour: 2, get: hop("link_out") }] }),
        plot({ title: "Log", format: seconds, log: true, series: [
          { name: "commit median", colour: 1, get: (frame) => frame.latencies.get("(commit)")?.p50_seconds },
          { name: "commit 99 %", colour: 3, get: (frame) => frame.latencies.get("(commit)")?.p99_seconds }] }),
        plot({ title: "Waits for the disk", format: bytes, isBytes: true, series: [
          { name: "in the broker", colour: 3, get: (frame) => frame.now.get("waits for the disk") }] }),
      ];
    }

    function liveFacts(frame) {
      const commit = hopTimes().get("(commit)");
      return {
        "Published now": rate(frame.rates.get("publications")),
        Commits: rate(frame.rates.get("commits")),
        "A commit takes": commit ? seconds(commit.median) : undefined,
        "Written to the log": byteRate(frame.rates.get("written to the log")),
        "Waits for the disk": bytes(frame.now.get("waits for the disk")),
        "Memory for channels": bytes(frame.now.get("memory of the broker")),
        Recoveries: rate(frame.rates.get("recoveries")),
      };
    }

    export function mount(root) {
      const problem = problemBox(() => asking.now());
      const notes = h("div", { class: "stack-tight", role: "status" });
      const gateways = gatewayTable();
      const facts = factList();
      const drawn = linkPlots();
      gateways.element.hidden = true;
      root.append(
        heading("Links and broker"), problem.element, notes,
        h("section", { class: "stack-tight" }, h("h2", {}, "Gateways"), gateways.element),
        h("section", { class: "stack-tight" }, h("h2", {}, "Broker"), facts.element),
        h("div", { class: "plots" }, drawn.map(({ element }) => element)),
        h("p", { class: "small" }, h("a", { href: addressOf(["settings"], { find: "backbone" }) }, "How they are linked"),
          " stands in the configuration."));
      let shown = "";
      const showNotes = (found) => {
        const stamp = JSON.stringify(found);
        if (stamp === shown) return;
        shown = stamp;
        notes.replaceChildren(...found.map((text) => note(text, "warn")));
      };
      let odd = [];
      const asking = poll(5, async (signal) => {
        try {
          const answer = await call("info", {}, { signal });
          problem.show(null);
          gateways.element.hidden = false;
          gateways.show(answer.nodes);
          facts.show({
            Version: answer.broker.version, "Runs for": age(answer.broker.uptime),
            "Channels in memory": whole(answer.broker.num_channels),
            "Published since it began": whole(answer.broker.num_publications),
          });
          odd = oddities(answer);
          showNotes([...odd, ...(live.last?.troubles ?? [])]);
        } catch (error) {
          if (error.name !== "AbortError") problem.show(error);
        }
      });
      const off = live.watch(() => {
        facts.show(liveFacts(live.last));
        for (const one of drawn) one.draw();
        showNotes([...odd, ...live.last.troubles]);
      });
      return {
        unmount() {
          off();
          asking.stop();
          for (const one of drawn) one.end();
        },
      };
    }

    """##

  private static let console16 = ##"""
    // The server's numbers, a frame a second, and the last two minutes of them. Everything that draws them reads from here.

    import { keepStream } from "./server.js";

    /** Seconds that are kept. */
    export const span = 120;
    /** Seconds over which the tables average, so that rows keep their places long enough to be read. */
    const averaged = 5;

    const history = [];
    const listeners = new Set();
    const stateListeners = new Set();
    let stream = null;
    let state = { name: "opening" };

    function rows(list) {
      return new Map((list ?? []).map(({ name, value }) => [name, typeof value === "number" ? value : NaN]));
    }

    /** A frame as `fanfare top --json` has it, with its lists by name. Fields that are missing, as of an older server,
      are empty. */
    export function readFrame(frame, at) {
      return {
        at, seconds: frame.seconds, rates: rows(frame.rates), now: rows(frame.now), limits: rows(frame.limits),
        limitUnits: new Map((frame.limits ?? []).map(({ name, unit }) => [name, unit])),
        latencies: new Map((frame.latencies ?? []).map((one) => [one.hop, one])),
        channels: new Map((frame.channels ?? []).map((one) => [one.channel, one])),
        slowest: frame.slowest ?? [], busiest: frame.busiest ?? [], troubles: frame.troubles ?? [],
      };
    }

    /** Limits that were hit while the page was open: few, since the code of the server names them. */
    const limits = new Map();
    const mostLimits = 500;

    function noteLimits(frame) {
      for (const [name, value] of frame.limits) {
        if (!(value > 0)) continue;
        const one = limits.get(name) ?? { name, hits: 0 };
        one.unit = frame.limitUnits.get(name);
        // A first frame has sums since the start in place of rates: these are from before.
        if (one.unit === "per_second") one.hits += value * (frame.seconds ?? 1);
        one.now = value;
        one.at = frame.at;
        if (limits.has(name) || limits.size < mostLimits) limits.set(name, one);
      }
    }

    function take(frame) {
      const at = Date.now();
      history.push(readFrame(frame, at));
      noteLimits(history.at(-1));
      while (history.length > 0 && history[0].at < at - (span + 2) * 1000) history.shift();
      for (const listener of [...listeners]) listener();
    }

    function show(name, more) {
      state = { name, ...more };
      for (const listener of [...stateListeners]) listener(state);
    }

    export const live = {
      history,
      limits,
      get last() {
        return history.at(-1) ?? null;
      },
      get state() {
        return state;
      },
      start() {
        stream ??= keepStream("live", { onMessage: take, onState: show, silence: 12_000 });
      },
      retry() {
        stream?.retry();
      },
      stop() {
        stream?.stop();
        stream = null;
        history.length = 0;
        limits.clear();
      },
      /** Calls `f` after each frame, and now where there is one. Gives what ends it. */
      watch(f) {
        listeners.add(f);
        if (history.length > 0) f();
        return () => listeners.delete(f);
      },
      watchState(f) {
        stateListeners.add(f);
        f(state);
        return () => stateListeners.delete(f);
      },
    };

    function latest(secondsBack) {
      const since = (history.at(-1)?.at ?? 0) - secondsBack * 1000;
      return history.filter((frame) => frame.at > since);
    }

    function mean(values) {
      const known = values.filter((value) => typeof value === "number" && Number.isFinite(value));
      return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : undefined;
    }

    /** A channel is among the busy ones by this or that; it may have been missing in some of the frames. */
    export function busyChannels() {
      const frames = latest(averaged);
      const last = history.at(-1);
      if (!last) return [];
      return [...last.channels.values()].map(({ channel, subscribers }) => {
        const seen = frames.map((frame) => frame.channels.get(channel)).filter(Boolean);
        return {
          channel, subscribers,
          publications: mean(seen.map((one) => one.publications_per_second)),
          deliveries: mean(seen.map((one) => one.deliveries_per_second)),
          bytes: mean(seen.map((one) => one.bytes_per_second)) ?? 0,
        };
      });
    }

    /**
     * Times by hop over the last `seconds`: quantiles of single seconds weighed by how many were measured in each, which is
     * close to the quantile of all of them and needs no more than the frames have.
     */
    export function hopTimes(seconds = 15) {
      const sums = new Map();
      for (const frame of latest(seconds)) {
        for (const [hop, { p50_seconds: median, p99_seconds: p99, measured }] of frame.latencies) {
          if (!(measured > 0)) continue;
          const sum = sums.get(hop) ?? { median: 0, p99: 0, measured: 0 };
          sum.median += median * measured;
          sum.p99 += p99 * measured;
          sum.measured += measured;
          sums.set(hop, sum);
        }
      }
      return new Map([...sums].map(([hop, { median, p99, measured }]) => [
        hop, { median: median / measured, p99: p99 / measured, measured },
      ]));
    }

    """##

  private static let console17 = ##"""
    // What goes on: the numbers that matter most, plots of two minutes, the busy channels, the times by hop.

    import { button, fill, h } from "./ui.js";
    import { addressOf } from "./address.js";
    import { byteRate, bytes, number, percent, rate, seconds, unknown } from "./format.js";
    import { busyChannels, hopTimes, live } from "./live.js";
    import { plot, spark } from "./plot.js";
    import { table } from "./table.js";

    const numbersKey = "fanfare.console.numbers";

    function remembered() {
      try {
        return localStorage.getItem(numbersKey) === "true";
      } catch {
        return false;
      }
    }

    function remember(value) {
      try {
        localStorage.setItem(numbersKey, String(value));
      } catch {
        // Without a place to keep it, it holds as long as the page.
      }
    }

    // Tiles

    const ofRates = (name) => (frame) => frame.rates.get(name);
    const ofNow = (name) => (frame) => frame.now.get(name);
    const ofHop = (hop, part) => (frame) => frame.latencies.get(hop)?.[part];

    const tileKinds = [
      { name: "Clients", get: ofNow("clients"), format: number, more: (frame) => [
        number(frame.now.get("subscriptions")), " subscriptions"] },
      { name: "Publications", get: ofRates("publications"), format: rate, more: (frame) => [
        number(frame.now.get("channels")), " channels"] },
      { name: "Deliveries", get: ofRates("deliveries"), format: rate, more: (frame) => {
        const each = frame.rates.get("deliveries") / frame.rates.get("publications");
        return Number.isFinite(each) ? [number(each), " for each"] : ["none now"];
      } },
      { name: "Latency, 99 %", get: ofHop("whole", "p99_seconds"), format: seconds, held: true,
        more: (frame, isKnown) => [isKnown ? "to the last subscriber" : "none measured yet"] },
      { name: "Processors", get: ofRates("processors in use"), format: (value) => (
        Number.isFinite(value) ? value.toFixed(2) : unknown), more: () => ["in use, all processes"] },
      { name: "Memory", get: ofNow("memory of all processes"), format: bytes, more: (frame) => [
        bytes(frame.now.get("memory of the broker")), " for channels"] },
    ];

    /** Not each second has a publication that was measured: the newest one that had. */
    function lastKnown(get) {
      for (let index = live.history.length - 1; index >= 0; index -= 1) {
        const value = get(live.history[index]);
        if (Number.isFinite(value)) return value;
      }
      return undefined;
    }

    function tile({ name, get, format, more, held }) {
      const value = h("span", { class: "tile-value" }, unknown);
      const note = h("span", { class: "small soft one-line" }, " ");
      const line = spark(get);
      return {
        element: h("li", { class: "card tile" }, h("span", { class: "small soft" }, name), value, note, line.element),
        draw(frame) {
          const now = held ? lastKnown(get) : get(frame);
          value.textContent = format(now);
          const text = more(frame, Number.isFinite(now)).join("");
          if (note.textContent !== text) note.textContent = text;
          line.draw();
        },
      };
    }

    // What somebody should look at

    /** What is wrong, as sentences with where to read on; the worst first. */
    export function findings(frame) {
      const found = frame.troubles.map((text) => ({ text, isBad: true, to: ["links"] }));
      if (frame.now.get("refusals of the disk") > 0) {
        found.unshift({ text: "The disk refuses what is written: nothing durable is accepted until it has room.",
          isBad: true,
          to: ["links"] });
      }
      const names = new Set();
      for (const { limits, at } of live.history) {
        if (at < frame.at - 60_000) continue;
        for (const name of limits.keys()) names.add(name);
      }
      if (names.size > 0) {
        const text = names.size === 1 ? `A limit was hit in the last minute: ${[...names][0]}.`
          : `${names.size} limits were hit in the last minute.`;
        found.push({ text, isBad: false, to: ["limits"] });
      }
      const waits = frame.now.get("waits for clients");
      if (waits > 4 << 20) {
        found.push({ text: `${bytes(waits)} wait for clients that read slowly.`, isBad: false, to: ["users"] });
      }
      return found;
    }

    function findingsBox() {
      const element = h("div", { class: "findings", role: "status" });
      let shown = null;
      return {
        element,
        draw(frame) {
          const found = findings(frame);
          const stamp = JSON.stringify(found);
          if (stamp === shown) return;
          shown = stamp;
          fill(element, found.length === 0
            ? h("p", { class: "finding finding-good" }, h("span", { class: "dot", "aria-hidden": true }),
              "No limit was hit and nothing reports trouble.")
            : found.map(({ text, isBad, to }) => h("p", { class: `finding ${isBad ? "finding-bad" : "finding-warn"}` },
              h("span", { class: "dot", "aria-hidden": true }), h("span", { class: "grow" }, text),
              h("a", { href: addressOf(to) }, "Look"))));
        },
      };
    }

    // Busy channels

    function busyColumns(busy) {
      const most = () => Math.max(...busy.rows.map((one) => one.deliveries ?? 0), 1e-9);
      return [
        { id: "channel", name: "Channel", isHead: true, mono: true, get: (one) => one.channel, title: (one) => one.channel,
          href: (one) => addressOf(["channels", one.channel]) },
        { id: "deliveries", name: "Deliveries", number: true, get: (one) => one.deliveries,
          show: (one) => rate(one.deliveries),
          part: (one) => (one.deliveries ?? 0) / most(), help: "Publications times subscribers" },
        { id: "publications", name: "Published", number: true, get: (one) => one.publications,
          show: (one) => rate(one.publications) },
        { id: "bytes", name: "Bytes", number: true, wide: true, get: (one) => one.bytes,
          show: (one) => byteRate(one.bytes) },
        { id: "subscribers", name: "Subscribers", number: true, get: (one) => one.subscribers,
          wide: true, show: (one) => number(one.subscribers) },
      ];
    }

    /**
     * The busiest of all, in words. Rates of single channels need two looks at all of them, 5 to 30 seconds apart: until then
     * something may go out on channels that are not named yet, and that is not quiet.
     */
    function busiestLine() {
      const element = h("p", { class: "busiest" });
      const link = h("a", { class: "mono" });
      const rest = h("span", {});
      return {
        element,
        draw(busiest, all, isKnown) {
          if (!busiest) {
            // The first frame has totals alone: rates begin with the second.
            const text = !isKnown ? "Counting…"
              : all > 0 ? `${rate(all)} deliveries; which channel is the busiest is not known yet.` : "All is quiet.";
            return element.textContent === text ? undefined : fill(element, text);
          }
          const share = all > 0 ? `, ${percent(Math.min(1, busiest.deliveries / all))} of all` : "";
          link.textContent = busiest.channel;
          link.href = addressOf(["channels", busiest.channel]);
          rest.textContent = ` is the busiest: ${rate(busiest.deliveries)} deliveries${share}.`;
          return link.isConnected ? undefined : fill(element, link, rest);
        },
      };
    }

    function busyBox() {
      const busy = { rows: [], first: null };
      const line = busiestLine();
      const rows = table({
        caption: "Busy channels", isTitled: true,
        note: "averages of 5 to 30 seconds, longer with more channels; of the 50 to which most bytes go",
        columns: busyColumns(busy), key: (one) => one.channel, pageSize: 10, sort: { id: "deliveries", down: true },
        mark: (one) => (one === busy.first ? "is-busiest" : ""),
        // The apps' channels are not named here, and the others are looked at every few seconds.
        empty: () => [h("p", { class: "strong" }, live.last?.now.get("subscriptions") > 0
          ? "None of the channels shown here has a subscriber yet; those of the apps are left out."
          : "No channel has a subscriber."),
          h("p", { class: "soft" }, "Follow one in a terminal, and publish in another:"),
          h("p", {}, h("code", {}, "fanfare subscribe news")),
          h("p", {}, h("code", {}, "fanfare publish news '{\"hello\":\"world\"}'"))],
      });
      return {
        element: h("section", { class: "stack-tight" }, h("h2", {}, "Busy channels"), line.element, rows.element),
        draw(frame) {
          busy.rows = busyChannels();
          busy.first = busy.rows.reduce((best, one) => (
            (one.deliveries ?? 0) > (best?.deliveries ?? 0) ? one : best), null);
          const all = frame.rates.get("deliveries");
          line.draw(busy.first, all, Number.isFinite(all));
          rows.show(busy.rows);
        },
      };
    }

    // Times by hop

    const hops = [
      ["gateway_in", "Gateway, in",
        "From the frame being read until the request is on its way to the broker. High: the event loop is busy."],
      ["link_in", "Link, to broker",
        "Until the broker takes it in. High: the network between them, or the broker's processor."],
      ["broker", "Broker", "Until the log was given it. High: it waited for a read of the disk, or behind a busy app."],
      ["log", "Log", "Until it may be delivered: after the commit where it is durable. High: the disk is slow to sync."],
      ["link_out", "Link, to gateway", "Until a gateway has it. High: the network, or the gateway's backbone thread."],
      ["gateway_out", "Gateway, out", "Until it stands on the channel's tape. High: the event loop is busy with others."],
      ["socket_first", "First socket", "Until the kernel took it for the first subscriber."],
      ["socket_last", "Last socket",
        "Until the kernel took it for all subscribers. High: many subscribers, or costly sends."],
      ["whole", "Whole way", "From the frame being read to the last subscriber on one gateway."],
      ["(commit)", "Commit", "How long the disk takes for a commit; publications share one."],
    ];

    /** Where a time lies between 1 µs and 1 s, evenly by its logarithm. */
    export function placeOf(time) {
      return Math.min(1, Math.max(0, (Math.log10(Math.max(time, 1e-6)) + 6) / 6));
    }

    function hopRange() {
      const bar = h("span", { class: "range-bar" });
      const element = h("span", { class: "range", "aria-hidden": true }, bar);
      return {
        element,
        show(times) {
          bar.hidden = !times;
          if (!times) return;
          const from = placeOf(times.median);
          bar.style.setProperty("left", `${from * 100}%`);
          bar.style.setProperty("width", `max(6px, ${(placeOf(times.p99) - from) * 100}%)`);
        },
      };
    }

    function hopBox() {
      const rows = hops.map(([hop, name, help]) => {
        const range = hopRange();
        const cells = [h("td", { class: "number" }), h("td", { class: "number" })];
        const row = h("tr", { class: hop === "whole" ? "is-sum" : undefined },
          h("th", { scope: "row", title: help }, name), h("td", { class: "range-cell" }, range.element), cells);
        return { hop, range, cells, row };
      });
      const heads = h("tr", {}, h("th", { scope: "col" }, "Hop"),
        h("td", { class: "range-cell" }, h("span", { class: "range-scale", "aria-hidden": true },
          ["1 µs", "1 ms", "1 s"].map((text) => h("span", {}, text)))),
        h("th", { scope: "col", class: "number" }, "Median"), h("th", { scope: "col", class: "number" }, "99 %"));
      const caption = h("caption", { id: "hops" }, h("span", { class: "visually-hidden" }, "Latency by hop: "),
        "last 15 seconds, from the median to 99 %");
      const details = h("details", { class: "small" }, h("summary", {}, "What the hops are"),
        h("dl", { class: "terms" }, hops.map(([, name, help]) => [h("dt", {}, name), h("dd", {}, help)])));
      return {
        element: h("section", { class: "stack-tight" }, h("h2", {}, "Where the time goes"),
          h("div", { class: "scroller", role: "region", "aria-labelledby": "hops", tabindex: "0" },
            h("table", { class: "table hops" }, caption, h("thead", {}, heads), h("tbody", {},
              rows.map(({ row }) => row)))),
          details),
        draw() {
          const times = hopTimes();
          for (const { hop, range, cells } of rows) {
            const one = times.get(hop);
            range.show(one);
            for (const [index, text] of [seconds(one?.median), seconds(one?.p99)].entries()) {
              if (cells[index].textContent !== text) cells[index].textContent = text;
            }
          }
        },
      };
    }

    // The page

    function plots() {
      return [
        plot({ title: "Publications", format: rate, series: [
          { name: "published", colour: 1, get: ofRates("publications") }] }),
        plot({ title: "Deliveries", format: rate, series: [
          { name: "delivered", colour: 2, get: ofRates("deliveries") }] }),
        plot({ title: "Latency", format: seconds, log: true, series: [
          { name: "99 %", colour: 3, get: ofHop("whole", "p99_seconds") },
          { name: "median", colour: 1, get: ofHop("whole", "p50_seconds") },
          { name: "commit 99 %", colour: 4, get: ofHop("(commit)", "p99_seconds") }] }),
        plot({ title: "Clients", format: number, series: [
          { name: "connected", colour: 1, get: ofNow("clients") }] }),
        plot({ title: "What waits", format: bytes, isBytes: true, series: [
          { name: "for clients", colour: 1, get: ofNow("waits for clients") },
          { name: "in the fan-out", colour: 2, get: ofNow("waits in the fan-out") },
          { name: "for the disk", colour: 3, get: ofNow("waits for the disk") }] }),
        plot({ title: "Disk", format: byteRate, isBytes: true, series: [
          { name: "written to the log", colour: 2, get: ofRates("written to the log") }] }),
      ];
    }

    /** What the plots show, for whoever would rather read it. */
    function numbersTable(drawn) {
      const heads = ["Now", "Lowest", "Average", "Highest"];
      const rows = table({
        caption: "The last two minutes", isTitled: true, key: (one) => one.name, pageSize: 40, columns: [
          { id: "name", name: "What", isHead: true, get: (one) => one.name },
          ...heads.map((name, index) => (
            { id: name, name, number: true, wide: index === 1 || index === 2, get: (one) => one.values[index] })),
        ],
      });
      return { element: rows.element, draw: () => rows.show(drawn.flatMap(({ numbers }) => numbers)) };
    }

    export function mount(root) {
      const tiles = tileKinds.map(tile);
      const trouble = findingsBox();
      const drawn = plots();
      const busy = busyBox();
      const hopTable = hopBox();
      const numbers = numbersTable(drawn);
      const shapes = h("div", { class: "plots" }, drawn.map(({ element }) => element));
      let asNumbers = remembered();
      const toggle = button("As numbers", () => {
        asNumbers = !asNumbers;
        remember(asNumbers);
        show();
      }, { class: "button button-small", "aria-pressed": "false" });
      const show = () => {
        toggle.setAttribute("aria-pressed", String(asNumbers));
        shapes.hidden = asNumbers;
        numbers.element.hidden = !asNumbers;
        if (live.last) drawShapes();
      };
      const drawShapes = () => {
        if (asNumbers) return numbers.draw();
        for (const one of drawn) one.draw();
      };
      root.append(
        h("h1", { class: "visually-hidden" }, "Overview"), trouble.element,
        h("ul", { class: "tiles" }, tiles.map(({ element }) => element)),
        h("div", { class: "two" }, busy.element, hopTable.element),
        h("section", { class: "stack-tight" },
          h("div", { class: "row row-between" }, h("h2", {}, "The last two minutes"), toggle),
          shapes, numbers.element));
      show();
      const off = live.watch(() => {
        const frame = live.last;
        trouble.draw(frame);
        busy.draw(frame);
        hopTable.draw();
        for (const one of tiles) one.draw(frame);
        drawShapes();
      });
      return {
        unmount() {
          off();
          for (const one of drawn) one.end();
        },
      };
    }

    """##

  private static let console18 = ##"""
    // What several pages show alike: headings, facts, problems, and what asks before it does something.

    import { button, count, field, fill, h, openDialog, sentence } from "./ui.js";
    import { newKey } from "./server.js";

    /** The heading of a page: where it belongs, its name, and what can be done on it. */
    export function heading(title, { crumb, lead, actions = [], mono = false } = {}) {
      return h("div", { class: "stack-tight" },
        crumb ? h("p", { class: "crumb" }, h("a", { href: crumb.href }, crumb.text)) : null,
        h("div", { class: "head" }, h("h1", { class: mono ? "mono" : undefined }, title), h("div", { class: "row" },
          actions)),
        lead ? h("p", { class: "lead" }, lead) : null);
    }

    /** Facts by name that change where they are: `show({ Subscribers: "41" })`. Those without a value are left out. */
    export function factList() {
      const element = h("dl", { class: "facts is-live" });
      const places = new Map();
      return {
        element,
        show(facts) {
          for (const [name, value] of Object.entries(facts)) {
            let place = places.get(name);
            if (!place) {
              place = { value: h("dd", {}) };
              place.box = h("div", { class: "fact" }, h("dt", {}, name), place.value);
              places.set(name, place);
              element.append(place.box);
            }
            place.box.hidden = value === undefined || value === null || value === "";
            const text = String(value ?? "");
            if (place.value.textContent !== text) place.value.textContent = text;
          }
        },
      };
    }

    /** A place for what went wrong, with a way to try again. */
    export function problemBox(onRetry) {
      const element = h("div", { class: "note note-bad row", role: "alert", hidden: true });
      return {
        element,
        show(error) {
          element.hidden = !error;
          fill(element, error ? [h("span", { class: "grow" }, sentence(error)),
            onRetry ? button("Try again", onRetry, { class: "button button-small" }) : null] : []);
        },
      };
    }

    /** What to say where gateways did not answer in time; nothing where all did. */
    export function missingGateways({ unanswered = 0 }) {
      if (unanswered === 0) return null;
      return new Error(`${count(unanswered, "gateway")} did not answer in time: what they carry is missing here.`);
    }

    export function note(text, kind = "") {
      return h("p", { class: `note ${kind ? `note-${kind}` : ""}` }, text);
    }

    export function chip(text, kind = "") {
      return h("span", { class: `chip ${kind ? `chip-${kind}` : ""}` }, text);
    }

    /** One field and a button beside it: `onGo(text)` where there is something in the field. */
    export function lookForm({ label, value = "", placeholder = "", action, help = "", onGo, more = [],
      canBeEmpty = false }) {
      const { element: box, input } = field(label, {
        value, placeholder, class: "input mono", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
          maxlength: 1024,
        type: "search",
      }, help);
      const element = h("form", { class: "form", role: "search", on: {
        submit: (event) => {
          event.preventDefault();
          if (canBeEmpty || input.value) onGo(input.value); else input.focus();
        },
      } }, box, h("button", { type: "submit", class: "button button-primary" }, action), more);
      return { element, input };
    }

    /** Views of one page: links of which one is where one is. */
    export function views(label, list) {
      const links = list.map(({ id, name }) => h("a", { dataset: { view: id } }, name));
      const element = h("nav", { class: "views", "aria-label": label }, links);
      return {
        element,
        rename(id, name) {
          links.find((link) => link.dataset.view === id).textContent = name;
        },
        show(current, hrefOf) {
          for (const link of links) {
            link.setAttribute("href", hrefOf(link.dataset.view));
            if (link.dataset.view === current) link.setAttribute("aria-current", "page");
            else link.removeAttribute("aria-current");
          }
        },
      };
    }

    /**
     * Asks before something is done that cannot be taken back, does it, and says what was done. It stays open while it is
     * under way, and where it failed: a call whose answer was lost is made again with the same key, and so done once.
     *
     * - `text`: what will happen, a paragraph each.
     * - `fields`: of `field()`; their elements are shown below.
     * - `run(key)`: does it. `done(result)`: the sentence that says so.
     * - `repeat`: what has to be typed to go on.
     */
    export async function ask(context, { title, text, fields = [], action, run, done, isDanger = true, repeat = "" }) {
      const key = newKey();
      const result = await openDialog(title, (close) => {
        const problem = h("p", { class: "field-error", role: "alert" });
        const again = repeat ? field(`Type ${repeat} to go on`, { autocomplete: "off", spellcheck: "false",
          class: "input mono" })
          : null;
        const submit = h("button", {
          type: "submit", class: `button ${isDanger ? "button-danger" : "button-primary"}`,
        }, action);
        const onSubmit = async (event) => {
          event.preventDefault();
          if (submit.getAttribute("aria-disabled") === "true") return;
          if (again && again.input.value !== repeat) {
            problem.textContent = `Type ${repeat} as it stands there.`;
            return again.input.focus();
          }
          submit.setAttribute("aria-disabled", "true");
          problem.textContent = "";
          try {
            close({ answer: await run(key) });
          } catch (error) {
            const hint = error.isLost ? " It may have been done; to try again does it only once." : "";
            problem.textContent = `${sentence(error)}${hint}`;
            submit.setAttribute("aria-disabled", "false");
          }
        };
        return h("form", { class: "stack", novalidate: true, on: { submit: onSubmit } },
          [text].flat().filter(Boolean).map((paragraph) => h("p", {}, paragraph)),
          fields.map(({ element }) => element), again?.element, problem,
          h("div", { class: "dialog-actions" },
            button("Cancel", () => close(undefined), { kind: "quiet", autofocus: isDanger && fields.length === 0 }),
              submit));
      });
      if (!result) return false;
      context.toast(done(result.answer));
      return true;
    }

    /** A choice of a few: `[[value, text], …]`. */
    export function choice(label, options, attributes = {}, help = "") {
      return field(label, {
        tag: "select", ...attributes,
        children: options.map(([value, text]) => {
          const option = h("option", {}, text);
          // An empty value has to be there as an attribute: without one an option's text is its value.
          option.setAttribute("value", value);
          return option;
        }),
      }, help);
    }

    /** JSON on one line that opens to all of it. */
    export function jsonCell(line, all) {
      const full = h("pre", { class: "json", tabindex: "0" });
      return h("details", { on: {
        toggle: (event) => {
          // It is written out when somebody wants to read it.
          if (event.target.open && full.textContent === "") full.textContent = all();
        },
      } }, h("summary", { class: "mono" }, line), full);
    }

    """##

  private static let console19 = ##"""
    // One user and one connection: what the server knows of them, and what can be done.

    import { button, count, fill, h, timeTag } from "./ui.js";
    import { deleteUser, disconnect, revokeTokens, suspend, unsubscribe, unsuspend } from "./actions.js";
    import { addressOf } from "./address.js";
    import { bytes, number, whole } from "./format.js";
    import { chip, factList, heading, missingGateways, note, problemBox } from "./parts.js";
    import { call, poll } from "./server.js";
    import { table } from "./table.js";

    const words = {
      channels: "channels", publications: "publications", entries: "entries of maps", webhook_events: "events for webhooks",
    };

    function clientsOf({ gateways }) {
      return gateways.flatMap(({ uid, found }) =>
        (found?.clients ?? []).map((one) => ({ ...one, gateway: found.name || uid })));
    }

    function connectionTable(context, user, reload) {
      return table({
        caption: "Connections", isTitled: true, isStacked: true, key: (one) => one.client, pageSize: 10, columns: [
          { id: "client", name: "Client", isHead: true, mono: true, get: (one) => one.client,
            show: (one) => one.client.slice(0, 8), title: (one) => one.client,
            href: (one) => addressOf(["clients", one.client]) },
          { id: "since", name: "Since", className: "fit", get: (one) => one.since, stamp: (one) => one.since,
            build: (one) => timeTag(one.since * 1000) },
          { id: "address", name: "Address", wide: true, get: (one) => one.address },
          { id: "sdk", name: "SDK", wide: true, get: (one) => [one.sdk, one.format].filter(Boolean).join(", ") },
          { id: "subscriptions", name: "Subs.", number: true, get: (one) => one.num_subs,
            show: (one) => number(one.num_subs) },
          { id: "waiting", name: "Waits", number: true, get: (one) => one.waiting_bytes,
            show: (one) => bytes(one.waiting_bytes) },
          { id: "gateway", name: "Gateway", wide: true, get: (one) => one.gateway },
          { id: "actions", name: "", className: "actions", get: () => "",
            build: (one) => context.may("disconnect") && button("Disconnect…", async () => {
            if (await disconnect(context, { client: one.client }, `${user}, ${one.client.slice(0, 8)}`)) reload();
          }, { kind: "quiet", "aria-label": `Disconnect ${one.client}` }) },
        ],
        empty: () => [h("p", { class: "strong" }, "This user is not connected."),
          h("p", { class: "soft" }, "The server does not know who exists elsewhere: see that the id is right.")],
      });
    }

    function quotaTable() {
      return table({
        caption: "Quotas", isTitled: true, key: (one) => one.namespace, pageSize: 10, columns: [
          { id: "namespace", name: "Namespace", isHead: true, get: (one) => one.namespace || "without a namespace" },
          { id: "bytes", name: "Keeps", number: true, get: (one) => one.bytes,
            show: (one) => `${bytes(one.bytes)}${one.bytes_limit ? ` of ${bytes(one.bytes_limit)}` : ""}`,
            part: (one) => (one.bytes_limit ? one.bytes / one.bytes_limit : 0) },
          { id: "entries", name: "Entries", number: true, get: (one) => one.entries,
            show: (one) => `${whole(one.entries)}${one.entries_limit ? ` of ${whole(one.entries_limit)}` : ""}`,
            part: (one) => (one.entries_limit ? one.entries / one.entries_limit : 0) },
        ],
      });
    }

    /** What is kept, which goes through all there is: only when somebody asks. */
    function keptBox(user) {
      const problem = problemBox(() => load());
      const state = h("p", { class: "small soft", role: "status" });
      const rows = table({
        caption: "Kept of this user", isTitled: true, key: (one) => `${one.kind} ${one.namespace ?? ""}`, pageSize: 20,
          columns: [
          { id: "kind", name: "Kind", isHead: true, get: (one) => words[one.kind] ?? one.kind },
          { id: "namespace", name: "Namespace", wide: true,
            get: (one) => (one.namespace === "" ? "without a namespace" : one.namespace ?? "") },
          { id: "count", name: "Count", number: true, get: (one) => one.count, show: (one) => whole(one.count) },
          { id: "bytes", name: "Bytes", number: true, get: (one) => one.bytes, show: (one) => bytes(one.bytes) },
        ],
        empty: () => h("p", { class: "strong" }, "Nothing is kept of this user."),
      });
      rows.element.hidden = true;
      async function load() {
        state.textContent = "Looking through all that is kept…";
        try {
          const answer = await call("user_data", { user });
          problem.show(null);
          rows.element.hidden = false;
          rows.show(answer.kept);
          state.textContent = `Present on ${count(answer.present, "channel")}; `
            + `${count(answer.revocations, "revocation")} named after the user.`;
        } catch (error) {
          state.textContent = "";
          problem.show(error);
        }
      }
      return h("section", { class: "stack-tight" },
        h("div", { class: "row row-between" }, h("h2", {}, "What is kept"),
          button("Count it", load, { class: "button button-small" })),
        state, problem.element, rows.element);
    }

    function revocationText(one) {
      const until = one.expire_at ? `, until ${new Date(one.expire_at * 1000).toLocaleString()}` : "";
      const which = one.channel ? `Subscription tokens for ${one.channel}` : "Tokens";
      return `${which} that were issued before ${new Date(one.issued_before * 1000).toLocaleString()} are revoked${until}.`;
    }

    function suspensionNote(suspended) {
      if (!suspended) return null;
      const { reason, expire_at: end } = suspended;
      const until = end ? `until ${new Date(end * 1000).toLocaleString()}` : "until it is lifted";
      return note(`Suspended ${until}${reason ? `: ${reason}` : ""}.`, "bad");
    }

    function standingOf({ broker }) {
      const { suspended, revocations = [] } = broker;
      return [
        suspended ? chip("suspended", "bad") : null,
        revocations.length > 0 ? chip(count(revocations.length, "revocation"), "warn") : null,
      ];
    }

    function lacksActions(context) {
      return ["disconnect", "invalidate_user_tokens", "user_suspend", "user_delete"].some((method) => !context.may(method));
    }

    function userActions(context, user, known, reload) {
      const act = (f) => async () => {
        if (await f(context, user)) reload();
      };
      const isSuspended = Boolean(known?.broker.suspended);
      return [
        ["disconnect", "Disconnect…", () => disconnect(context, { user }, user)],
        ["invalidate_user_tokens", "Revoke tokens…", revokeTokens],
        isSuspended ? ["user_unsuspend", "Lift the suspension…", unsuspend] : ["user_suspend", "Suspend…", suspend],
        ["user_delete", "Delete…", deleteUser],
      ].filter(([method]) => context.may(method)).map(([method, text, f]) => button(text, act(f), {
        class: `button button-small ${method === "user_delete" ? "button-danger" : ""}`,
      }));
    }

    export function mountUser(root, context, user) {
      const facts = factList();
      const chips = h("div", { class: "row" });
      const actions = h("div", { class: "row" });
      const standing = h("div", { class: "stack-tight" });
      const problem = problemBox(() => asking.now());
      const rows = connectionTable(context, user, () => asking.now());
      const quotas = quotaTable();
      const quotaBox = h("section", { class: "stack-tight", hidden: true }, h("h2", {}, "Quotas"), quotas.element);
      const connections = h("section", { class: "stack-tight", hidden: true }, h("h2", {}, "Connections"), rows.element);
      root.append(
        heading(user, { crumb: { text: "Users and clients", href: "#/users" }, actions }), chips, problem.element,
          facts.element,
        standing, connections, quotaBox, keptBox(user),
        lacksActions(context) ? h("p", { class: "small soft" }, "What the console may do to people is set with ",
          h("a", { href: addressOf(["settings"], { find: "console.allow" }) }, "console.allow"), ".") : "",
        h("p", { class: "row more" },
          h("a", { href: addressOf(["why"], { ask: "may", user }) }, "What may this user do?"),
          h("a", { href: addressOf(["why"], { user }) }, "Why did something not reach them?"),
          h("a", { href: addressOf(["apps"], { user }) }, "Clique and State")));
      fill(actions, userActions(context, user, null, () => asking.now()));
      let wasSuspended = false;
      const asking = poll(5, async (signal) => {
        try {
          const known = await call("inspect_user", { user }, { signal });
          const clients = clientsOf(known);
          problem.show(missingGateways(known));
          facts.show({
            Connections: number(clients.length),
            Subscriptions: number(clients.reduce((sum, one) => sum + (one.num_subs ?? 0), 0)),
            Waits: bytes(clients.reduce((sum, one) => sum + (one.waiting_bytes ?? 0), 0)),
            "Keys held": known.broker.idempotency_keys > 0 ? number(known.broker.idempotency_keys) : undefined,
          });
          fill(chips, standingOf(known));
          const revocations = (known.broker.revocations ?? []).slice(0, 5);
          fill(standing, suspensionNote(known.broker.suspended),
            revocations.map((one) => note(revocationText(one), "warn")));
          connections.hidden = false;
          rows.show(clients);
          const used = (known.broker.quotas ?? []).filter((one) => one.entries > 0 || one.bytes > 0);
          quotaBox.hidden = used.length === 0;
          quotas.show(used);
          if (Boolean(known.broker.suspended) === wasSuspended) return;
          wasSuspended = !wasSuspended;
          fill(actions, userActions(context, user, known, () => asking.now()));
        } catch (error) {
          if (error.name !== "AbortError") problem.show(error);
        }
      });
      return { unmount: () => asking.stop() };
    }

    export function mountClient(root, context, id) {
      const facts = factList();
      const user = h("p", {});
      const problem = problemBox(() => asking.now());
      const gone = h("div", {});
      const rows = table({
        caption: "Subscriptions", isStacked: true, key: (one) => one.channel, pageSize: 20,
        sort: { id: "channel", down: false }, columns: [
          { id: "channel", name: "Channel", isHead: true, mono: true, get: (one) => one.channel,
            href: (one) => addressOf(["channels", one.channel]) },
          { id: "behind", name: "Behind", number: true, get: (one) => one.behind_bytes,
            show: (one) => bytes(one.behind_bytes) },
          { id: "actions", name: "", className: "actions", get: () => "",
            build: (one) => context.may("unsubscribe") && button("Unsubscribe…", async () => {
            if (await unsubscribe(context, { client: id }, id.slice(0, 8), one.channel)) asking.now();
          }, { kind: "quiet", "aria-label": `Unsubscribe from ${one.channel}` }) },
        ],
        empty: () => h("p", { class: "strong" }, "This connection has no subscription."),
      });
      rows.element.hidden = true;
      root.append(heading(id, { mono: true, crumb: { text: "Users and clients", href: "#/users" },
        actions: context.may("disconnect") ? button("Disconnect…", async () => {
          if (await disconnect(context, { client: id }, id.slice(0, 8))) asking.now();
        }, { class: "button button-small button-danger" }) : [] }), user, problem.element, facts.element, gone,
          rows.element);
      const asking = poll(5, async (signal) => {
        try {
          const known = await call("inspect_client", { client: id }, { signal });
          problem.show(missingGateways(known));
          const [one] = clientsOf(known);
          rows.element.hidden = !one;
          fill(gone, one ? [] : note("No gateway has this connection: it has ended. Look its user up to find others.",
            "warn"));
          if (!one) return;
          if (!user.firstChild) {
            fill(user, one.user ? ["Signed in as ", h("a", { href: addressOf(["users", one.user]) }, one.user), "."]
              : "Signed in without a user.");
          }
          facts.show({
            Since: new Date(one.since * 1000).toLocaleString(), Address: one.address,
            SDK: [one.sdk, one.version, one.format].filter(Boolean).join(", "), Gateway: one.gateway,
            Subscriptions: number(one.num_subs), Waits: bytes(one.waiting_bytes), Asked: bytes(one.asked_bytes),
          });
          rows.show(one.subscriptions ?? []);
        } catch (error) {
          if (error.name !== "AbortError") problem.show(error);
        }
      });
      return { unmount: () => asking.stop() };
    }

    """##

  private static let console20 = ##"""
    // Plots of the last two minutes, drawn on a canvas when a frame has come. Each says in words what it shows, and can be
    // read as a table.

    import { h, onceAFrame, uniqueId } from "./ui.js";
    import { live, span } from "./live.js";
    import { clockTime } from "./format.js";

    /** A longer silence between two frames is a gap in the line: nothing is known of it. */
    const longestStep = 3500;
    const margin = { top: 10, bottom: 18, left: 6, right: 6 };

    // The pointer is over one plot, and all of them show the same moment.
    const cursor = { at: null, watchers: new Set() };

    function pointTo(at) {
      if (cursor.at === at) return;
      cursor.at = at;
      for (const watcher of cursor.watchers) watcher();
    }

    let tokens = null;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      tokens = null;
      for (const watcher of cursor.watchers) watcher();
    });

    /** Colours as the style sheet has them now; a canvas knows no custom properties. */
    function colours() {
      if (tokens) return tokens;
      const probe = h("span", { hidden: true });
      document.body.append(probe);
      const read = (name) => {
        probe.style.setProperty("color", `var(${name})`);
        return getComputedStyle(probe).color;
      };
      tokens = { line: read("--line"), text: read("--text-soft"), strong: read("--text"), surface: read("--surface") };
      for (const number of [1, 2, 3, 4]) tokens[`plot-${number}`] = read(`--plot-${number}`);
      probe.remove();
      return tokens;
    }

    /** Makes the canvas as sharp as the screen is. Gives its size in CSS pixels, or null where it is not shown. */
    function prepare(canvas) {
      const { clientWidth: width, clientHeight: height } = canvas;
      if (width === 0 || height === 0) return null;
      const ratio = Math.min(3, devicePixelRatio || 1);
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      return { context, width, height };
    }

    /** The next number above that reads well: 1, 2 or 5 with zeros, or with powers of 1024 for bytes. */
    export function niceCeiling(value, isBytes = false) {
      if (!(value > (isBytes ? 1024 : 1))) return isBytes ? 1024 : 1;
      const unit = isBytes ? 1024 ** Math.max(0, Math.floor(Math.log2(value) / 10)) : 1;
      const scaled = value / unit;
      const step = 10 ** Math.floor(Math.log10(scaled));
      const factor = [1, 2, 2.5, 5, 10].find((one) => scaled <= one * step * 1.0001);
      return factor * step * unit;
    }

    function pointsOf(get) {
      return live.history.map((frame) => ({ at: frame.at, value: get(frame) }))
        .filter(({ value }) => typeof value === "number" && Number.isFinite(value));
    }

    /** Runs of points without a gap between them. */
    export function runs(points) {
      const found = [];
      let last = -Infinity;
      for (const point of points) {
        if (point.at - last > longestStep) found.push([]);
        found.at(-1).push(point);
        last = point.at;
      }
      return found;
    }

    function scaleOf(isLog, values, isBytes) {
      if (!isLog) {
        const top = niceCeiling(Math.max(0, ...values), isBytes);
        return { top, ticks: [0, top / 2, top], part: (value) => value / top };
      }
      const known = values.filter((value) => value > 0);
      const low = Math.floor(Math.log10(Math.min(1e-4, ...known)) + 1e-9);
      const high = Math.max(low + 2, Math.ceil(Math.log10(Math.max(1e-3, ...known)) - 1e-9));
      const every = high - low > 4 ? 2 : 1;
      const ticks = [];
      for (let power = low; power <= high; power += every) ticks.push(10 ** power);
      const part = (value) => Math.min(1, Math.max(0, (Math.log10(Math.max(value, 1e-9)) - low) / (high - low)));
      return { top: 10 ** high, ticks, part };
    }

    /** Where a value stands, on half a pixel, so that a line of one pixel is sharp. */
    function rowOf(scale, tick, height) {
      const bottom = height - margin.bottom;
      return Math.round(bottom - scale.part(tick) * (bottom - margin.top)) + 0.5;
    }

    function drawGrid({ context, width, height, scale }) {
      context.lineWidth = 1;
      context.strokeStyle = colours().line;
      for (const tick of scale.ticks) {
        const y = rowOf(scale, tick, height);
        context.beginPath();
        context.moveTo(margin.left, y);
        context.lineTo(width - margin.right, y);
        context.stroke();
      }
    }

    /** What the grid means, above the lines and on a ground of its own, so that it can be read. */
    function drawLabels({ context, height, scale, format, x }) {
      const { surface, text } = colours();
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = text;
      context.strokeStyle = surface;
      context.lineWidth = 4;
      context.lineJoin = "round";
      context.textAlign = "left";
      context.textBaseline = "top";
      // The lowest one would stand where the time does.
      for (const tick of scale.ticks.slice(1)) {
        const y = rowOf(scale, tick, height) + 3;
        context.strokeText(format(tick), margin.left + 2, y);
        context.fillText(format(tick), margin.left + 2, y);
      }
      context.textBaseline = "alphabetic";
      for (const [back, label] of [[120, "2 min ago"], [60, "1 min"], [0, "now"]]) {
        context.textAlign = back === 120 ? "left" : back === 0 ? "right" : "center";
        context.fillText(label, x(-back * 1000), height - 4);
      }
    }

    function drawSeries({ context, bottom, top, points, colour, scale, x, isFilled }) {
      const y = (value) => bottom - scale.part(value) * (bottom - top);
      context.strokeStyle = colour;
      context.fillStyle = colour;
      context.lineWidth = 1.75;
      context.lineJoin = "round";
      for (const run of runs(points)) {
        context.beginPath();
        for (const [index, { at, value }] of run.entries()) context[index === 0 ? "moveTo" : "lineTo"](x(at), y(value));
        if (run.length === 1) context.arc(x(run[0].at), y(run[0].value), 1, 0, 7);
        context.stroke();
        if (!isFilled || run.length < 2) continue;
        context.lineTo(x(run.at(-1).at), bottom);
        context.lineTo(x(run[0].at), bottom);
        context.globalAlpha = 0.12;
        context.fill();
        context.globalAlpha = 1;
      }
    }

    function drawCursor({ context, bottom, top, x, lines, scale }) {
      const { strong, surface } = colours();
      const place = x(cursor.at);
      context.strokeStyle = strong;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(place, top);
      context.lineTo(place, bottom);
      context.stroke();
      for (const { points, colour } of lines) {
        const point = points.find(({ at }) => at === cursor.at);
        if (!point) continue;
        context.beginPath();
        context.arc(place, bottom - scale.part(point.value) * (bottom - top), 3.5, 0, 7);
        context.fillStyle = colour;
        context.fill();
        context.strokeStyle = surface;
        context.stroke();
      }
    }

    function extremes(points) {
      const values = points.map(({ value }) => value);
      const sum = values.reduce((whole, value) => whole + value, 0);
      return { low: Math.min(...values), high: Math.max(...values), mean: sum / values.length, last: values.at(-1) };
    }

    function legendOf(series, format) {
      const values = series.map(() => h("b", {}));
      const element = h("ul", { class: "legend" }, series.map(({ name, colour }, index) =>
        h("li", {}, h("span", { class: "swatch", dataset: { colour: String(colour) } }), `${name} `, values[index])));
      return {
        element,
        show(lines) {
          for (const [index, { points }] of lines.entries()) {
            const at = cursor.at === null ? points.at(-1) : points.find((point) => point.at === cursor.at);
            const text = format(at?.value);
            if (values[index].textContent !== text) values[index].textContent = text;
          }
        },
      };
    }

    function describe(title, lines, format) {
      const parts = lines.filter(({ points }) => points.length > 0).map(({ name, points }) => {
        const { low, high, last } = extremes(points);
        return `${name} now ${format(last)}, between ${format(low)} and ${format(high)}`;
      });
      return parts.length > 0 ? `${title} in the last two minutes: ${parts.join("; ")}.` : `${title}: no numbers yet.`;
    }

    /**
     * A plot with its legend. `series` are `{ name, colour: 1...4, get(frame) }`; `format` says a value; `log` is for times
     * of which some are a thousand times others.
     */
    export function plot({ title, series, format, log = false, isBytes = false }) {
      const heading = h("h3", { id: uniqueId("plot") }, title);
      const when = h("span", { class: "small soft plot-when" });
      const canvas = h("canvas", { class: "plot-canvas", role: "img", "aria-label": `${title}: no numbers yet.` });
      const legend = legendOf(series, format);
      const element = h("section", { class: "card plot", "aria-labelledby": heading.id },
        h("div", { class: "row row-between plot-head" }, heading, when), legend.element, canvas);
      const linesOf = () => series.map(({ name, colour, get }) =>
        ({ name, colour: colours()[`plot-${colour}`], points: pointsOf(get) }));
      const draw = () => {
        const lines = linesOf();
        legend.show(lines);
        const moment = cursor.at === null ? "" : clockTime(cursor.at);
        if (when.textContent !== moment) when.textContent = moment;
        canvas.setAttribute("aria-label", describe(title, lines, format));
        const place = prepare(canvas);
        if (!place) return;
        const now = live.last?.at ?? Date.now();
        const { width, height } = place;
        const x = (at) => width - margin.right
          - ((at <= 0 ? -at : now - at) / (span * 1000)) * (width - margin.left - margin.right);
        const [top, bottom] = [margin.top, height - margin.bottom];
        const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
        const scale = scaleOf(log, values, isBytes);
        drawGrid({ ...place, scale });
        for (const [index, { points, colour }] of lines.entries()) {
          drawSeries({ ...place, bottom, top, points, colour, scale, x, isFilled: index === 0 && !log });
        }
        drawLabels({ ...place, scale, format, x });
        if (cursor.at !== null) drawCursor({ ...place, bottom, top, x, lines, scale });
      };
      const redraw = onceAFrame(draw);
      canvas.addEventListener("pointermove", (event) => pointTo(frameAt(event, canvas)));
      canvas.addEventListener("pointerleave", () => pointTo(null));
      const resized = new ResizeObserver(redraw);
      resized.observe(canvas);
      cursor.watchers.add(redraw);
      return {
        element,
        draw,
        /** The same in numbers, a row for each line: its name, then now, the lowest, the average and the highest. */
        get numbers() {
          return linesOf().map(({ name, points }) => {
            const { last, low, mean, high } = points.length > 0 ? extremes(points) : {};
            return { name: series.length > 1 ? `${title}, ${name}` : title, values: [last, low, mean, high].map(format) };
          });
        },
        end() {
          resized.disconnect();
          cursor.watchers.delete(redraw);
        },
      };
    }

    /** The time of the frame that is nearest to the pointer. */
    function frameAt(event, canvas) {
      const now = live.last?.at;
      if (!now) return null;
      const { left, width } = canvas.getBoundingClientRect();
      const part = (event.clientX - left - margin.left) / (width - margin.left - margin.right);
      const wanted = now - (1 - part) * span * 1000;
      let best = null;
      for (const { at } of live.history) {
        if (best === null || Math.abs(at - wanted) < Math.abs(best - wanted)) best = at;
      }
      return best;
    }

    /** A line without axes, beside a number that says the same: decoration. */
    export function spark(get, colour = 1) {
      const canvas = h("canvas", { class: "spark", "aria-hidden": true });
      return {
        element: canvas,
        draw() {
          const place = prepare(canvas);
          if (!place) return;
          const points = pointsOf(get);
          const now = live.last?.at ?? 0;
          const { context, width, height } = place;
          const top = Math.max(...points.map(({ value }) => value), 1e-12) * 1.1;
          drawSeries({
            context, points, colour: colours()[`plot-${colour}`], bottom: height - 2, top: 2, isFilled: true,
            scale: { part: (value) => value / top }, x: (at) => width - 1 - ((now - at) / (span * 1000)) * (width - 2),
          });
        },
      };
    }

    """##

  private static let console21 = ##"""
    // What the page asks the server for: calls of the server API, and streams of events.
    //
    //   Session       when                                       leads to
    //   unknown       the page was opened                        signed in, signed out
    //   signed in     the server took the password               signed out, by a 401 or by the button
    //   signed out    a dialog asks for the password in place    signed in: calls that met the 401 are made again
    //
    // A call that was refused with 401 was not carried out, so it may be made again whatever it does.

    const here = (path) => new URL(path, import.meta.url);
    const mark = { "x-fanfare-console": "1" };
    const mostBuffered = 4 << 20;

    /** Without a hand at the page for this long, nothing is asked again and again: a session ends when nobody uses it. */
    const restless = 600_000;
    /** A session that is used and calls nothing, as on the overview, is told so at most this often. */
    const toldEvery = 240_000;

    let askForPassword = null;
    let lastCall = 0;
    let lastTouch = Date.now();
    let asking = null;

    /** Says who asks for the password: `f()` settles when somebody is signed in again. */
    export function onSignedOut(f) {
      askForPassword = f;
    }

    /** What a call could not do. `isLost`: no answer came, so that it may have been carried out all the same. */
    export class CallError extends Error {
      constructor(message, { code = 0, status = 0, temporary = false, isLost = false } = {}) {
        super(message);
        Object.assign(this, { code, status, temporary, isLost });
      }
    }

    function signInAgain() {
      if (!askForPassword) throw new CallError("Nobody is signed in.", { status: 401 });
      asking ??= askForPassword().finally(() => {
        asking = null;
      });
      return asking;
    }

    async function once(path, options) {
      try {
        return await fetch(here(path), { cache: "no-store", ...options, headers: { ...mark, ...options?.headers } });
      } catch (error) {
        if (error?.name === "AbortError") throw error;
        throw new CallError("The server cannot be reached. Is it running, and is the network there?", { isLost: true });
      }
    }

    async function request(path, options) {
      lastCall = Date.now();
      for (;;) {
        const answer = await once(path, options);
        if (answer.status !== 401) return answer;
        await signInAgain();
      }
    }

    /** What a refusal says: `{"message"}` or plain text. */
    async function complaint(answer) {
      const text = (await answer.text().catch(() => "")).slice(0, 2000);
      let message = text.trim();
      try {
        message = JSON.parse(text).message ?? message;
      } catch {
        // Plain text is a sentence as it is.
      }
      if (!message || message.startsWith("<")) message = `The server answered with status ${answer.status}.`;
      return new CallError(message, { status: answer.status, temporary: answer.status >= 500 || answer.status === 429 });
    }

    async function read(answer) {
      if (!answer.ok) throw await complaint(answer);
      try {
        return await answer.json();
      } catch {
        throw new CallError("The answer broke off. Try again.", { isLost: true });
      }
    }

    /** Calls a method of the server API and gives its result. Throws `CallError`. */
    export async function call(method, body = {}, { signal } = {}) {
      const answer = await read(await request(`api/${encodeURIComponent(method)}`, {
        method: "POST", signal, headers: { "content-type": "application/json" }, body: JSON.stringify(body),
      }));
      if (answer.error) throw new CallError(answer.error.message, answer.error);
      return answer.result ?? answer;
    }

    /** Reads something of the console itself, such as `settings`. */
    export async function get(path, { signal } = {}) {
      return read(await request(path, { signal }));
    }

    /** What the session is, or null where nobody is signed in. */
    export async function session() {
      const answer = await once("session");
      return answer.status === 401 ? null : read(answer);
    }

    /** Settles when the password was taken; throws `CallError` with what to do. */
    export async function signIn(password) {
      const answer = await once("sign-in", {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ password }),
      });
      if (!answer.ok) throw await complaint(answer);
    }

    export async function signOut() {
      const answer = await once("sign-out", { method: "POST" });
      if (!answer.ok && answer.status !== 401) throw await complaint(answer);
    }

    /** Notes that somebody is there: streams alone do not count as a use of the session, what people do does. */
    export function watchHands(isSignedIn) {
      const touch = () => {
        const wasAway = Date.now() - lastTouch > restless;
        lastTouch = Date.now();
        if (wasAway) document.dispatchEvent(new Event("hands"));
        if (!isSignedIn() || asking || lastTouch - lastCall < toldEvery) return;
        // What is wrong with the connection is told by the stream.
        get("session").catch(() => {});
      };
      const options = { passive: true, capture: true };
      for (const name of ["pointerdown", "keydown", "wheel"]) addEventListener(name, touch, options);
    }

    /** A key for a call that changes something: repeated with it, the call is carried out once. */
    export function newKey() {
      return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    }

    // Streams (text/event-stream). An EventSource cannot send the header that the server asks for.

    /** Takes the text of a stream as it comes, and gives the data of each event that is whole. */
    export function eventReader(onData) {
      let rest = "";
      let held = "";
      return (text) => {
        const whole = held + text;
        // A carriage return at the end may be the first half of a line's end.
        held = whole.endsWith("\r") ? "\r" : "";
        rest += whole.slice(0, whole.length - held.length).replace(/\r\n?/gu, "\n");
        for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
          const lines = rest.slice(0, end).split("\n");
          rest = rest.slice(end + 2);
          const data = lines.filter((line) => line.startsWith("data:"))
            .map((line) => line.slice(line.startsWith("data: ") ? 6 : 5));
          if (data.length > 0) onData(data.join("\n"));
        }
        if (rest.length > mostBuffered) throw new CallError("An event of the stream is too long.");
      };
    }

    async function readStream(path, { signal, onOpen, onMessage, onBytes }) {
      const answer = await request(path, { signal, headers: { accept: "text/event-stream" } });
      if (!answer.ok) throw await complaint(answer);
      onOpen();
      const take = eventReader((data) => onMessage(JSON.parse(data)));
      const reader = answer.body.getReader();
      const decoder = new TextDecoder();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        onBytes();
        take(decoder.decode(value, { stream: true }));
      }
    }

    /**
     * Keeps a stream open until `stop()`: tries again with full jitter, and closes it while nobody looks at the page.
     *
     *   paused    the page is hidden                    opening, when it is looked at
     *   opening                                         open, lost, refused
     *   open      events come                           lost, by its end, an error or silence; paused
     *   lost      `at` says when it is tried again      opening; paused
     *   refused   the server will not, and says why     opening, by `retry()`
     */
    export function keepStream(path, hooks) {
      return new KeptStream(path, hooks);
    }

    class KeptStream {
      #path;
      #hooks;
      #controller = null;
      #timer = 0;
      #watchdog = 0;
      #tries = 0;
      #hasStopped = false;
      #onVisibility = () => (document.hidden ? this.#pause() : this.retry());
      #onOnline = () => this.retry();

      constructor(path, { onMessage, onState, silence = 0 }) {
        this.#path = path;
        this.#hooks = { onMessage, onState, silence };
        document.addEventListener("visibilitychange", this.#onVisibility);
        addEventListener("online", this.#onOnline);
        this.retry();
      }

      async retry() {
        clearTimeout(this.#timer);
        this.#controller?.abort();
        if (this.#hasStopped) return;
        if (document.hidden) return this.#hooks.onState("paused", {});
        const mine = this.#controller = new AbortController();
        this.#hooks.onState("opening", {});
        let problem;
        try {
          await this.#read(mine);
        } catch (error) {
          problem = error;
        }
        // Another one was opened meanwhile, or it was stopped on purpose.
        if (mine !== this.#controller || this.#hasStopped) return;
        clearTimeout(this.#watchdog);
        this.#lose(problem);
      }

      stop() {
        this.#hasStopped = true;
        clearTimeout(this.#timer);
        clearTimeout(this.#watchdog);
        document.removeEventListener("visibilitychange", this.#onVisibility);
        removeEventListener("online", this.#onOnline);
        this.#controller?.abort();
      }

      #read(mine) {
        return readStream(this.#path, {
          signal: mine.signal,
          onOpen: () => {
            this.#listen(mine);
            this.#hooks.onState("open", {});
          },
          onBytes: () => {
            this.#tries = 0;
            this.#listen(mine);
          },
          onMessage: (message) => {
            if (mine === this.#controller && !this.#hasStopped) this.#hooks.onMessage(message);
          },
        });
      }

      /** A connection that says nothing any more is lost, whatever the network makes of it. */
      #listen(mine) {
        clearTimeout(this.#watchdog);
        const { silence } = this.#hooks;
        if (silence > 0 && mine === this.#controller) this.#watchdog = setTimeout(() => mine.abort(), silence);
      }

      /** A connection that broke while it was read is the browser's error, whose words say nothing to people. */
      #lose(given) {
        const error = given instanceof CallError ? given : undefined;
        const isFinal = error?.status >= 400 && error.status < 500 && error.status !== 429;
        if (isFinal) return this.#hooks.onState("refused", { error });
        const wait = 400 + Math.random() * Math.min(10_000, 500 * 2 ** this.#tries);
        this.#tries += 1;
        this.#timer = setTimeout(() => this.retry(), wait);
        this.#hooks.onState("lost", { error: error?.name === "AbortError" ? undefined : error, at: Date.now() + wait });
      }

      #pause() {
        clearTimeout(this.#timer);
        clearTimeout(this.#watchdog);
        const last = this.#controller;
        this.#controller = null;
        last?.abort();
        this.#hooks.onState("paused", {});
      }
    }

    /** Calls `f(signal)` now and every `seconds` while the page is looked at and used, never twice at a time. */
    export function poll(seconds, f) {
      let timer = 0;
      let hasStopped = false;
      let isUnderWay = false;
      const controller = new AbortController();
      const run = async () => {
        clearTimeout(timer);
        if (hasStopped || document.hidden || isUnderWay || Date.now() - lastTouch > restless) return;
        isUnderWay = true;
        try {
          await f(controller.signal);
        } finally {
          isUnderWay = false;
          if (!hasStopped) timer = setTimeout(run, seconds * 1000);
        }
      };
      document.addEventListener("visibilitychange", run);
      document.addEventListener("hands", run);
      run();
      return {
        now: run,
        stop() {
          hasStopped = true;
          clearTimeout(timer);
          controller.abort();
          document.removeEventListener("visibilitychange", run);
          document.removeEventListener("hands", run);
        },
      };
    }

    """##

  private static let console22 = ##"""
    // The configuration as it runs: what each setting is, where that comes from, and what it means.

    import { count, field, h, rested } from "./ui.js";
    import { choice, heading, problemBox } from "./parts.js";
    import { get } from "./server.js";
    import { table } from "./table.js";

    /** Kinds of sources, by what the server says: a file with the line, a variable, a flag, or the default. */
    export function kindOf(source) {
      if (source === "default") return "default";
      if (source.startsWith("--set")) return "set";
      return /^FANFARE_/u.test(source) || source.startsWith("environment") ? "environment" : "file";
    }

    const kinds = [
      ["", "all settings"], ["given", "what was set"], ["file", "from a file"], ["environment", "from the environment"],
      ["set", "from --set"], ["default", "left as they are"]];

    /** Those with all words of `text` in their key, value or meaning, and a source of that kind. */
    export function chosen(settings, text, kind) {
      const words = text.toLowerCase().split(/\s+/u).filter(Boolean);
      return settings.filter((one) => {
        const its = kindOf(one.source);
        if (kind && kind !== its && !(kind === "given" && its !== "default")) return false;
        const all = `${one.key} ${one.value} ${one.help}`.toLowerCase();
        return words.every((word) => all.includes(word));
      }).sort((a, b) => {
        // What has the words in its key comes first.
        const inKey = (one) => (words.every((word) => one.key.toLowerCase().includes(word)) ? 0 : 1);
        return inKey(a) - inKey(b);
      });
    }

    function columns() {
      return [
        { id: "key", name: "Setting", isHead: true, get: (one) => one.key, stamp: (one) => one.key,
          className: "block", build: (one) => [h("span", { class: "mono strong" }, one.key),
            h("span", { class: "limit-text" }, one.help)] },
        { id: "value", name: "Value", className: "setting-value", get: (one) => one.value,
          stamp: (one) => `${one.value} ${one.source}`,
          build: (one) => valueCell(one) },
        { id: "source", name: "From", get: (one) => one.source, stamp: (one) => one.source,
          build: (one) => h("span", { class: kindOf(one.source) === "default" ? "soft" : "strong" }, one.source) },
      ];
    }

    function valueCell(one) {
      const shown = one.value === "" ? h("span", { class: "soft" }, "empty") : h("span", { class: "mono" }, one.value);
      const differs = kindOf(one.source) !== "default" && one.value !== one.default;
      return [shown, differs ? h("span", { class: "limit-text" },
        `default ${one.default === "" ? "empty" : one.default}`) : null];
    }

    export function mount(root, context) {
      let settings = null;
      const problem = problemBox(() => load());
      const state = h("p", { class: "small soft", role: "status" });
      const find = field("Find", { type: "search", class: "input", autocomplete: "off", spellcheck: "false",
        placeholder: "history" });
      const source = choice("Show", kinds);
      const rows = table({
        caption: "Settings", isTitled: true, columns: columns(), key: (one) => one.key, pageSize: 25, isStacked: true,
        empty: () => [h("p", { class: "strong" }, "No setting has these words."),
          h("p", { class: "soft" }, "Search for part of a key, or for what it is about.")],
      });
      rows.element.hidden = true;
      root.append(heading("Configuration", {
        lead: "As this server runs. It is changed in its file, in the environment or with --set, and read at the start.",
      }),
      h("form", { class: "form", role: "search", on: { submit: (event) => event.preventDefault() } }, find.element,
        source.element),
      problem.element, state, rows.element);
      const show = () => {
        if (!settings) return;
        const found = chosen(settings, find.input.value, source.input.value);
        rows.element.hidden = false;
        rows.show(found);
        const given = settings.filter((one) => kindOf(one.source) !== "default").length;
        state.textContent = `${count(found.length, "setting")} of ${settings.length}; `
          + `${given} were set, the others are as built in.`;
      };
      const keep = () => {
        context.replace(["settings"], { find: find.input.value, from: source.input.value });
        rows.first();
        show();
      };
      const typed = rested(keep, 150);
      find.input.addEventListener("input", () => typed());
      source.input.addEventListener("change", keep);
      async function load() {
        state.textContent = "Asking…";
        try {
          ({ settings } = await get("settings"));
          problem.show(null);
          show();
        } catch (error) {
          state.textContent = "";
          problem.show(error);
        }
      }
      load();
      return {
        route(parts, query) {
          find.input.value = query.find ?? "";
          source.input.value = query.from ?? "";
          rows.first();
          show();
        },
        unmount() {
          typed.cancel();
        },
      };
    }

    """##

  private static let console23 = ##"""
    // The frame of the console: who is signed in, whether the numbers are live, and which page is on the screen.
    //
    // A page is a module with `mount(root, context)`, which gives `{ route?(parts, query), unmount() }`. `route` hears of
    // the
    // address, `#/channels/chat%3A42?view=tail` as ["chat:42"] and { view: "tail" }, once after mounting and at each
    // change.

    import { announce, button, fill, h, sentence } from "./ui.js";
    import { addressOf, readAddress } from "./address.js";
    import { clockTime } from "./format.js";
    import { live } from "./live.js";
    import { askAgain, showSignIn } from "./sign-in.js";
    import { onSignedOut, session as askSession, signOut, watchHands } from "./server.js";

    const element = (id) => document.getElementById(id);
    const pages = {
      overview: { title: "Overview", load: () => import("./overview.js") },
      channels: { title: "Channels", load: () => import("./channels.js") },
      users: { title: "Users and clients", load: () => import("./users.js") },
      clients: { title: "Client", load: () => import("./users.js"), tab: "users" },
      limits: { title: "Limits hit", load: () => import("./limits.js") },
      webhooks: { title: "Webhooks", load: () => import("./webhooks.js") },
      links: { title: "Links and broker", load: () => import("./links.js") },
      apps: { title: "Clique and State", load: () => import("./apps.js") },
      why: { title: "Why?", load: () => import("./why.js") },
      settings: { title: "Configuration", load: () => import("./settings.js") },
    };

    let session = null;
    let mounted = null;
    let openPage = "";
    /** What the page is about, such as a channel: another one is another page to whoever reads. */
    let about;
    let opening = 0;

    // What was done, or was not

    /** Says something for a while; the last three stay. `isBad` stays until it is closed. */
    function toast(text, { isBad = false } = {}) {
      const place = element("toasts");
      let timer = 0;
      const end = () => {
        clearTimeout(timer);
        box.remove();
      };
      const start = () => {
        clearTimeout(timer);
        if (!isBad) timer = setTimeout(end, 6000);
      };
      const box = h("div", { class: `toast ${isBad ? "toast-bad" : ""}`, role: "group", "aria-label": "Notice", on: {
        mouseenter: () => clearTimeout(timer), mouseleave: start, focusin: () => clearTimeout(timer), focusout: start,
        keydown: (event) => {
          if (event.key === "Escape") end();
        },
      } }, h("span", { class: "grow" }, text),
      button("✕", end, { class: "button button-icon", label: "Close this notice" }));
      place.append(box);
      while (place.children.length > 3) place.firstElementChild.remove();
      announce(text, { urgent: isBad });
      start();
    }

    // Whether the numbers are live

    const words = {
      opening: "Connecting…", open: "Live", paused: "Paused", lost: "No connection", refused: "Not live",
    };
    let countdown = 0;

    function lostText({ error, at }) {
      const since = live.last ? ` The numbers are those of ${clockTime(live.last.at)}.` : "";
      const left = Math.ceil((at - Date.now()) / 1000);
      const next = left > 0 ? ` Trying again in ${left} s.` : " Trying again.";
      return `${error ? sentence(error) : "The server has stopped sending its numbers."}${since}${next}`;
    }

    function showState(state) {
      const status = element("status");
      const bar = element("connection");
      clearInterval(countdown);
      // To open takes a moment, and the colour of what was there before stays until it is known better.
      const isReopening = state.name === "opening" && !bar.hidden;
      if (!isReopening) {
        status.dataset.state = state.name;
        element("status-text").textContent = words[state.name];
      }
      status.title = state.name === "open" ? "A frame of numbers comes every second" : "Try the connection now";
      document.body.classList.toggle("is-stale", state.name === "lost" || state.name === "refused" || isReopening);
      if (state.name === "open" || state.name === "paused") {
        bar.hidden = true;
        return;
      }
      if (state.name === "opening") return;
      const wasLost = !bar.hidden;
      bar.dataset.state = "lost";
      const text = h("span", {}, state.name === "refused" ? sentence(state.error) : lostText(state));
      fill(bar, text, " ", button("Try now", () => live.retry(), { class: "button button-small" }));
      bar.hidden = false;
      if (state.name !== "lost") return;
      // The seconds are shown and not said each time.
      bar.setAttribute("aria-live", "off");
      if (!wasLost) announce(lostText(state), { urgent: true });
      countdown = setInterval(() => {
        text.textContent = lostText(state);
      }, 1000);
    }

    // Signing in and out

    function showSession() {
      document.body.classList.remove("signed-out");
      element("status").hidden = element("leave").hidden = false;
      const hasAPI = session.can?.includes("api") ?? true;
      // Without a broker in the process there is nothing to ask it: its numbers and its configuration are there.
      for (const link of element("nav").querySelectorAll("[data-api]")) link.hidden = !hasAPI;
      fill(element("node"), session.node, session.version ? [h("br", {}), session.version] : null);
    }

    function begin(given) {
      session = given;
      showSession();
      live.start();
      showRoute();
    }

    async function enter() {
      const main = element("main");
      try {
        const given = await askSession();
        if (given) return begin(given);
      } catch (error) {
        fill(main, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "The console did not open"),
          h("p", {}, sentence(error)), h("div", {}, button("Try again", enter, { kind: "primary" }))));
        return;
      }
      document.body.classList.add("signed-out");
      document.title = "Sign in – Fanfare console";
      await showSignIn(main);
      enter();
    }

    async function leave() {
      try {
        await signOut();
      } catch (error) {
        return toast(`You are still signed in: ${sentence(error)}`, { isBad: true });
      }
      closePage();
      live.stop();
      session = null;
      element("status").hidden = element("leave").hidden = true;
      element("connection").hidden = true;
      element("node").textContent = "";
      element("toasts").replaceChildren();
      enter();
    }

    // Which page is open

    function closePage() {
      opening += 1;
      try {
        mounted?.unmount();
      } catch (error) {
        reportError(error);
      }
      mounted = null;
      openPage = "";
    }

    function routeOf(hash) {
      const { path, query } = readAddress(hash);
      const page = Object.hasOwn(pages, path[0]) ? path[0] : "overview";
      return { page, parts: path.slice(1), query };
    }

    function showTab(page) {
      const wanted = pages[page].tab ?? page;
      for (const link of element("nav").querySelectorAll("a")) {
        if (link.dataset.page === wanted) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      element("menu-text").textContent = pages[wanted].title;
      toggleMenu(false);
    }

    function toggleMenu(isOpen) {
      element("menu").setAttribute("aria-expanded", String(isOpen));
      document.body.classList.toggle("menu-open", isOpen);
    }

    const context = {
      toast,
      get session() {
        return session;
      },
      /** Whether the console may call this method: what it may not is not offered. A server that does not say lets all. */
      may(method) {
        return session?.methods?.includes(method) ?? true;
      },
      go(parts, query) {
        location.hash = addressOf(parts, query);
      },
      /** Keeps the address in step with what is looked at, without a step in the browser's history. */
      replace(parts, query) {
        history.replaceState(null, "", addressOf(parts, query));
      },
      title(text) {
        document.title = `${text} – Fanfare console`;
      },
    };

    async function showRoute() {
      if (!session) return;
      const { page, parts, query } = routeOf(location.hash);
      showTab(page);
      const wasAbout = about;
      about = parts[0];
      if (page === openPage) {
        mounted?.route?.(parts, query);
        return about === wasAbout ? undefined : arrive(about ?? pages[page].title);
      }
      const isFirst = openPage === "";
      closePage();
      openPage = page;
      const mine = opening;
      const main = element("main");
      context.title(pages[page].title);
      try {
        const module = await pages[page].load();
        if (mine !== opening) return;
        const root = h("div", { class: `page page-${page}` });
        fill(main, root);
        main.scrollTop = 0;
        mounted = module.mount(root, context, page);
        const now = routeOf(location.hash);
        mounted.route?.(now.parts, now.query);
      } catch (error) {
        if (mine !== opening) return;
        openPage = "";
        reportError(error);
        fill(main, h("div", { class: "empty" }, h("p", { class: "empty-title" }, "This page did not open"),
          h("p", {}, sentence(error)), h("div", {}, button("Try again", showRoute, { kind: "primary" }))));
        return;
      }
      if (!isFirst) arrive(about ?? pages[page].title);
    }

    /** Begins at the top of what was opened, for the keyboard and for whoever listens. */
    function arrive(name) {
      element("main").focus({ preventScroll: true });
      scrollTo(0, 0);
      announce(name);
    }

    function start() {
      // Everything that met the end of the session waits for this, and goes on by itself.
      onSignedOut(async () => {
        await askAgain();
        session = await askSession().catch(() => null) ?? session;
        showSession();
      });
      live.watchState(showState);
      watchHands(() => session !== null);
      addEventListener("hashchange", showRoute);
      element("skip").addEventListener("click", (event) => {
        // The address belongs to the pages.
        event.preventDefault();
        element("main").focus();
      });
      element("menu").addEventListener("click", () => toggleMenu(!document.body.classList.contains("menu-open")));
      element("nav").addEventListener("click", () => toggleMenu(false));
      addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !document.body.classList.contains("menu-open")) return;
        toggleMenu(false);
        element("menu").focus();
      });
      element("status").addEventListener("click", () => live.retry());
      element("leave").addEventListener("click", leave);
      enter();
    }

    start();

    """##

  private static let console24 = ##"""
    // Asks for the password: on the whole page to begin with, and in a dialog over the page where a session has ended.

    import { announce, field, fill, h, openDialog, sentence } from "./ui.js";
    import { signIn } from "./server.js";

    /** A form that calls `done` when the password was taken. */
    function form(title, text, done) {
      const password = field("Password", {
        type: "password", name: "password", autocomplete: "current-password", required: true, maxlength: 1024,
      }, "The first start of the server has printed it on its terminal. “fanfare console password” makes a new one.");
      const problem = h("p", { class: "field-error", role: "alert" });
      const submit = h("button", { type: "submit", class: "button button-primary" }, "Sign in");
      const onSubmit = async (event) => {
        event.preventDefault();
        if (!password.input.value) {
          problem.textContent = "Type the password.";
          return password.input.focus();
        }
        submit.disabled = true;
        problem.textContent = "";
        try {
          await signIn(password.input.value);
          done();
        } catch (error) {
          problem.textContent = sentence(error);
          password.input.setAttribute("aria-invalid", "true");
          password.input.select();
        } finally {
          submit.disabled = false;
        }
      };
      // Managers of passwords keep one by a name; there is one operator here.
      const name = h("input", {
        class: "visually-hidden", name: "username", autocomplete: "username", value: "operator", readOnly: true,
        tabindex: "-1", "aria-hidden": true,
      });
      const element = h("form", { class: "stack", novalidate: true, on: { submit: onSubmit } },
        title, text, name, password.element, problem, submit);
      return { element, input: password.input };
    }

    /** The whole page asks. Settles when the password was taken. */
    export function showSignIn(main) {
      return new Promise((resolve) => {
        const { element, input } = form(
          h("h1", {}, "Sign in"),
          h("p", { class: "soft" }, "This is the console of a Fanfare server, for those who run it."), resolve);
        element.classList.add("card");
        fill(main, h("div", { class: "welcome" }, element));
        input.focus();
      });
    }

    /** A dialog over the page asks, until the password was taken: nothing of what was typed below it is lost. */
    export async function askAgain() {
      announce("Your session has ended. Sign in again.", { urgent: true });
      for (let isIn = false; !isIn;) {
        isIn = await openDialog("Your session has ended", (close) => {
          const { element, input } = form(
            null, h("p", {}, "Sign in again: the page, and what you have typed, stay as they are."), () => close(true));
          queueMicrotask(() => input.focus());
          return element;
        });
      }
    }

    """##

  private static let console25 = ##"""
    // Tables that are pages: never more than a page of rows is on the screen. Cells are changed where they are, so that the
    // focus and a selection stay while numbers change.

    import { announce, button, count, fill, h, keyedList, set, uniqueId } from "./ui.js";

    /** Next and previous, with where one is between them. */
    export function pager({ onPrevious, onNext, label }) {
      const place = h("span", { class: "small soft", role: "status" });
      const previous = button("Previous", onPrevious, { class: "button button-small" });
      const next = button("Next", onNext, { class: "button button-small" });
      const element = h("nav", { class: "pager", "aria-label": label, hidden: true }, previous, place, next);
      return {
        element,
        show({ text, hasPrevious, hasNext }) {
          if (place.textContent !== text) place.textContent = text;
          // A disabled button would lose the focus of whoever has just used it.
          previous.setAttribute("aria-disabled", String(!hasPrevious));
          next.setAttribute("aria-disabled", String(!hasNext));
          element.hidden = !hasPrevious && !hasNext;
        },
      };
    }

    function compare(a, b) {
      if (typeof a === "number" || typeof b === "number") return (a ?? -Infinity) - (b ?? -Infinity);
      return String(a ?? "").localeCompare(String(b ?? ""), undefined, { numeric: true });
    }

    function makeCell(column) {
      const tag = column.isHead ? "th" : "td";
      const classes = [column.number ? "number" : "", column.wide ? "wide" : "", column.mono ? "mono" : "",
        column.className ?? ""].filter(Boolean).join(" ");
      const cell = h(tag, { class: classes || undefined, scope: column.isHead ? "row" : undefined });
      // In rows of several lines there is no head above a number.
      if (column.number && column.name) {
        cell.classList.add("labelled");
        cell.dataset.label = column.name;
      }
      if (column.href) {
        cell.link = h("a", { class: "cell-link" });
        cell.append(cell.link);
      }
      if (column.part) cell.classList.add("has-bar");
      return cell;
    }

    function makeRow(columns) {
      const row = h("tr", {});
      row.parts = columns.map(makeCell);
      row.append(...row.parts);
      return row;
    }

    function updateCell(cell, column, item) {
      if (column.part) cell.style.setProperty("--part", String(Math.min(1, Math.max(0, column.part(item) || 0))));
      if (column.build) {
        // What is built anew loses the focus: only where it would look different.
        const stamp = column.stamp ? column.stamp(item) : "";
        if (cell.stamp === stamp) return;
        cell.stamp = stamp;
        return fill(cell, column.build(item));
      }
      const text = column.show ? column.show(item) : String(column.get(item) ?? "");
      const place = cell.link ?? cell;
      if (place.textContent !== text) place.textContent = text;
      if (column.title) cell.title = column.title(item);
      if (!cell.link) return;
      const address = column.href(item);
      if (cell.link.getAttribute("href") !== address) cell.link.setAttribute("href", address);
    }

    function headOf(column, onSort) {
      const classes = [column.number ? "number" : "", column.wide ? "wide" : ""].filter(Boolean).join(" ") || undefined;
      if (!column.name) return h("td", { class: classes });
      if (column.sort === false || !onSort) return h("th", { scope: "col", class: classes }, column.name);
      return h("th", { scope: "col", class: classes }, h("button", {
        type: "button", class: "sort", title: column.help, on: { click: () => onSort(column) },
      }, column.name));
    }

    /** The name of a table; where a heading above says it already, it is said to whoever listens and not shown. */
    function captionOf(caption, note, isTitled) {
      const name = h("span", { class: isTitled ? "visually-hidden" : "strong" }, `${caption}${note ? ": " : ""}`);
      return h("caption", { id: uniqueId("table"), class: isTitled && !note ? "visually-hidden" : undefined }, name, note);
    }

    /**
     * A table of `columns`: `{ id, name, get(item), show?, href?, part?, build?, stamp?, number?, wide?, mono?, isHead? }`.
     * `wide` ones are left out on narrow screens, `part` draws a bar. With `sort` people sort by any column; `mark(item)`
     * gives a class for the row. With `isTitled` a heading says the caption already; with `isStacked` a row is several
     * lines on narrow screens. `show(items)` shows the page on which one is.
     */
    export function table(options) {
      return new Table(options);
    }

    class Table {
      #options;
      #items = [];
      #page = 0;
      #order;
      #heads;
      #list;
      #scroller;
      #nothing = h("div", { class: "nothing", hidden: true });
      #pages;

      constructor(options) {
        const { caption, columns, key, note = "", isTitled = false, isStacked = false, sort = null, mark = null } = options;
        this.#options = { pageSize: 20, empty: null, ...options };
        this.#order = sort;
        this.#heads = columns.map((column) => headOf(column, sort ? (one) => this.#sortBy(one) : null));
        const title = captionOf(caption, note, isTitled);
        const body = h("tbody", {});
        this.#scroller = h("div", { class: "scroller", role: "region", "aria-labelledby": title.id, tabindex: "0" },
          h("table", { class: isStacked ? "table stacked" : "table" }, title,
            h("thead", {}, h("tr", {}, this.#heads)), body));
        this.#pages = pager({
          label: `Pages of ${caption}`, onPrevious: () => this.#turn(-1), onNext: () => this.#turn(1),
        });
        this.element = h("div", { class: "table-box" }, this.#scroller, this.#nothing, this.#pages.element);
        this.#list = keyedList(body, { key, make: () => makeRow(columns), update: (row, item) => {
          for (const [index, column] of columns.entries()) updateCell(row.parts[index], column, item);
          if (mark) row.className = mark(item) ?? "";
        } });
      }

      show(items) {
        this.#items = items;
        this.#draw();
      }

      /** From the first page on, at the next `show`. */
      first() {
        this.#page = 0;
      }

      get #lastPage() {
        return Math.max(0, Math.ceil(this.#items.length / this.#options.pageSize) - 1);
      }

      #sortBy(column) {
        const isSame = this.#order.id === column.id;
        this.#order = { id: column.id, down: isSame ? !this.#order.down : Boolean(column.number) };
        this.#page = 0;
        this.#draw();
        announce(`Sorted by ${column.name}, ${this.#order.down ? "descending" : "ascending"}.`);
      }

      #turn(by) {
        const wanted = Math.min(this.#lastPage, Math.max(0, this.#page + by));
        if (wanted === this.#page) return;
        this.#page = wanted;
        this.#draw();
      }

      #sorted() {
        const { columns, key } = this.#options;
        const column = this.#order ? columns.find(({ id }) => id === this.#order.id) : null;
        if (!column) return this.#items;
        const direction = this.#order.down ? -1 : 1;
        return [...this.#items].sort((a, b) => (
          direction * compare(column.get(a), column.get(b)) || compare(key(a), key(b))));
      }

      #draw() {
        const { pageSize, columns } = this.#options;
        this.#page = Math.min(this.#page, this.#lastPage);
        const start = this.#page * pageSize;
        this.#list.show(this.#sorted().slice(start, start + pageSize));
        for (const [index, column] of columns.entries()) {
          const isSorted = this.#order?.id === column.id;
          set(this.#heads[index], { "aria-sort": isSorted ? (this.#order.down ? "descending" : "ascending") : null });
        }
        this.#drawNothing();
        const end = Math.min(this.#items.length, start + pageSize);
        this.#pages.show({
          text: `${(start + 1).toLocaleString()} to ${end.toLocaleString()} of ${this.#items.length.toLocaleString()}`,
          hasPrevious: this.#page > 0, hasNext: this.#page < this.#lastPage,
        });
      }

      #drawNothing() {
        const isEmpty = this.#items.length === 0;
        if (this.#nothing.hidden !== isEmpty) return;
        const { empty } = this.#options;
        this.#nothing.hidden = !isEmpty || !empty;
        this.#scroller.hidden = isEmpty && Boolean(empty);
        if (isEmpty && empty) fill(this.#nothing, empty());
      }
    }

    /**
     * Pages that the server makes: `load(cursor)` gives `{ items, next }`, where `next` is the cursor of the page behind or
     * undefined. The cursors of the pages before are kept, so that one can go back.
     */
    export function pagedList({ label, load, show, onError }) {
      let cursors = [undefined];
      let next;
      let turn = 0;
      const pages = pager({
        label,
        onPrevious: () => {
          if (cursors.length < 2) return;
          cursors.pop();
          reload();
        },
        onNext: () => {
          if (next === undefined) return;
          cursors.push(next);
          reload();
        },
      });
      async function reload() {
        turn += 1;
        const mine = turn;
        try {
          const answer = await load(cursors.at(-1));
          if (mine !== turn) return;
          next = answer.next;
          show(answer.items, answer);
          pages.show({
            text: `page ${cursors.length}, ${count(answer.items.length, "row")}`,
            hasPrevious: cursors.length > 1, hasNext: next !== undefined,
          });
        } catch (error) {
          if (mine === turn && error?.name !== "AbortError") onError(error);
        }
      }
      return {
        element: pages.element,
        reload,
        restart() {
          cursors = [undefined];
          return reload();
        },
        get isFirst() {
          return cursors.length === 1;
        },
      };
    }

    """##

  private static let console26 = ##"""
    // Users and clients: who is looked for, for whom most waits, who is suspended; one user, one connection (people.js).

    import { addressOf } from "./address.js";
    import { button, fill, h, timeTag } from "./ui.js";
    import { revokeToken, unsuspend } from "./actions.js";
    import { mountClient, mountUser } from "./people.js";
    import { bytes, number } from "./format.js";
    import { live } from "./live.js";
    import { heading, lookForm, problemBox } from "./parts.js";
    import { call } from "./server.js";
    import { table } from "./table.js";

    /** Ids of connections look like this; everything else is taken for a user. */
    const clientId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;

    function clientColumns(last) {
      return [
        { id: "user", name: "User", isHead: true, get: (one) => one.user, show: (one) => one.user || "without a user",
          href: (one) => (one.user ? addressOf(["users", one.user]) : addressOf(["clients", one.client])) },
        { id: "client", name: "Client", mono: true, wide: true, get: (one) => one.client,
          show: (one) => one.client.slice(0, 8), title: (one) => one.client, href: (one) => addressOf(["clients",
            one.client]) },
        { id: "address", name: "Address", wide: true, get: (one) => one.address },
        last,
      ];
    }

    function busyTables() {
      const slowest = table({
        caption: "For whom most waits", key: (one) => one.client, pageSize: 10, columns: clientColumns({
          id: "waiting", name: "Waits", number: true, get: (one) => one.waiting_bytes,
            show: (one) => bytes(one.waiting_bytes) }),
        empty: () => [h("p", { class: "strong" }, "Nobody lags."),
          h("p", { class: "soft" }, "All clients read what they are sent as it comes.")],
      });
      const busiest = table({
        caption: "With most subscriptions", key: (one) => one.client, pageSize: 10, columns: clientColumns({
          id: "subscriptions", name: "Subscriptions", number: true, get: (one) => one.subscriptions,
          show: (one) => number(one.subscriptions) }),
        empty: () => [h("p", { class: "strong" }, "Nobody is connected."),
          h("p", { class: "soft" }, "Open the demo, or connect a client with a token of ",
            h("code", {}, "fanfare token ada"), ".")],
      });
      return {
        element: h("div", { class: "halves" }, slowest.element, busiest.element),
        draw() {
          slowest.show(live.last.slowest.filter((one) => one.waiting_bytes > 0));
          busiest.show(live.last.busiest);
        },
      };
    }

    function suspensionsBox(context) {
      const problem = problemBox(() => load());
      const more = h("p", { class: "small soft" });
      const rows = table({
        caption: "Suspended", isTitled: true, key: (one) => one.user, pageSize: 10, columns: [
          { id: "user", name: "User", isHead: true, get: (one) => one.user, href: (one) => addressOf(["users", one.user]) },
          { id: "until", name: "Until", get: (one) => one.expire_at, stamp: (one) => one.expire_at ?? "",
            build: (one) => (one.expire_at ? timeTag(one.expire_at * 1000) : "it is lifted") },
          { id: "reason", name: "Reason", wide: true, get: (one) => one.reason ?? "" },
          { id: "actions", name: "", className: "actions", get: () => "",
            build: (one) => context.may("user_unsuspend") && button("Lift…", async () => {
            if (await unsuspend(context, one.user)) load();
          }, { kind: "quiet", "aria-label": `Lift the suspension of ${one.user}` }) },
        ],
        empty: () => [h("p", { class: "strong" }, "Nobody is suspended."),
          h("p", { class: "soft" }, "Look a user up to suspend them.")],
      });
      async function load() {
        try {
          const answer = await call("user_suspensions");
          problem.show(null);
          rows.show(answer.suspensions);
          more.textContent = answer.more > 0 ? `There are ${number(answer.more)} more.` : "";
        } catch (error) {
          problem.show(error);
        }
      }
      load();
      return h("section", { class: "stack-tight" }, h("h2", {}, "Suspensions"), problem.element, rows.element, more);
    }

    function mountSearch(root, context) {
      const busy = busyTables();
      const form = lookForm({
        label: "User, or id of a connection", placeholder: "ada", action: "Look up",
        onGo: (text) => context.go([clientId.test(text.trim()) ? "clients" : "users", text.trim()]),
      });
      root.append(
        heading("Users and clients", { actions: context.may("revoke_token") ? button("Revoke a token by its id…",
          () => revokeToken(context), { class: "button button-small" }) : [] }),
        form.element, h("section", { class: "stack-tight" }, h("h2", {}, "Now"), busy.element),
        context.may("user_suspensions") ? suspensionsBox(context) : "");
      const off = live.watch(() => busy.draw());
      return { unmount: off };
    }

    export function mount(root, context, page) {
      let shown = null;
      let name;
      return {
        route(parts) {
          if (shown && parts[0] === name) return;
          shown?.unmount();
          fill(root);
          name = parts[0];
          context.title(name ?? "Users and clients");
          if (name === undefined) shown = mountSearch(root, context);
          else shown = page === "clients" ? mountClient(root, context, name) : mountUser(root, context, name);
        },
        unmount() {
          shown?.unmount();
        },
      };
    }

    """##

  private static let console27 = ##"""
    // Webhooks: how each is doing, what was given up, and sending it again.

    import { button, count, fromNow, fill, h, timeTag } from "./ui.js";
    import { addressOf } from "./address.js";
    import { bytes, number, pretty } from "./format.js";
    import { ask, chip, factList, heading, jsonCell, problemBox } from "./parts.js";
    import { call, poll } from "./server.js";
    import { pagedList, table } from "./table.js";

    const pageSize = 25;

    function columns() {
      return [
        { id: "name", name: "Webhook", isHead: true, get: (one) => one.name, href: (one) => addressOf(["webhooks",
          one.name]) },
        { id: "state", name: "State", get: (one) => (one.failing_since ? 1 : 0),
          stamp: (one) => `${one.failing_since} ${one.given_up}`,
          build: (one) => stateChip(one) },
        { id: "waiting", name: "Waiting", number: true, get: (one) => one.waiting, show: (one) => number(one.waiting) },
        { id: "oldest", name: "Oldest", wide: true, className: "fit", get: (one) => one.oldest ?? 0,
          show: (one) => (one.oldest ? fromNow(one.oldest) : "–") },
        { id: "given", name: "Given up", number: true, get: (one) => one.given_up, show: (one) => number(one.given_up) },
        { id: "sent", name: "Sent", number: true, wide: true, get: (one) => one.sent_total,
          show: (one) => number(one.sent_total) },
        { id: "failed", name: "Failed", number: true, wide: true, get: (one) => one.failed_total,
          show: (one) => number(one.failed_total) },
        { id: "lost", name: "Lost", number: true, wide: true, get: (one) => one.lost_total,
          show: (one) => number(one.lost_total) },
      ];
    }

    function stateChip(one) {
      if (one.failing_since) return chip("failing", "bad");
      return one.given_up > 0 ? chip("events given up", "warn") : chip("in order", "good");
    }

    function mountList(root) {
      const problem = problemBox(() => asking.now());
      const rows = table({
        caption: "Webhooks", isTitled: true, note: "totals count since the broker began", columns: columns(),
          key: (one) => one.name, pageSize: 32,
        empty: () => [h("p", { class: "strong" }, "No webhook is configured."),
          h("p", { class: "soft" }, 
            "A webhook tells your backend who comes and goes and what is published. It stands in the configuration:"),
          h("pre", { class: "json" }, pretty({ webhooks: [{
            name: "orders", url: "https://example.com/fanfare", secret: "at least 32 random bytes", events: ["publication"],
          }] }))],
      });
      const errors = h("div", { class: "stack-tight" });
      rows.element.hidden = true;
      root.append(heading("Webhooks"), problem.element, rows.element, errors);
      let shown = "";
      const asking = poll(5, async (signal) => {
        try {
          const { webhooks } = await call("webhooks_list", {}, { signal });
          problem.show(null);
          rows.element.hidden = false;
          rows.show(webhooks);
          const failing = webhooks.filter((one) => one.last_error);
          const stamp = JSON.stringify(failing.map((one) => [one.name, one.last_error, one.failing_since]));
          if (stamp === shown) return;
          shown = stamp;
          fill(errors, failing.map((one) => h("p", { class: "note note-bad" }, h("b", {}, one.name), ": ", one.last_error,
            one.failing_since ? [", since ", timeTag(one.failing_since)] : "", ".")));
        } catch (error) {
          if (error.name !== "AbortError") problem.show(error);
        }
      });
      return { unmount: () => asking.stop() };
    }

    function resend(context, name, number) {
      return ask(context, {
        title: "Send them again?", action: "Send again", isDanger: false,
        text: [`Of ${count(number, "event")} that ${name} gave up, the oldest go back into its queue: up to 1,000 at once.`,
          "Your backend may get some of them for a second time; their ids are the same as before."],
        run: (key) => call("webhook_resend", { name, limit: 1000, idempotency_key: key }),
        done: ({ resent, left }) => {
          const rest = left > 0 ? `; ${count(left, "is", "are")} left` : "";
          return `${count(resent, "event")} of ${name} wait to be sent again${rest}.`;
        },
      });
    }

    function givenUpTable() {
      return table({
        caption: "Given up", isTitled: true, note: "the oldest first", key: (one) => one.position, pageSize,
          isStacked: true, columns: [
          { id: "type", name: "Event", isHead: true, get: (one) => one.event?.type ?? "" },
          { id: "at", name: "Given up", className: "fit", get: (one) => one.given_up_at, stamp: (one) => one.given_up_at,
            build: (one) => timeTag(one.given_up_at) },
          { id: "reason", name: "Why", className: "block", get: (one) => one.reason },
          { id: "event", name: "", get: () => "", build: (one) => jsonCell(one.event?.id ?? "event",
            () => pretty(one.event)) },
        ],
        empty: () => [h("p", { class: "strong" }, "Nothing was given up."),
          h("p", { class: "soft" },
            "Events that your backend has not taken for give_up_after stand here, until they are sent again.")],
      });
    }

    function mountOne(root, context, name) {
      const facts = factList();
      const problem = problemBox(() => asking.now());
      const state = h("div", { class: "stack-tight" });
      const rows = givenUpTable();
      const again = button("Send again…", async () => {
        if (!await resend(context, name, known?.given_up ?? 0)) return;
        asking.now();
        pages.restart();
      }, { class: "button button-small", hidden: true });
      let known = null;
      const pages = pagedList({
        label: "Pages of what was given up",
        async load(position) {
          const answer = await call("webhook_given_up", { name, limit: pageSize, ...(position ? { position } : {}) });
          return { items: answer.events, next: answer.left > 0 ? answer.events.at(-1)?.position : undefined };
        },
        show: (items) => rows.show(items),
        onError: (error) => problem.show(error),
      });
      root.append(heading(name, { crumb: { text: "Webhooks", href: "#/webhooks" } }), state, problem.element, facts.element,
        h("section", { class: "stack-tight" },
          h("div", { class: "row row-between" }, h("h2", {}, "What was given up"), again), rows.element, pages.element));
      const asking = poll(5, async (signal) => {
        try {
          const { webhooks } = await call("webhooks_list", {}, { signal });
          const wasGiven = known?.given_up;
          known = webhooks.find((one) => one.name === name);
          if (!known) return problem.show(new Error("No webhook of this name is configured."));
          problem.show(null);
          if (wasGiven !== undefined && wasGiven !== known.given_up && pages.isFirst) pages.reload();
          again.hidden = known.given_up === 0 || !context.may("webhook_resend");
          fill(state, h("div", {}, stateChip(known)),
            known.last_error ? h("p", { class: "note note-bad" }, known.last_error) : null);
          facts.show({
            Waiting: number(known.waiting), "In bytes": bytes(known.waiting_bytes),
            Oldest: known.oldest ? fromNow(known.oldest) : undefined, "Given up": number(known.given_up),
            "Failing since": known.failing_since ? new Date(known.failing_since).toLocaleString() : undefined,
            Sent: number(known.sent_total), Failed: number(known.failed_total),
              "Given up in all": number(known.given_up_total),
            Lost: number(known.lost_total),
          });
        } catch (error) {
          if (error.name !== "AbortError") problem.show(error);
        }
      });
      pages.restart();
      return { unmount: () => asking.stop() };
    }

    export function mount(root, context) {
      let shown = null;
      let name;
      return {
        route(parts) {
          if (shown && parts[0] === name) return;
          shown?.unmount();
          fill(root);
          name = parts[0];
          context.title(name ?? "Webhooks");
          shown = name === undefined ? mountList(root) : mountOne(root, context, name);
        },
        unmount() {
          shown?.unmount();
        },
      };
    }

    """##

  private static let console28 = ##"""
    // Why did it not reach them, and may they do it: `fanfare why` and `fanfare explain`.

    import { field, fill, h } from "./ui.js";
    import { addressOf } from "./address.js";
    import { fullMoment } from "./format.js";
    import { chip, choice, factList, heading, note, problemBox, views } from "./parts.js";
    import { call } from "./server.js";

    const good = new Set(["delivered"]);
    const open = new Set(["perhaps", "under_way", "unknown"]);

    function textField(label, attributes, help) {
      return field(label, { class: "input mono", autocomplete: "off", spellcheck: "false", autocapitalize: "off",
        ...attributes }, help);
    }

    /** A time of the answer as one reads it here; the sentences have it in UTC. */
    function moment(text) {
      const time = Date.parse(text ?? "");
      return Number.isNaN(time) ? text : fullMoment(time);
    }

    function kindOf(verdict) {
      return good.has(verdict) ? "good" : open.has(verdict) ? "warn" : "bad";
    }

    function subscriptionCard(one) {
      const facts = factList();
      facts.show({
        Began: moment(one.began), Ended: moment(one.ended), From: one.from, "Written up to": one.written,
        "Asked to go on from": one.asked_since, Filter: one.filter, Audience: one.audience, Cause: one.cause,
        Code: one.code,
      });
      const sentence = `${one.sentence.charAt(0).toLocaleUpperCase()}${one.sentence.slice(1)}`;
      return h("li", { class: "card stack-tight" },
        h("div", { class: "row" },
          h("a", { class: "mono", href: addressOf(["clients", one.client]) }, one.client.slice(0, 8)),
          chip(one.finding.replaceAll("_", " "))),
        h("p", {}, `${sentence}${sentence.endsWith(".") ? "" : "."}`), facts.element);
    }

    /** The answer of `why`, in words first. */
    function whyAnswer(answer) {
      const facts = factList();
      facts.show({ Verdict: answer.verdict.replaceAll("_", " "), Published: moment(answer.published), Epoch: answer.epoch,
        Sealed: answer.sealed?.replaceAll("_", " ") });
      return h("section", { class: "stack" },
        h("p", { class: `note note-${kindOf(answer.verdict)} verdict` }, answer.sentence), facts.element,
        (answer.notes ?? []).map((text) => note(text, "warn")),
        answer.subscriptions.length > 0 ? h("h2", {}, "Their subscriptions") : null,
        h("ul", { class: "stack" }, answer.subscriptions.map(subscriptionCard)));
    }

    /** What one decision says: allowed or not, why, and which setting rules it. */
    function decision(one, title) {
      const settingPlace = !one.set_at ? "" : one.set_at === "default" ? "as built in" : `set at ${one.set_at}`;
      return h("li", { class: "card stack-tight" },
        h("div", { class: "row" }, chip(one.allowed ? "yes" : "no", one.allowed ? "good" : "bad"),
          h("span", { class: "strong" }, title)),
        one.reason ? h("p", {}, one.reason, ".") : null,
        one.setting ? h("p", { class: "small" },
          h("a", { class: "mono", href: addressOf(["settings"], { find: one.setting.split(".").at(-1) }) }, one.setting),
          settingPlace ? h("span", { class: "soft" }, `, ${settingPlace}`) : null) : null,
        one.token ? h("p", { class: "small soft" }, `What a token does here: ${one.token}.`) : null);
    }

    function mayAnswer({ broker, gateways }) {
      const app = broker.app ?? {};
      return h("section", { class: "stack" },
        broker.suspended ? note("The user is suspended: they are not let in at all.", "bad") : null,
        app.refused ? note(String(app.reason ?? app.refused), "bad") : null,
        broker.revocations?.length > 0 ? note("Tokens of this user are revoked; see the user's page.", "warn") : null,
        gateways.map(({ uid, found }) => h("div", { class: "stack-tight" }, h("h2", {}, `On ${found.name || uid}`),
          h("ul", { class: "stack" },
            decision(found, "A client of theirs that is not subscribed"),
            found.once_subscribed ? decision(found.once_subscribed, "Once it is subscribed") : null,
            (found.connections ?? []).map((one) => decision(one,
              `${one.count} of their connections now, ${one.subscribed ? "subscribed" : "not subscribed"}`))))));
    }

    /** A form that keeps what it asks in the address, so that the answer has one. */
    function asker(context, { id, fields, action, method, body, show }) {
      const problem = problemBox(() => run());
      const place = h("div", {});
      const state = h("p", { class: "soft small", role: "status" });
      let turn = 0;
      const values = () => Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.input.value]));
      const missing = () => Object.values(fields).find((one) => one.input.required && one.input.value === "");
      async function run() {
        turn += 1;
        const mine = turn;
        problem.show(null);
        place.replaceChildren();
        if (missing()) return;
        state.textContent = "Asking…";
        try {
          const answer = await call(method, body(values()));
          if (mine !== turn) return;
          fill(place, show(answer));
        } catch (error) {
          if (mine === turn) problem.show(error);
        } finally {
          if (mine === turn) state.textContent = "";
        }
      }
      const element = h("div", { class: "stack" }, h("form", { class: "form", novalidate: true, on: {
        submit: (event) => {
          event.preventDefault();
          const first = missing();
          if (first) return first.input.focus();
          context.replace(["why"], { ask: id === "why" ? "" : id, ...values() });
          run();
        },
      } }, Object.values(fields).map((one) => one.element), h("button", { type: "submit", class: "button button-primary" },
        action)),
      state, problem.element, place);
      return {
        element,
        route(query) {
          const before = JSON.stringify(values());
          for (const [name, one] of Object.entries(fields)) if (query[name] !== undefined) one.input.value = query[name];
          if (before !== JSON.stringify(values())) run();
        },
      };
    }

    function askers(context) {
      const user = () => textField("User", { placeholder: "ada", required: true });
      const channel = () => textField("Channel", { placeholder: "chat:7", required: true });
      return {
        why: asker(context, {
          id: "why", action: "Why?", method: "why", show: whyAnswer,
          fields: { user: user(), channel: channel(), offset: textField("Offset", { inputmode: "numeric",
            placeholder: "4711", required: true }),
            epoch: textField("Epoch", { placeholder: "the present one" }) },
          body: (given) => ({ user: given.user, channel: given.channel, offset: Number(given.offset),
            ...(given.epoch ? { epoch: given.epoch } : {}) }),
        }),
        may: asker(context, {
          id: "may", action: "May they?", method: "explain", show: mayAnswer,
          fields: { user: user(), action: choice("To", [
            ["subscribe", "subscribe"], ["publish", "publish"], ["history", "see the history"], ["presence",
              "see who is there"]]),
          channel: channel() },
          body: (given) => given,
        }),
      };
    }

    export function mount(root, context) {
      const all = askers(context);
      const tabs = views("Questions", [{ id: "why", name: "Why did it not reach them?" }, { id: "may",
        name: "May they do it?" }]);
      const place = h("div", {});
      const lead = h("p", { class: "lead" });
      const leads = {
        why: "Whether a publication was delivered to a user, to which connection and when, or why not. Its offset stands "
          + "in the history of the channel, and with each publication of its live tail; SDKs give it to the app, too.",
        may: "Whether somebody may do something with a channel, and which setting says so. Every gateway decides as it "
          + "does for a client.",
      };
      root.append(heading("Why?"), tabs.element, lead, place);
      return {
        route(parts, query) {
          const id = query.ask === "may" ? "may" : "why";
          tabs.show(id, (other) => addressOf(["why"], { ask: other === "why" ? "" : other }));
          lead.textContent = leads[id];
          if (place.firstChild !== all[id].element) place.replaceChildren(all[id].element);
          all[id].route(query);
        },
        unmount() {},
      };
    }

    """##
}
