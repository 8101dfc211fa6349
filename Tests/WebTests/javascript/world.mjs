// A server, a network and a clock that are simulated around the pure `Machine`, all driven by one seed: what is delayed,
// lost, cut off, forgotten or restarted is drawn, and a failed run is repeated by its seed.
import { FanfareError, Machine, MapSubscription, Subscription } from "../../../Sources/Web/fanfare.js";

/** Numbers in 0..<1 from a seed (mulberry32). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const settings = (more = {}) => ({
  token: "", hasGetToken: false, name: "test", version: "", data: undefined, timeout: 10_000, pingDelay: 10_000,
  backoff: { minimum: 200, maximum: 20_000 }, maximumReconnects: undefined, maximumCalls: 1024, maximumQueued: 1000,
  maximumQueuedBytes: 4 << 20, keepFor: 24 * 3_600_000, random: () => 0.5, ...more,
});

const keyLifetime = 5 * 60_000;

/** What the server knows: streams and maps with their positions, and keys of publications for five minutes. */
class Server {
  constructor(random) {
    this.random = random;
    this.epochs = 0;
    this.restart();
    this.published = [];
  }

  /** Everything in memory is gone; keys and what was published are on disk. */
  restart() {
    this.epochs += 1;
    this.streams = new Map();
    this.maps = new Map();
    this.keys ??= new Map();
  }

  stream(channel) {
    if (!this.streams.has(channel)) {
      this.streams.set(channel, { epoch: `e${this.epochs}`, offset: 0, history: [], keeps: 12 });
    }
    return this.streams.get(channel);
  }

  map(channel) {
    if (!this.maps.has(channel)) {
      this.maps.set(channel, { epoch: `e${this.epochs}`, offset: 0, entries: new Map(), history: [], keeps: 12 });
    }
    return this.maps.get(channel);
  }

  append(log, publication) {
    log.offset += 1;
    const kept = { ...publication, offset: log.offset };
    log.history.push(kept);
    if (log.history.length > log.keeps) log.history.shift();
    return kept;
  }

  publish(channel, data) { return this.append(this.stream(channel), { data }); }

  change(channel, change) {
    const map = this.map(channel);
    const publication = this.append(map, change);
    if (change.removed) map.entries.delete(change.key); else map.entries.set(change.key, publication);
    return publication;
  }

  sorted(channel) {
    return [...this.map(channel).entries.values()]
      .sort((a, b) => b.score - a.score || (a.key < b.key ? 1 : -1));
  }

  /** What was published behind a position; undefined where that cannot be told whole. */
  since(log, { epoch, offset = 0 }) {
    if (epoch !== log.epoch || offset > log.offset) return undefined;
    const missed = log.history.filter((publication) => publication.offset > offset);
    return missed.length === log.offset - offset ? missed : undefined;
  }

  subscribe(ask, subscribed) {
    if (ask.type === 1) return this.subscribeMap(ask, subscribed);
    const log = this.stream(ask.channel);
    subscribed.add(ask.channel);
    const result = { recoverable: true, epoch: log.epoch, offset: log.offset };
    if (!ask.recover) return { subscribe: result };
    const missed = this.since(log, ask);
    return { subscribe: { ...result, was_recovering: true, recovered: missed !== undefined, publications: missed } };
  }

  subscribeMap(ask, subscribed) {
    const map = this.map(ask.channel);
    const limit = ask.limit ?? 100;
    const lost = { error: { code: 112, message: "read the map from its start" } };
    const live = { type: 1, recoverable: true, epoch: map.epoch, offset: map.offset };
    if (ask.phase === 2) {
      if (ask.cursor && ask.epoch !== map.epoch) return lost;
      const sorted = this.sorted(ask.channel);
      const start = ask.cursor ? sorted.findIndex(({ score, key }) => isBehind(ask.cursor, score, key)) : 0;
      const page = start < 0 ? [] : sorted.slice(start, start + limit);
      const isLast = start < 0 || start + limit >= sorted.length;
      if (!ask.cursor && isLast) {
        subscribed.add(ask.channel);
        return { subscribe: { ...live, state: page } };
      }
      const last = page.at(-1);
      return {
        subscribe: {
          ...live, phase: 2, offset: ask.cursor ? ask.offset : map.offset, state: page,
          cursor: isLast ? undefined : `${last.score}:${last.key}`,
        },
      };
    }
    const missed = this.since(map, ask);
    if (missed === undefined) return lost;
    const page = missed.slice(0, limit);
    if (page.length < missed.length) {
      return { subscribe: { ...live, phase: 1, offset: page.at(-1).offset, publications: page } };
    }
    subscribed.add(ask.channel);
    return { subscribe: { ...live, publications: page, recovered: ask.recover === true } };
  }
}

function isBehind(cursor, score, key) {
  const colon = cursor.indexOf(":");
  const at = Number(cursor.slice(0, colon));
  return score < at || (score === at && key < cursor.slice(colon + 1));
}

/** The machine, what it asked for, and what was told to whoever uses it. */
export class World {
  constructor(seed, more = {}) {
    this.random = generator(seed);
    this.server = new Server(this.random);
    this.machine = new Machine(settings({ random: this.random, ...more }));
    this.now = 0;
    this.timers = new Map();
    this.connection = null;
    this.told = new Map();
    this.subscriptions = new Map();
    this.settled = new Map();
    this.states = [];
    this.isQuiet = false;
    this.ids = 0;
  }

  draw(count) { return Math.floor(this.random() * count); }

  input(input) { for (const effect of this.machine.handle(input)) this.perform(effect); }

  perform(effect) {
    switch (effect.type) {
      case "open":
        this.connection = {
          attempt: effect.attempt, isOpen: false, toServer: [], toClient: [], late: [], subscribed: new Set(),
        };
        return;
      case "close": this.connection = null; return;
      case "send": this.connection?.toServer.push(effect); return;
      case "start": this.timers.set(effect.timer, this.now + effect.ms); return;
      case "stop": this.timers.delete(effect.timer); return;
      case "state": this.states.push(effect.state); return;
      case "settle":
        if (this.settled.has(effect.id)) throw new Error(`call ${effect.id} was settled twice`);
        this.settled.set(effect.id, effect);
        return;
      case "event": {
        const subscription = this.subscriptions.get(effect.id);
        if (subscription) subscription.take(effect.name, effect.fields);
        return;
      }
    }
  }

  // What the person does

  subscribe(channel, options = {}) {
    const id = (this.ids += 1);
    const Kind = options.map ? MapSubscription : Subscription;
    const subscription = new Kind(null, {}, channel, { order: "descending" });
    const told = [];
    for (const name of ["publication", "change", "subscribed", "subscribing", "unsubscribed", "error"]) {
      subscription.on(name, (event) => told.push([name, event]));
    }
    this.told.set(id, told);
    this.subscriptions.set(id, subscription);
    this.input({ type: "subscribe", id, channel, options: { recoverable: true, ...options } });
    return { id, subscription, told };
  }

  call(body, keyed) {
    const id = (this.ids += 1);
    const after = body.publish?.channel;
    this.input({ type: "call", id, body: JSON.stringify(body).slice(1, -1), bytes: 100, keyed, after });
    return id;
  }

  publish(channel, data, key = `k${this.ids}`) {
    return this.call(
      { publish: { channel, data, idempotency_key: key } },
      { key, lane: `publish:${channel}`, lifetime: keyLifetime });
  }

  // What the network and the server do

  cut(code = 1006, reason = "") {
    const { connection } = this;
    if (!connection) return;
    this.connection = null;
    this.input({ type: "transport", attempt: connection.attempt, event: { type: "closed", code, reason } });
  }

  /** No network for so long that the server may have forgotten keys. */
  outage(ms) {
    const end = this.now + ms;
    do this.cut(); while (this.elapse() && this.now < end);
  }

  push(channel, push) {
    if (this.connection?.subscribed.has(channel)) this.connection.toClient.push({ push: { channel, ...push } });
  }

  publishElsewhere(channel, data) { this.push(channel, { pub: this.server.publish(channel, data) }); }
  changeElsewhere(channel, change) { this.push(channel, { pub: this.server.change(channel, change) }); }

  /** The server takes the next command. Answers to publishes may come late, behind others. */
  serve() {
    const { connection, server } = this;
    const effect = connection?.toServer.shift();
    if (!effect || effect.body === null) return effect !== undefined;
    const body = typeof effect.body === "string" ? JSON.parse(`{${effect.body}}`) : effect.body;
    const answer = (reply, isLate = false) =>
      (isLate ? connection.late : connection.toClient).push({ id: effect.id, ...reply });
    if (body.connect) answer({ connect: { client: "c", version: "test", ping: 25, pong: true } });
    else if (body.subscribe) answer(server.subscribe(body.subscribe, connection.subscribed));
    else if (body.unsubscribe) {
      connection.subscribed.delete(body.unsubscribe.channel);
      answer({ unsubscribe: {} });
    } else if (body.publish) this.servePublish(body.publish, answer);
    else answer({ rpc: { data: {} } }, true);
    return true;
  }

  servePublish({ channel, data, idempotency_key: key }, answer) {
    const { server } = this;
    const isLate = !this.isQuiet && this.random() < 0.3;
    if (!this.isQuiet && this.random() < 0.1) {
      return answer({ error: { code: 100, message: "not now", temporary: true } }, isLate);
    }
    const known = server.keys.get(key);
    if (known === undefined || this.now - known > keyLifetime) {
      server.keys.set(key, this.now);
      server.published.push({ channel, key, data });
      this.publishElsewhere(channel, data);
    }
    answer({ publish: {} }, isLate);
  }

  deliver() {
    const { connection } = this;
    if (!connection) return false;
    if (!connection.isOpen) {
      connection.isOpen = true;
      this.input({ type: "transport", attempt: connection.attempt, event: { type: "opened" } });
      return true;
    }
    if (connection.late.length > 0 && (connection.toClient.length === 0 || this.random() < 0.3)) {
      connection.toClient.push(connection.late.shift());
    }
    const reply = connection.toClient.shift();
    if (!reply) return false;
    // Over the wire: nothing is shared with the server.
    const copy = JSON.parse(JSON.stringify(reply));
    this.input({ type: "transport", attempt: connection.attempt, event: { type: "reply", reply: copy } });
    return true;
  }

  /** The clock goes on to the next timer. */
  elapse() {
    let next;
    for (const [timer, due] of this.timers) if (!next || due < next[1]) next = [timer, due];
    if (!next) return false;
    const [timer, due] = next;
    this.now = due;
    if (timer === "ping" && this.isQuiet) {
      // A server that is well pings in time.
      this.connection.toClient.push({});
      return this.deliver();
    }
    this.timers.delete(timer);
    this.input({ type: "elapsed", timer });
    return true;
  }

  /** Without faults from now on, until nothing is under way. */
  settle() {
    this.isQuiet = true;
    for (let step = 0; step < 20_000; step += 1) {
      if (this.serve() || this.deliver()) continue;
      const isWaiting = [...this.timers.keys()].some((timer) => !/^(ping|old|keep)/.test(timer));
      if (!isWaiting) return;
      this.elapse();
    }
    throw new FanfareError(0, "the world did not come to rest");
  }
}
