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
