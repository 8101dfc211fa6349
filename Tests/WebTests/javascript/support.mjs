// What the tests of `Fanfare` itself share: a WebSocket whose server is the test.
import { Fanfare } from "../../../Sources/Web/fanfare.js";

export const url = "ws://localhost/connection/websocket";

/** Waits until something holds, as long as the deadline lets it. */
export async function eventually(condition, what = "it", limit = 20_000) {
  const deadline = Date.now() + limit;
  for (;;) {
    const isLate = Date.now() >= deadline;
    const result = await condition();
    if (result) return result;
    if (isLate) throw new Error(`${what} did not come within ${limit} ms`);
    await new Promise((resolve) => { setTimeout(resolve, 2); });
  }
}

/** A class of WebSockets; `sockets` are those that were opened. Of each the test reads `frames` and says what comes. */
export function fakeWebSocket() {
  const sockets = [];
  return {
    sockets,
    get last() { return sockets.at(-1); },
    WebSocket: class {
      constructor(url) {
        this.url = url;
        this.frames = [];
        this.isClosed = false;
        sockets.push(this);
      }

      send(text) { this.frames.push(text); }
      close() { this.isClosed = true; }

      /** Commands that were sent, in order. */
      get commands() { return this.frames.flatMap((frame) => frame.split("\n").map((line) => JSON.parse(line))); }

      say(...replies) { this.onmessage?.({ data: replies.map((reply) => JSON.stringify(reply)).join("\n") }); }
      open() { this.onopen?.(); }
      end(code = 1006, reason = "") { this.onclose?.({ code, reason }); }

      /** The command of that kind, once it is there. */
      async command(kind, from = 0) {
        return eventually(() => this.commands.slice(from).find((command) => command[kind]), kind);
      }

      async accept(result = {}) {
        this.open();
        const { id } = await this.command("connect");
        this.say({ id, connect: { client: "c1", ping: 25, pong: true, ...result } });
      }
    },
  };
}

/** A connected client on a fake socket; it is ended with the test. */
export async function connected(t, options = {}, result = {}) {
  const net = fakeWebSocket();
  const client = new Fanfare(url, { WebSocket: net.WebSocket, random: () => 0, backoff: { minimum: 1, maximum: 2 }, ...options });
  t.after(() => client.disconnect());
  client.connect();
  await eventually(() => net.last, "a socket");
  await net.last.accept(result);
  await client.ready();
  return { client, net };
}
