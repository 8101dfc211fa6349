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
