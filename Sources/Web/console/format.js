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
